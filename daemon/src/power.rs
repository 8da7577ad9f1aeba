//! What other services say about power and sleep, as they say it. Each of them may be missing, come late,
//! be restarted, talk nonsense or never answer: then nobody says anything, and nothing waits for it.

use std::future::Future;
use std::pin::Pin;

use futures_util::{FutureExt, StreamExt, future};
use pandemonium_policy::{PowerProfile, PowerSituation, PowerSource};
use tokio::sync::watch;
use zbus::fdo::{DBusProxy, NameOwnerChanged, NameOwnerChangedStream, PropertiesChanged};
use zbus::message::Type;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::proxy::CacheProperties;
use zbus::{Connection, MatchRule, Message, MessageStream, OwnedVariant, Variant};

/// A property of another service.
struct Property {
    service: &'static str,
    path: &'static str,
    interface: &'static str,
    name: &'static str,
}

/// Whether power comes from the battery.
const ON_BATTERY: Property = Property {
    service: "org.freedesktop.UPower",
    path: "/org/freedesktop/UPower",
    interface: "org.freedesktop.UPower",
    name: "OnBattery",
};
/// The power profile, of power-profiles-daemon since 0.20 and of tuned-ppd.
const PROFILE: Property = Property {
    service: "org.freedesktop.UPower.PowerProfiles",
    path: "/org/freedesktop/UPower/PowerProfiles",
    interface: "org.freedesktop.UPower.PowerProfiles",
    name: "ActiveProfile",
};
/// The same by the name that it had before.
const OLD_PROFILE: Property = Property {
    service: "net.hadess.PowerProfiles",
    path: "/net/hadess/PowerProfiles",
    interface: "net.hadess.PowerProfiles",
    name: "ActiveProfile",
};

const LOGIND: &str = "org.freedesktop.login1";
const LOGIND_PATH: &str = "/org/freedesktop/login1";
const LOGIND_INTERFACE: &str = "org.freedesktop.login1.Manager";
const SLEEP: &str = "PrepareForSleep";

/// What was said last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// About sleep.
    pub sleep: Sleep,
    source: Option<PowerSource>,
    profile: Option<PowerProfile>,
    old_profile: Option<PowerProfile>,
}

/// What logind said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sleep {
    /// The machine goes to sleep, sleeps, or wakes up.
    pub is_on: bool,
    /// How often it has woken up. It may have slept and woken between two looks.
    pub wakes: u64,
}

impl Told {
    /// What is known about power.
    pub fn power(&self) -> PowerSituation {
        PowerSituation {
            source: self.source,
            profile: self.profile.or(self.old_profile),
        }
    }
}

/// Keeps what is told up to date until it is dropped.
pub async fn follow(connection: &Connection, told: &watch::Sender<Told>) {
    let source = follow_property(connection, &ON_BATTERY, |value| {
        change(told, |told| told.source = value.and_then(source_of));
    });
    let profile = follow_property(connection, &PROFILE, |value| {
        change(told, |told| told.profile = value.and_then(profile_of));
    });
    let old_profile = follow_property(connection, &OLD_PROFILE, |value| {
        change(told, |told| told.old_profile = value.and_then(profile_of));
    });
    let sleep = follow_sleep(connection, told);
    let ends = future::join4(source, profile, old_profile, sleep).await;
    log::debug!("other services are no longer followed: {ends:?}");
    std::future::pending().await
}

fn change(told: &watch::Sender<Told>, by: impl FnOnce(&mut Told)) {
    told.send_if_modified(|told| {
        let before = *told;
        by(told);
        *told != before
    });
}

fn source_of(value: Variant<'_>) -> Option<PowerSource> {
    match bool::try_from(value).ok()? {
        true => Some(PowerSource::Battery),
        false => Some(PowerSource::Ac),
    }
}

fn profile_of(value: Variant<'_>) -> Option<PowerProfile> {
    let word = String::try_from(value).ok()?;
    let mut profiles = PowerProfile::ALL.into_iter();
    profiles.find(|profile| profile.name() == word)
}

async fn follow_sleep(connection: &Connection, told: &watch::Sender<Told>) -> zbus::Result<()> {
    let rule = MatchRule::builder()
        .msg_type(Type::Signal)
        .sender(LOGIND)
        .path(LOGIND_PATH)
        .interface(LOGIND_INTERFACE)
        .member(SLEEP)
        .build()?;
    let mut logind = Service::find(connection, LOGIND, rule).await?;
    // Whoever announced a sleep on a bus that is gone, or before a restart, never says that it is over.
    let mut is_on = false;
    loop {
        change(told, |told| {
            told.sleep.wakes += u64::from(told.sleep.is_on && !is_on);
            told.sleep.is_on = is_on;
        });
        is_on = match logind.next().await? {
            Heard::Owner => false,
            Heard::Signal(signal) => signal.body().deserialize().unwrap_or(is_on),
        };
    }
}

