//! Other services as python-dbusmock plays them, which knows what they offer on the bus.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use zbus::fdo::DBusProxy;
use zbus::{Connection, Variant};

use crate::harness::{Guard, World, until};

const MOCK: &str = "org.freedesktop.DBus.Mock";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Which service to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    UPower,
    Profiles,
    OldProfiles,
    Logind,
    Polkit,
}

impl Service {
    fn template(self) -> &'static str {
        match self {
            Service::UPower => "upower",
            Service::Profiles => "upower_power_profiles_daemon",
            Service::OldProfiles => "power_profiles_daemon",
            Service::Logind => "logind",
            Service::Polkit => "polkitd",
        }
    }

    /// Its name on the bus.
    pub fn name(self) -> &'static str {
        match self {
            Service::UPower => "org.freedesktop.UPower",
            Service::Profiles => "org.freedesktop.UPower.PowerProfiles",
            Service::OldProfiles => "net.hadess.PowerProfiles",
            Service::Logind => "org.freedesktop.login1",
            Service::Polkit => "org.freedesktop.PolicyKit1",
        }
    }

    fn path(self) -> String {
        let object = match self {
            Service::Polkit => "/Authority",
            _ => "",
        };
        format!("/{}{object}", self.name().replace('.', "/"))
    }

    fn interface(self) -> String {
        let last = match self {
            Service::Logind => ".Manager",
            Service::Polkit => ".Authority",
            _ => "",
        };
        format!("{}{last}", self.name())
    }

    /// What the daemon follows; power only.
    fn property(self) -> &'static str {
        match self {
            Service::UPower => "OnBattery",
            _ => "ActiveProfile",
        }
    }
}

/// A service on the bus; it is gone when this is dropped.
pub struct Mock {
    service: Service,
    client: Connection,
    process: Guard,
}

impl Mock {
    /// Starts the service with these properties, JSON, and waits until it is there.
    pub async fn start(world: &World, service: Service, properties: &str) -> Mock {
        let mut command = Command::new("python3");
        command
            .args(["-m", "dbusmock", "--system", "--template"])
            .args([service.template(), "--parameters", properties])
            .env("DBUS_SYSTEM_BUS_ADDRESS", &world.bus.address)
            // It tells of every call.
            .stdout(Stdio::null());
        let mock = Mock {
            service,
            client: world.client.clone(),
            process: Guard(command.spawn().unwrap()),
        };
        mock.until_there(true).await;
        mock
    }

    /// Ends the service, and waits until the bus knows it.
    pub async fn stop(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        self.until_there(false).await;
    }

    async fn until_there(&self, is_there: bool) {
        let bus = DBusProxy::new(&self.client).await.unwrap();
        until(self.service.name(), async || {
            let name = self.service.name().try_into().unwrap();
            bus.name_has_owner(name).await.unwrap() == is_there
        })
        .await;
    }

    /// What the daemon follows has another value from now on, of any type, which is announced.
    pub async fn announce(&self, value: Variant<'_>) {
        let properties = HashMap::from([(self.service.property(), value)]);
        let arguments = (self.service.interface(), properties);
        self.tell("UpdateProperties", &arguments).await;
    }

    /// Sends a signal with one boolean.
    pub async fn emit(&self, member: &str, value: bool) {
        let arguments = vec![Variant::from(value)];
        let arguments = (self.service.interface(), member, "b", arguments);
        self.tell("EmitSignal", &arguments).await;
    }

    /// Tells the one who plays the service what to play.
    pub async fn tell<B>(&self, member: &str, arguments: &B)
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let (name, path) = (self.service.name(), self.service.path());
        let call = self
            .client
            .call_method(Some(name), path, Some(MOCK), member, arguments);
        call.await.unwrap();
    }

    /// Whether a question waits for its answer; polkit only.
    pub async fn has_hanging_calls(&self) -> bool {
        let (name, path) = (self.service.name(), self.service.path());
        let call = self
            .client
            .call_method(Some(name), path, Some(MOCK), "HaveHangingCalls", &());
        call.await.unwrap().body().deserialize().unwrap()
    }
}

/// Announces a value in the name of a service, which this connection does not have: to whoever listens to that
/// service, or straight to this name, whatever it listens to.
pub async fn announce_as(
    connection: &Connection,
    to: Option<&str>,
    service: Service,
    value: Variant<'_>,
) {
    let changed = HashMap::from([(service.property(), value)]);
    let arguments = (service.interface(), changed, Vec::<&str>::new());
    let sent = connection.emit_signal(
        to,
        service.path(),
        PROPERTIES,
        "PropertiesChanged",
        &arguments,
    );
    sent.await.unwrap();
}
