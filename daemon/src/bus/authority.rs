//! Who may do what. The only place that makes a [`Permit`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use pandemonium_api::{BusError, Refusal, action};
use zbus::fdo::DBusProxy;
use zbus::message::{Flags, Header};
use zbus::names::{BusName, UniqueName, WellKnownName};
use zbus::proxy::CacheProperties;
use zbus::{Connection, proxy};
use zbus_polkit::policykit1::{AuthorityProxy, CheckAuthorizationFlags, Subject};

use super::places::Places;

/// How long polkit may take to start.
const START: Duration = Duration::from_secs(25);
/// How long it may take to answer without a dialog.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a dialog may stay open.
const DIALOG: Duration = Duration::from_secs(300);
/// Requests of one user, and of all, that may wait for an answer.
const MAX_WAITING_PER_USER: usize = 4;
const MAX_WAITING: usize = 64;

/// Every method, and the polkit action that guards it; `None` lets everybody in. What is not in here is
/// refused.
const TABLE: [(&str, Option<&str>); 27] = [
    ("SetMode", Some(action::SET_MODE)),
    ("Confirm", Some(action::SET_MODE)),
    ("Revert", Some(action::SET_MODE)),
    ("Start", Some(action::SET_MODE)),
    ("Stop", Some(action::SET_MODE)),
    ("Restart", Some(action::SET_MODE)),
    ("Reload", Some(action::CONFIGURE)),
    ("Hold", Some(action::HOLD)),
    ("WriteDiagnostics", Some(action::INSPECT)),
    ("AddCompositor", Some(action::CONFIGURE)),
    ("RemoveCompositor", Some(action::CONFIGURE)),
    ("SetPrimaryDomain", Some(action::CONFIGURE)),
    ("SetPowerMap", Some(action::CONFIGURE)),
    ("SetIdleSelector", Some(action::CONFIGURE)),
    ("ResetChoices", Some(action::CONFIGURE)),
    ("GetSnapshot", None),
    ("GetHistory", None),
    ("Subscribe", None),
    ("Unsubscribe", None),
    ("List", Some(action::INSPECT)),
    ("Get", Some(action::INSPECT)),
    ("Export", Some(action::INSPECT)),
    ("Pin", Some(action::MODIFY_PROFILES)),
    ("Unpin", Some(action::MODIFY_PROFILES)),
    ("Forget", Some(action::MODIFY_PROFILES)),
    ("ForgetAll", Some(action::MODIFY_PROFILES)),
    ("Import", Some(action::MODIFY_PROFILES)),
];

/// What guards a method instead when its effect outlasts the daemon.
const LASTING: &str = action::CONFIGURE;

/// Proof that a caller may do what it asks for. Nothing but the authority can make one.
#[derive(Debug)]
pub struct Permit {
    uid: u32,
}

impl Permit {
    /// The caller, for limits per user.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// One that nobody gave.
    #[cfg(test)]
    pub fn of_test(uid: u32) -> Permit {
        Permit { uid }
    }

    /// The caller, for the journal.
    pub fn caller(&self) -> String {
        format!("user {}", self.uid)
    }
}

/// Asks polkit.
#[derive(Clone)]
pub struct Authority {
    waiting: Arc<Places>,
    tickets: Arc<AtomicU64>,
}

impl Default for Authority {
    fn default() -> Authority {
        Authority {
            waiting: Places::new(MAX_WAITING_PER_USER, MAX_WAITING),
            tickets: Arc::default(),
        }
    }
}

/// Where a call comes from: its header, which names the caller and says whether a dialog is welcome, and the
/// connection it came in on.
pub type Origin<'a> = (&'a Header<'a>, &'a Connection);

/// Details for the text of the dialog, and for an administrator's rules.
pub type Details<'a> = &'a [(&'a str, &'a str)];

