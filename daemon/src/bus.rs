//! The daemon on the bus: one name, one object, and a signal for every change.

mod announcer;
pub mod authority;
mod bounded;
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

use std::time::Duration;

use pandemonium_api::{BUS_NAME, BusError, OBJECT_PATH, Refusal};
use tokio::sync::{mpsc, oneshot, watch};
use zbus::{Connection, connection, fdo};

use crate::daemon::{Command, Request};
use crate::failure::{Failure, exit_code};
use crate::power::{self, Told};
use crate::status::Status;
use announcer::Announcer;
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

/// A connection on which the name is ours, and who announces there.
pub struct Presence {
    connection: Connection,
    announcer: Announcer,
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
    pub async fn connect(&self) -> Result<Presence, Failure> {
        self.serve().await.map_err(|error| self.explain(&error))
    }

    /// Announces changes, listens to what others say about power and sleep, and comes back when the bus
    /// goes away.
    pub async fn keep(self, mut presence: Presence) {
        tokio::spawn(self.history.clone().follow(self.status.clone()));
        loop {
            let connection = &presence.connection;
            tokio::select! {
                () = presence.announcer.run(connection) => return,
                () = metrics::deliver(connection, self.status.clone(), &self.subscribers) => return,
                () = power::follow(connection, &self.told) => {}
                () = connection.closed() => self.subscribers.clear(),
            }
            log::warn!("the bus is gone; scheduling goes on");
            presence = loop {
                tokio::time::sleep(RECONNECT).await;
                match self.serve().await {
                    Ok(presence) => break presence,
                    Err(error) => log::debug!("the bus is still gone: {error}"),
                }
            };
            log::info!("back on the bus");
        }
    }

    async fn serve(&self) -> zbus::Result<Presence> {
        let announcer = Announcer::new(self.status.clone());
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
        let connection = builder
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
            .await?;
        Ok(Presence {
            connection,
            announcer,
        })
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
