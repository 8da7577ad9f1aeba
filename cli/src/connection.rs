//! The way to the daemon: find it without starting it, ask it, and say in one sentence what went
//! wrong.

use std::future::Future;
use std::time::Duration;

use pandemonium_api::{self as api, BusError, Metrics1Proxy, Processes1Proxy, Scheduler1Proxy};
use tokio::runtime::Runtime;
use zbus::names::BusName;
use zbus::proxy::CacheProperties;
use zbus::{Connection, fdo};

use crate::error::Error;
use crate::text::printable;

/// How long anything but a password dialog may take. The daemon answers reads from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The daemon that is on the bus right now.
#[derive(Clone)]
pub struct Daemon {
    /// State, mode and what the kernel says.
    pub scheduler: Scheduler1Proxy<'static>,
    /// Numbers that change every second.
    pub metrics: Metrics1Proxy<'static>,
    /// What was learned about programs.
    pub processes: Processes1Proxy<'static>,
}

impl Daemon {
    /// Connects to the system bus and finds the daemon there.
    pub async fn connect() -> Result<Daemon, Error> {
        Daemon::find(&system_bus().await?).await
    }

    /// Finds the daemon on this bus.
    ///
    /// The proxies speak to the unique name of the running daemon, not to the well-known one: the
    /// latter would make the bus start a daemon that somebody stopped, just because we looked.
    pub async fn find(bus: &Connection) -> Result<Daemon, Error> {
        answer(Daemon::resolve(bus)).await
    }

    async fn resolve(bus: &Connection) -> zbus::Result<Daemon> {
        let dbus = fdo::DBusProxy::new(bus).await?;
        let owner = dbus
            .get_name_owner(BusName::try_from(api::BUS_NAME)?)
            .await?;
        let name = BusName::from(owner);
        Ok(Daemon {
            scheduler: Scheduler1Proxy::builder(bus)
                .destination(name.clone())
                .build()
                .await?,
            metrics: Metrics1Proxy::builder(bus)
                .destination(name.clone())
                .build()
                .await?,
            processes: Processes1Proxy::builder(bus)
                .destination(name)
                .build()
                .await?,
        })
    }

    /// Properties as they are, not as they were when the event loop last had a turn or the daemon last said
    /// something.
    pub async fn uncached(&self) -> zbus::Result<Scheduler1Proxy<'static>> {
        let known = self.scheduler.inner();
        Scheduler1Proxy::builder(known.connection())
            .destination(known.destination().to_owned())
            .cache_properties(CacheProperties::No)
            .build()
            .await
    }

    /// Switches the mode. A password dialog may come first, so this waits as long as it takes.
    pub async fn set_mode(&self, mode: &str) -> Result<(), Error> {
        self.scheduler
            .set_mode(mode, Default::default())
            .await
            .map_err(explain)
    }
}

/// Connects to the system bus.
pub async fn system_bus() -> Result<Connection, Error> {
    match tokio::time::timeout(PATIENCE, Connection::system()).await {
        Ok(Ok(bus)) => Ok(bus),
        Ok(Err(error)) => Err(Error::NoBus(error.to_string())),
        Err(_) => Err(Error::NoBus("it does not answer".to_owned())),
    }
}

/// The answer of the daemon or the bus, or the sentence that explains why there is none.
pub async fn answer<T>(call: impl Future<Output = zbus::Result<T>>) -> Result<T, Error> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(result) => result.map_err(explain),
        Err(_) => Err(Error::Failed(
            "the daemon does not answer; see `systemctl status pandemonium`".to_owned(),
        )),
    }
}

/// An event loop on this thread.
pub fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("the event loop cannot start: {error}")))
}

/// Runs a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    runtime()?.block_on(future)
}

/// What a failed call means to the person who made it.
pub fn explain(error: zbus::Error) -> Error {
    if is_absence(&error) {
        return Error::NoDaemon;
    }
    if is_unknown(&error) {
        return Error::Failed(
            "the daemon that runs is older than this command; restart it with \
             `systemctl restart pandemonium`"
                .to_owned(),
        );
    }
    // The bus library repeats what it was asked for as it came.
    let sentence = printable(&api::explain(&error));
    match BusError::of(&error) {
        Some(BusError::AccessDenied) => Error::Denied(format!("not permitted: {sentence}")),
        Some(BusError::InteractiveAuthorizationRequired) => Error::Denied(
            "this needs an administrator's password and nothing here can ask for one; try sudo"
                .to_owned(),
        ),
        Some(_) => Error::Refused(sentence),
        None if matches!(error, zbus::Error::InputOutput(_)) => Error::NoBus(error.to_string()),
        None => Error::Failed(format!("the daemon's answer cannot be used: {sentence}")),
    }
}

/// Whether the error says that nobody has the name.
fn is_absence(error: &zbus::Error) -> bool {
    match error {
        zbus::Error::FDO(error) => matches!(
            **error,
            fdo::Error::ServiceUnknown(_)
                | fdo::Error::NameHasNoOwner(_)
                | fdo::Error::NoReply(_)
                | fdo::Error::Disconnected(_)
        ),
        _ => false,
    }
}

/// Whether the daemon does not have what it was asked for.
fn is_unknown(error: &zbus::Error) -> bool {
    match error {
        zbus::Error::FDO(error) => matches!(
            **error,
            fdo::Error::UnknownMethod(_)
                | fdo::Error::UnknownProperty(_)
                | fdo::Error::UnknownInterface(_)
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_bus_repeats_reaches_no_terminal() {
        let name = "Unknown property 'a\x1b[2J'".to_owned();
        let error = zbus::Error::FDO(Box::new(fdo::Error::InvalidArgs(name)));
        assert_eq!(explain(error).to_string(), r"Unknown property 'a\x1b[2J'");
    }
}