/// A call to be judged.
struct Call<'a> {
    header: &'a Header<'a>,
    connection: &'a Connection,
    /// The method it calls, as in the table.
    member: &'static str,
    details: Details<'a>,
}

impl Authority {
    /// Lets a call of this method through or refuses it. Never holds anything that a reader needs.
    pub async fn permit(
        &self,
        from: Origin<'_>,
        member: &'static str,
        details: Details<'_>,
    ) -> Result<Permit, Refusal> {
        self.judge(from, member, details, None).await
    }

    /// The same for a call whose effect outlasts the daemon.
    pub async fn permit_lasting(
        &self,
        from: Origin<'_>,
        member: &'static str,
        details: Details<'_>,
    ) -> Result<Permit, Refusal> {
        self.judge(from, member, details, Some(LASTING)).await
    }

    async fn judge(
        &self,
        (header, connection): Origin<'_>,
        member: &'static str,
        details: Details<'_>,
        instead: Option<&str>,
    ) -> Result<Permit, Refusal> {
        let call = Call {
            header,
            connection,
            member,
            details,
        };
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
            let _place = self.waiting.enter(uid).ok_or_else(|| {
                BusError::LimitsExceeded
                    .because("Too many requests wait already; let those of this user end first.")
            })?;
            self.ask(&call, &bus, sender, instead.unwrap_or(action))
                .await?;
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
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let ticket = format!("pandemonium-{ticket}");
        let asked = async {
            started(bus).await?;
            let check = polkit.check_authorization(&subject, action, &details, flags, &ticket);
            match tokio::time::timeout(patience, check).await {
                Ok(answer) => answer.map_err(|error| silent(&error)),
                Err(_) => {
                    cancel(&polkit, &ticket).await;
                    Err(denied(
                        "polkit did not answer in time, so the request is refused.",
                    ))
                }
            }
        };
        let answer = tokio::select! {
            answer = asked => answer?,
            // polkit closes the dialogs of whoever leaves the bus by itself, and may hang for good if it is asked to
            // while it does so: docs/decisions/0029.
            () = gone(bus, sender) => return Err(denied("The caller has left the bus.")),
        };
        match (answer.is_authorized, answer.is_challenge && !may_ask) {
            (true, _) => Ok(()),
            (false, true) => Err(BusError::InteractiveAuthorizationRequired
                .because(format!("The action {action} needs authentication."))),
            (false, false) => Err(denied(&format!("Not authorized for the action {action}."))),
        }
    }
}

async fn bus_proxy(connection: &Connection) -> Result<DBusProxy<'static>, Refusal> {
    let built = proxy::Builder::new(connection)
        .cache_properties(CacheProperties::No)
        .build();
    built.await.map_err(|_| denied("The bus does not answer."))
}

/// Has the bus start polkit unless it runs, which it would do at the first question as well: after boot, or on a busy
/// machine, that takes longer than an answer.
async fn started(bus: &DBusProxy<'_>) -> Result<(), Refusal> {
    let name = WellKnownName::from_static_str_unchecked("org.freedesktop.PolicyKit1");
    if let Ok(true) = bus.name_has_owner(name.clone().into()).await {
        return Ok(());
    }
    match tokio::time::timeout(START, bus.start_service_by_name(name, 0)).await {
        Ok(answer) => answer.map(drop).map_err(|error| silent(&error.into())),
        Err(_) => Err(denied(
            "polkit did not start in time, so the request is refused.",
        )),
    }
}

async fn polkit_proxy(connection: &Connection) -> zbus::Result<AuthorityProxy<'static>> {
    AuthorityProxy::builder(connection)
        .cache_properties(CacheProperties::No)
        .build()
        .await
}

/// Returns when this connection has left the bus.
pub async fn departure(connection: &Connection, name: &UniqueName<'_>) {
    match bus_proxy(connection).await {
        Ok(bus) => gone(&bus, name).await,
        Err(_) => std::future::pending().await,
    }
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
}
