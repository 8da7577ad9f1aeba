//! The daemon on the bus: one name, one object, and a signal for every change.

pub mod authority;
mod deadline;
mod inlet;
#[cfg(test)]
mod interface_file;
mod metrics;
mod options;
mod outlet;
mod places;
mod processes;
mod scheduler;
mod subscribers;
mod transfer;

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use pandemonium_api::{
    BUS_NAME, BusError, LastExit, OBJECT_PATH, PROCESSES_INTERFACE, Refusal, SCHEDULER_INTERFACE,
};
use tokio::sync::{mpsc, oneshot, watch};
use zbus::names::InterfaceName;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, Variant, connection, fdo};

use crate::daemon::{Command, Request};
use crate::failure::{Failure, exit_code};
use crate::power::{self, Told};
use crate::status::{Cancelled, Revert, Status};
use authority::{Authority, Permit};
use metrics::SharedHistory;
use subscribers::Subscribers;
use transfer::Transfers;

/// Between two attempts to come back to a bus that went away.
const RECONNECT: Duration = Duration::from_secs(1);

/// Which bus to be on.
#[derive(Clone, Debug)]
pub enum Where {
    /// The system's, as a service.
    System,
    /// The user's, for a demo.
    Session,
    /// Any other, for tests.
    Address(String),
}

/// The daemon's side of the bus.
#[derive(Clone)]
pub struct Bus {
    at: Where,
    status: watch::Receiver<Status>,
    requests: Requests,
    authority: Authority,
    history: SharedHistory,
    subscribers: Subscribers,
    transfers: Transfers,
    told: watch::Sender<Told>,
}

/// Where requests go.
#[derive(Clone)]
pub struct Requests(pub mpsc::Sender<Request>);

impl Requests {
    /// Hands a permitted request to the loop and waits until it is done.
    async fn send(&self, permit: Permit, command: Command) -> Result<(), Refusal> {
        self.count(permit, command).await.map(drop)
    }

    /// The same, and returns how many programs it concerned.
    async fn count(&self, permit: Permit, command: Command) -> Result<u32, Refusal> {
        let (reply, done) = oneshot::channel();
        let request = Request {
            permit,
            command,
            reply,
        };
        self.0
            .try_send(request)
            .map_err(|_| BusError::Busy.because("Too many requests are waiting; try again."))?;
        done.await
            .unwrap_or_else(|_| Err(BusError::Busy.because("The daemon is leaving.")))
    }
}

impl Bus {
    /// Nothing is connected yet.
    pub fn new(
        at: Where,
        status: watch::Receiver<Status>,
        requests: Requests,
        told: watch::Sender<Told>,
    ) -> Bus {
        Bus {
            at,
            status,
            requests,
            authority: Authority::default(),
            history: SharedHistory::default(),
            subscribers: Subscribers::default(),
            transfers: Transfers::default(),
            told,
        }
    }

    /// Connects, serves the object and takes the name.
    pub async fn connect(&self) -> Result<Connection, Failure> {
        self.serve().await.map_err(|error| self.explain(&error))
    }

    /// Announces changes, listens to what others say about power and sleep, and comes back when the bus
    /// goes away.
    pub async fn keep(self, mut connection: Connection) {
        tokio::spawn(self.history.clone().follow(self.status.clone()));
        loop {
            tokio::select! {
                () = announce(&connection, self.status.clone()) => return,
                () = metrics::deliver(&connection, self.status.clone(), &self.subscribers) => return,
                () = power::follow(&connection, &self.told) => {}
                () = connection.closed() => self.subscribers.clear(),
            }
            log::warn!("the bus is gone; scheduling goes on");
            connection = loop {
                tokio::time::sleep(RECONNECT).await;
                match self.serve().await {
                    Ok(connection) => break connection,
                    Err(error) => log::debug!("the bus is still gone: {error}"),
                }
            };
            log::info!("back on the bus");
        }
    }

    async fn serve(&self) -> zbus::Result<Connection> {
        let builder = match &self.at {
            Where::System => connection::Builder::system(),
            Where::Session => connection::Builder::session(),
            Where::Address(address) => connection::Builder::address(address.as_str()),
        };
        let scheduler = scheduler::Scheduler {
            status: self.status.clone(),
            requests: self.requests.clone(),
            transfers: self.transfers.clone(),
            authority: self.authority.clone(),
        };
        let processes = processes::Processes {
            status: self.status.clone(),
            requests: self.requests.clone(),
            transfers: self.transfers.clone(),
            authority: self.authority.clone(),
        };
        builder
            .serve_at(OBJECT_PATH, scheduler)
            .serve_at(
                OBJECT_PATH,
                metrics::Metrics {
                    status: self.status.clone(),
                    history: self.history.clone(),
                    subscribers: self.subscribers.clone(),
                    authority: self.authority.clone(),
                },
            )
            .serve_at(OBJECT_PATH, processes)
            .name(BUS_NAME)
            // Both are on by default, and would let a second daemon push this one aside.
            .allow_name_replacements(false)
            .replace_existing_names(false)
            .build()
            .await
    }