/// Says each value of a property; `None` while there is none.
async fn follow_property(
    connection: &Connection,
    property: &Property,
    mut say: impl FnMut(Option<Variant<'_>>),
) -> zbus::Result<()> {
    let rule = MatchRule::builder()
        .msg_type(Type::Signal)
        .sender(property.service)
        .path(property.path)
        .interface("org.freedesktop.DBus.Properties")
        .member("PropertiesChanged")
        .arg(0, property.interface)
        .build()?;
    let mut service = Service::find(connection, property.service, rule).await?;
    // What was said on a bus that is gone no longer counts.
    say(None);
    let mut answer = ask(connection, service.owner.clone(), property);
    loop {
        tokio::select! {
            heard = service.next() => match heard? {
                Heard::Owner => {
                    say(None);
                    answer = ask(connection, service.owner.clone(), property);
                }
                Heard::Signal(signal) => match news(signal, property) {
                    // What is announced is newer than any answer still to come.
                    News::Value(value) => {
                        say(Some(value.into()));
                        answer = Box::pin(future::pending());
                    }
                    News::Changed => answer = ask(connection, service.owner.clone(), property),
                    News::Nothing => {}
                },
            },
            value = &mut answer => {
                say(value.ok().map(Variant::from));
                answer = Box::pin(future::pending());
            }
        }
    }
}

/// What an announcement says about the property.
enum News {
    Value(OwnedVariant),
    /// Only that it has changed.
    Changed,
    Nothing,
}

fn news(signal: Message, property: &Property) -> News {
    let Some(signal) = PropertiesChanged::from_message(signal) else {
        return News::Nothing;
    };
    let Ok(arguments) = signal.args() else {
        return News::Nothing;
    };
    if let Some(value) = arguments.changed_properties.get(property.name) {
        return match value.try_to_owned() {
            Ok(value) => News::Value(value),
            Err(_) => News::Changed,
        };
    }
    let mut invalidated = arguments.invalidated_properties.iter();
    match invalidated.any(|name| *name == property.name) {
        true => News::Changed,
        false => News::Nothing,
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = zbus::Result<OwnedVariant>> + Send + 'a>>;

/// Asks whoever owns the name at this moment, so that nobody is started by being asked. However long the
/// answer takes, only this future waits.
fn ask<'a>(
    connection: &'a Connection,
    owner: Option<OwnedUniqueName>,
    property: &'a Property,
) -> Answer<'a> {
    let Some(owner) = owner else {
        return Box::pin(future::pending());
    };
    Box::pin(async move {
        let interface = Some("org.freedesktop.DBus.Properties");
        let which = (property.interface, property.name);
        let reply = connection.call_method(Some(owner), property.path, interface, "Get", &which);
        reply.await?.body().deserialize()
    })
}

/// A service by its name, whoever owns that now.
struct Service {
    name: &'static str,
    owner: Option<OwnedUniqueName>,
    owners: NameOwnerChangedStream,
    signals: MessageStream,
    /// A signal that came before it was known who owns the name by then.
    held: Option<Message>,
}

/// What a service makes heard.
enum Heard {
    /// It has another owner, or none.
    Owner,
    /// A signal of its owner.
    Signal(Message),
}

impl Service {
    async fn find(
        connection: &Connection,
        name: &'static str,
        signals: MatchRule<'static>,
    ) -> zbus::Result<Service> {
        let bus = DBusProxy::builder(connection)
            .cache_properties(CacheProperties::No)
            .build()
            .await?;
        let owners = bus
            .receive_name_owner_changed_with_args(&[(0, name)])
            .await?;
        let signals = MessageStream::for_match_rule(signals, connection, None).await?;
        // An error says that nobody has the name.
        let owner = bus.get_name_owner(BusName::try_from(name)?).await.ok();
        Ok(Service {
            name,
            owner,
            owners,
            signals,
            held: None,
        })
    }

    /// What is heard next. Signals that somebody else sent in its name are not.
    async fn next(&mut self) -> zbus::Result<Heard> {
        let gone = || zbus::Error::Failure("the bus is gone".into());
        loop {
            let signal = match self.held.take() {
                Some(signal) => signal,
                None => tokio::select! {
                    change = self.owners.next() => {
                        return self.belongs_to(change.ok_or_else(gone)?);
                    }
                    signal = self.signals.next() => signal.ok_or_else(gone)??,
                },
            };
            let sender = signal.header().sender().cloned();
            if self.owner.is_some() && sender.as_ref() == self.owner.as_deref() {
                return Ok(Heard::Signal(signal));
            }
            // The bus says who a new owner is before that says anything, but two streams are read in any order.
            if let Some(change) = self.owners.next().now_or_never() {
                self.held = Some(signal);
                return self.belongs_to(change.ok_or_else(gone)?);
            }
        }
    }

    fn belongs_to(&mut self, change: NameOwnerChanged) -> zbus::Result<Heard> {
        let arguments = change.args()?;
        let owner = arguments.new_owner().as_ref();
        self.owner = owner.map(|owner| owner.to_owned().into());
        let state = if self.owner.is_some() {
            "there"
        } else {
            "gone"
        };
        log::debug!("{} is {state}", self.name);
        Ok(Heard::Owner)
    }
}
