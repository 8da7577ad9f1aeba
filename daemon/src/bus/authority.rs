//! Who may do what. The only place that makes a [`Permit`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use pandemonium_api::{BusError, Refusal, action};
use zbus::fdo::DBusProxy;
use zbus::message::{Flags, Header};
use zbus::names::{BusName, UniqueName};
use zbus::proxy::CacheProperties;
use zbus::{Connection, proxy};
use zbus_polkit::policykit1::{AuthorityProxy, CheckAuthorizationFlags, Subject};

/// How long polkit may take to answer without a dialog.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a dialog may stay open.
const DIALOG: Duration = Duration::from_secs(300);
/// Requests of one user, and of all, that may wait for an answer.
const MAX_WAITING_PER_USER: usize = 4;
const MAX_WAITING: usize = 64;

/// Every method, and the polkit action that guards it; `None` lets everybody in. What is not in here is
/// refused.
const TABLE: [(&str, Option<&str>); 7] = [
    ("SetMode", Some(action::SET_MODE)),
    ("AddCompositor", Some(action::CONFIGURE)),
    ("RemoveCompositor", Some(action::CONFIGURE)),
    ("SetPrimaryDomain", Some(action::CONFIGURE)),
    ("SetIdleSelector", Some(action::CONFIGURE)),
    ("GetSnapshot", None),
    ("List", Some(action::INSPECT)),
];

/// Proof that a caller may do what it asks for. Nothing but the authority can make one.
#[derive(Debug)]
pub struct Permit {
    uid: u32,
}

impl Permit {
    /// The caller, for the journal.
    pub fn caller(&self) -> String {
        format!("user {}", self.uid)
    }
}

/// Asks polkit.
#[derive(Clone, Default)]
pub struct Authority {
    waiting: Arc<Waiting>,
}

/// How many requests of which user wait.
#[derive(Default)]
struct Waiting {
    by_user: Mutex<HashMap<u32, usize>>,
    tickets: AtomicU64,
}

/// A place in the queue, given back when dropped.
struct Place<'a> {
    waiting: &'a Waiting,
    uid: u32,
}

/// A call to be judged.
pub struct Call<'a> {
    /// The connection it came in on.
    pub connection: &'a Connection,
    /// Its header, which names the caller and says whether a dialog is welcome.
    pub header: &'a Header<'a>,
    /// The method it calls, as in the table.
    pub member: &'static str,
    /// Details for the text of the dialog, and for an administrator's rules.
    pub details: &'a [(&'a str, &'a str)],
}

impl Authority {
    /// Lets the call through or refuses it. Never holds anything that a reader needs.
    pub async fn permit(&self, call: Call<'_>) -> Result<Permit, Refusal> {
        let sender = call
            .header
            .sender()
            .ok_or_else(|| denied("The caller has no bus name."))?;
        let bus = bus_proxy(call.connection).await?;
        let name = BusName::from(sender.clone());
        let uid = bus
            .get_connection_unix_user(name)
            .await
            .map_err(|_| denied("The caller has left the bus."))?;
        let (_, guard) = TABLE
            .into_iter()
            .find(|(member, _)| *member == call.member)
            .ok_or_else(|| denied("This method is not open to anybody."))?;
        if let Some(action) = guard {
            let _place = self.waiting.enter(uid)?;
            self.ask(&call, &bus, sender, action).await?;
        }
        Ok(Permit { uid })
    }

    async fn ask(
        &self,
        call: &Call<'_>,
        bus: &DBusProxy<'_>,
        sender: &UniqueName<'_>,
        action: &str,
    ) -> Result<(), Refusal> {
        let polkit = polkit_proxy(call.connection)
            .await
            .map_err(|error| silent(&error))?;
        let subject = Subject::new_for_message_header(call.header)
            .map_err(|_| denied("The caller has no bus name."))?;
        let may_ask = call
            .header
            .primary()
            .flags()
            .contains(Flags::ALLOW_INTERACTIVE_AUTH);
        let (flags, patience) = if may_ask {
            (CheckAuthorizationFlags::ALLOW_USER_INTERACTION, DIALOG)
        } else {
            (CheckAuthorizationFlags::empty(), ANSWER)
        };
        let details = call.details.iter().copied().collect();
        let ticket = self.waiting.ticket();
        let check = polkit.check_authorization(&subject, action, &details, flags, &ticket);
        let answer = tokio::select! {
            answer = tokio::time::timeout(patience, check) => answer,
            () = gone(bus, sender) => {
                cancel(&polkit, &ticket).await;
                return Err(denied("The caller has left the bus."));
            }
        };
        let answer = match answer {
            Ok(answer) => answer.map_err(|error| silent(&error))?,
            Err(_) => {
                cancel(&polkit, &ticket).await;
                return Err(denied(
                    "polkit did not answer in time, so the request is refused.",
                ));
            }
        };
        match (answer.is_authorized, answer.is_challenge && !may_ask) {
            (true, _) => Ok(()),
            (false, true) => Err(BusError::InteractiveAuthorizationRequired
                .because(format!("The action {action} needs authentication."))),
            (false, false) => Err(denied(&format!("Not authorized for the action {action}."))),
        }
    }
}