    fn explain(&self, error: &zbus::Error) -> Failure {
        let bus = match &self.at {
            Where::System => "the system bus".to_owned(),
            Where::Session => "the session bus".to_owned(),
            Where::Address(address) => format!("the bus at {address}"),
        };
        match error {
            zbus::Error::NameTaken => Failure::new(
                exit_code::BUS,
                format!(
                    "{BUS_NAME} is taken on {bus}; another pandemoniumd runs, stop that first."
                ),
            ),
            zbus::Error::FDO(error) if matches!(**error, fdo::Error::AccessDenied(_)) => {
                Failure::new(
                    exit_code::PERMISSION,
                    format!(
                        "Not allowed to own {BUS_NAME} on {bus}; run pandemoniumd as the user the \
                         D-Bus policy names, or use --no-bus."
                    ),
                )
            }
            error => Failure::new(
                exit_code::BUS,
                format!("Cannot connect to {bus} ({error}); start D-Bus, or use --no-bus."),
            ),
        }
    }
}

/// One `PropertiesChanged` for all that changed at once, and the other signals after it.
async fn announce(connection: &Connection, mut status: watch::Receiver<Status>) {
    let Ok(emitter) = SignalEmitter::new(connection, OBJECT_PATH) else {
        return;
    };
    let mut shown = Announced::of(&status.borrow_and_update());
    while status.changed().await.is_ok() {
        let now = Announced::of(&status.borrow_and_update());
        // Most of the time only numbers have changed, which are not announced.
        if now == shown {
            continue;
        }
        if let Err(error) = now.announce(&emitter, &shown).await {
            log::debug!("a change was not announced: {error}");
        }
        shown = now;
    }
}

type Properties = Vec<(&'static str, Variant<'static>)>;

/// What is announced of a status.
#[derive(PartialEq)]
struct Announced {
    scheduler: Properties,
    processes: Properties,
    ejections: (u64, LastExit, u64),
    reverts: (u64, Revert),
    cancellations: (u64, Cancelled),
}

impl Announced {
    fn of(status: &Status) -> Announced {
        let s = status;
        Announced {
            scheduler: scheduler::properties(s),
            processes: processes::properties(s),
            ejections: (s.ejections, s.last_exit.clone(), s.next_retry_usec),
            reverts: (s.reverts, s.last_revert.clone()),
            cancellations: (s.cancellations, s.last_cancelled.clone()),
        }
    }

    async fn announce(&self, emitter: &SignalEmitter<'_>, before: &Announced) -> zbus::Result<()> {
        let lists = (&before.scheduler, &self.scheduler);
        changed(emitter, SCHEDULER_INTERFACE, lists).await?;
        let lists = (&before.processes, &self.processes);
        changed(emitter, PROCESSES_INTERFACE, lists).await?;
        let (count, exit, next) = &self.ejections;
        if *count != before.ejections.0 {
            let LastExit {
                kind, code, reason, ..
            } = exit;
            let will_retry = *next != 0;
            scheduler::Scheduler::ejected(emitter, kind, *code, reason, will_retry, *next).await?;
        }
        let (count, Revert { from, to, reason }) = &self.reverts;
        if *count != before.reverts.0 {
            scheduler::Scheduler::reverted(emitter, from.name(), to.name(), reason).await?;
        }
        let (count, Cancelled { by, holds }) = &self.cancellations;
        if *count != before.cancellations.0 {
            scheduler::Scheduler::holds_cancelled(emitter, by, holds).await?;
        }
        Ok(())
    }
}

async fn changed(
    emitter: &SignalEmitter<'_>,
    interface: &'static str,
    (before, now): (&Properties, &Properties),
) -> zbus::Result<()> {
    let changed: HashMap<_, _> = now
        .iter()
        .zip(before)
        .filter(|(now, before)| now != before)
        .map(|(now, _)| now.clone())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let interface = InterfaceName::from_static_str(interface)?;
    fdo::Properties::properties_changed(emitter, interface, changed, Cow::Borrowed(&[])).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(properties: Vec<(&'static str, Variant<'static>)>) -> Vec<&'static str> {
        let mut names: Vec<_> = properties.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_the_interface_file_promises_to_announce_is_announced() {
        let status = Status::default();
        assert_eq!(
            sorted(scheduler::properties(&status)),
            interface_file::announced(SCHEDULER_INTERFACE)
        );
        assert_eq!(
            sorted(processes::properties(&status)),
            interface_file::announced(PROCESSES_INTERFACE)
        );
    }
}