impl Waiting {
    fn enter(&self, uid: u32) -> Result<Place<'_>, Refusal> {
        // Only counted in here, so a panic elsewhere cannot leave it half changed.
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = by_user.values().sum();
        let own = by_user.entry(uid).or_default();
        if *own >= MAX_WAITING_PER_USER || all >= MAX_WAITING {
            return Err(BusError::LimitsExceeded
                .because("Too many requests wait for authentication; answer those first."));
        }
        *own += 1;
        Ok(Place { waiting: self, uid })
    }

    fn ticket(&self) -> String {
        format!(
            "pandemonium-{}",
            self.tickets.fetch_add(1, Ordering::Relaxed)
        )
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut by_user = self
            .waiting
            .by_user
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = by_user.get_mut(&self.uid) {
            *own -= 1;
            if *own == 0 {
                by_user.remove(&self.uid);
            }
        }
    }
}

async fn bus_proxy(connection: &Connection) -> Result<DBusProxy<'static>, Refusal> {
    let built = proxy::Builder::new(connection)
        .cache_properties(CacheProperties::No)
        .build();
    built.await.map_err(|_| denied("The bus does not answer."))
}

async fn polkit_proxy(connection: &Connection) -> zbus::Result<AuthorityProxy<'static>> {
    AuthorityProxy::builder(connection)
        .cache_properties(CacheProperties::No)
        .build()
        .await
}

/// Returns when the caller has left the bus.
async fn gone(bus: &DBusProxy<'_>, sender: &UniqueName<'_>) {
    let left = [(0, sender.as_str()), (2, "")];
    let Ok(mut changes) = bus.receive_name_owner_changed_with_args(&left).await else {
        return std::future::pending().await;
    };
    // It may have left before the subscription.
    if matches!(
        bus.name_has_owner(BusName::from(sender.clone())).await,
        Ok(false)
    ) {
        return;
    }
    if changes.next().await.is_none() {
        std::future::pending().await
    }
}

async fn cancel(polkit: &AuthorityProxy<'_>, ticket: &str) {
    // If polkit does not answer this either, it has nothing to take back.
    let cancelled = polkit.cancel_check_authorization(ticket);
    let _ = tokio::time::timeout(Duration::from_secs(1), cancelled).await;
}

fn denied(sentence: &str) -> Refusal {
    BusError::AccessDenied.because(sentence)
}

fn silent(error: &zbus::Error) -> Refusal {
    log::debug!("polkit: {error}");
    denied("polkit does not answer, so the request is refused; is polkit installed and running?")
}

#[cfg(test)]
mod tests {
    use super::super::interface_file;
    use super::*;

    #[test]
    fn every_method_of_the_interface_file_is_in_the_table() {
        let mut in_table = TABLE.map(|(member, _)| member);
        in_table.sort_unstable();
        assert_eq!(interface_file::methods(), in_table);
    }

    #[test]
    fn every_action_is_used() {
        for action in action::ALL {
            assert!(
                TABLE.iter().any(|(_, guard)| *guard == Some(action)),
                "{action}"
            );
        }
    }

    #[test]
    fn places_are_few_per_user_and_given_back() {
        let waiting = Waiting::default();
        let places: Vec<_> = (0..MAX_WAITING_PER_USER)
            .filter_map(|_| waiting.enter(1).ok())
            .collect();
        assert_eq!(places.len(), MAX_WAITING_PER_USER);
        let refused = waiting.enter(1).err().map(|refusal| refusal.error);
        assert_eq!(refused, Some(BusError::LimitsExceeded));
        assert!(waiting.enter(2).is_ok(), "another user is not affected");
        drop(places);
        assert!(waiting.enter(1).is_ok());
        let map = waiting.by_user.lock().expect("not poisoned");
        assert!(map.is_empty(), "nobody waits, nothing is kept");
    }
}
