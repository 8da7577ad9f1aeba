//! The way to the daemon: one thread that keeps a connection to the bus, tells what comes from it, and
//! makes calls. It finds the daemon again whenever the daemon or the bus went away.
//!
//! Nothing is asked for at intervals. While nobody looks, only what changes rarely is announced to us.

use std::future::Future;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use pandemonium_api::{
    self as api, BusError, HistoryPoint, MAX_POINTS, MIN_SAMPLE_INTERVAL_MS, Metrics1Proxy,
    OBJECT_PATH, PROCESSES_INTERFACE, Processes1Proxy, SCHEDULER_INTERFACE, Scheduler1Proxy,
};
use serde::Deserialize;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, watch};
use zbus::fdo::{DBusProxy, PropertiesProxy};
use zbus::names::BusName;
use zbus::proxy::CacheProperties;
use zbus::{Connection, Type, as_variant, connection, fdo};

use crate::clock::{Clock, real_usec};
use crate::model::{News, Presence, Revert, SPAN_USEC, Status};

/// How long after a loss the bus is tried again; twice as long each time, up to the second one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Which bus the daemon is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// The system bus.
    System,
    /// The private bus of the demo.
    Address(String),
}

/// The daemon that is on the bus right now. Its proxies speak to the unique name: the well-known one
/// would make the bus start a daemon that somebody stopped, just because we looked.
#[derive(Clone)]
pub struct Daemon {
    /// State, mode and what the kernel says.
    pub scheduler: Scheduler1Proxy<'static>,
    /// Numbers that change every second.
    pub metrics: Metrics1Proxy<'static>,
    /// What was learned about programs.
    pub processes: Processes1Proxy<'static>,
    bus: Connection,
    name: BusName<'static>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody is there who could.
    NoDaemon,
    /// Whoever asked may not, or closed the password dialog.
    Refused,
    /// The daemon said no, or failed, and why.
    Failed(String),
}

/// What logind says of the session of whoever asks.
#[derive(Default, Deserialize, Type)]
#[zbus(signature = "dict")]
#[serde(default, rename_all = "PascalCase")]
struct Session {
    #[serde(with = "as_variant")]
    locked_hint: bool,
}

/// What somebody looks at, among that which changes all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// The numbers of every tick.
    pub numbers: bool,
    /// That something was learned about programs.
    pub profiles: bool,
}

/// A handle of the thread; whoever has one may ask.
#[derive(Clone)]
pub struct Link {
    runtime: Handle,
    daemon: watch::Receiver<Option<Daemon>>,
    bus: watch::Receiver<Option<Connection>>,
    attention: watch::Sender<Attention>,
}

impl Link {
    /// Starts the thread. What comes from the bus is received from the second value.
    pub fn start(at: Where, clock: Clock) -> Result<(Link, mpsc::UnboundedReceiver<News>), String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the event loop cannot start: {error}"))?;
        let (news, receiver) = mpsc::unbounded_channel();
        let (found, daemon) = watch::channel(None);
        let (connected, bus) = watch::channel(None);
        let (attention, attended) = watch::channel(Attention::default());
        let link = Link {
            runtime: runtime.handle().clone(),
            daemon,
            bus,
            attention,
        };
        let keeper = Keeper {
            at,
            clock,
            news,
            found,
            connected,
            attended,
            asked: None,
        };
        std::thread::Builder::new()
            .name("bus".to_owned())
            .spawn(move || runtime.block_on(keeper.keep()))
            .map_err(|error| format!("the thread for the bus cannot start: {error}"))?;
        Ok((link, receiver))
    }

    /// Says what somebody looks at now.
    pub fn watch(&self, attention: Attention) {
        self.attention
            .send_if_modified(|before| std::mem::replace(before, attention) != attention);
    }

    /// Makes a call on the thread of the link and waits for its end, on any thread.
    pub async fn call<T, F>(&self, call: impl FnOnce(Daemon) -> F) -> Result<T, Trouble>
    where
        T: Send + 'static,
        F: Future<Output = zbus::Result<T>> + Send + 'static,
    {
        let daemon = self.daemon.borrow().clone().ok_or(Trouble::NoDaemon)?;
        self.run(call(daemon)).await
    }

    /// Runs beside everything else on the thread of the link.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// Asks the bus to start the daemon.
    pub async fn start_service(&self) -> Result<(), Trouble> {
        let bus = self.bus.borrow().clone().ok_or(Trouble::NoDaemon)?;
        let name = api::BUS_NAME.try_into().map_err(|_| Trouble::NoDaemon)?;
        self.run(async move {
            let dbus = DBusProxy::new(&bus).await?;
            dbus.start_service_by_name(name, 0).await?;
            Ok(())
        })
        .await
    }

    /// Whether the session is locked; it is not where nobody can say so.
    pub async fn is_locked(&self) -> bool {
        let Some(bus) = self.bus.borrow().clone() else {
            return false;
        };
        let session = self.run(async move {
            let reply = bus
                .call_method(
                    Some("org.freedesktop.login1"),
                    "/org/freedesktop/login1/session/auto",
                    Some("org.freedesktop.DBus.Properties"),
                    "GetAll",
                    &("org.freedesktop.login1.Session",),
                )
                .await?;
            reply.body().deserialize::<Session>()
        });
        session.await.is_ok_and(|session| session.locked_hint)
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl Future<Output = zbus::Result<T>> + Send + 'static,
    ) -> Result<T, Trouble> {
        match self.runtime.spawn(call).await {
            Ok(result) => result.map_err(|error| trouble(&error)),
            Err(_) => Err(Trouble::NoDaemon),
        }
    }
}

/// What a failed call means to the person who made it.
fn trouble(error: &zbus::Error) -> Trouble {
    if let zbus::Error::FDO(error) = error
        && matches!(
            **error,
            fdo::Error::NoReply(_) | fdo::Error::Disconnected(_) | fdo::Error::NameHasNoOwner(_)
        )
    {
        return Trouble::NoDaemon;
    }
    match BusError::of(error) {
        Some(BusError::AccessDenied | BusError::InteractiveAuthorizationRequired) => {
            Trouble::Refused
        }
        _ => Trouble::Failed(api::explain(error)),
    }
}

/// What the thread works with.
struct Keeper {
    at: Where,
    clock: Clock,
    news: mpsc::UnboundedSender<News>,
    found: watch::Sender<Option<Daemon>>,
    connected: watch::Sender<Option<Connection>>,
    attended: watch::Receiver<Attention>,
    /// The daemon that was asked for numbers last.
    asked: Option<BusName<'static>>,
}

impl Keeper {
    async fn keep(mut self) {
        let mut pause = FIRST_PAUSE;
        while !self.news.is_closed() {
            match self.connect().await {
                Ok(bus) => {
                    pause = FIRST_PAUSE;
                    self.connected.send_replace(Some(bus.clone()));
                    let ended = self.follow(&bus).await;
                    self.found.send_replace(None);
                    self.connected.send_replace(None);
                    if let Err(error) = ended {
                        self.tell(Presence::NoBus(api::explain(&error)));
                    }
                }
                Err(error) => self.tell(Presence::NoBus(api::explain(&error))),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self) -> zbus::Result<Connection> {
        let builder = match &self.at {
            Where::System => connection::Builder::system(),
            Where::Address(address) => connection::Builder::address(address.as_str()),
        };
        builder.build().await
    }

    /// Follows the daemon across its restarts, until the bus goes.
    async fn follow(&mut self, bus: &Connection) -> zbus::Result<()> {
        let dbus = DBusProxy::new(bus).await?;
        let arguments = [(0, api::BUS_NAME)];
        let mut owners = dbus
            .receive_name_owner_changed_with_args(&arguments)
            .await?;
        loop {
            match Daemon::find(bus, &dbus).await? {
                Some(daemon) => {
                    self.found.send_replace(Some(daemon.clone()));
                    let ended = tokio::select! {
                        ended = self.attend(&daemon) => ended,
                        owner = owners.next() => match owner {
                            Some(_) => Ok(()),
                            None => return Ok(()),
                        },
                        () = bus.closed() => return Err(zbus::Error::InputOutput(closed())),
                    };
                    self.found.send_replace(None);
                    // A daemon that leaves while it is asked is no news; whoever comes next is.
                    if ended.is_err() && Daemon::find(bus, &dbus).await?.is_some() {
                        tokio::time::sleep(FIRST_PAUSE).await;
                    }
                }
                None => {
                    self.tell(Presence::NoDaemon);
                    tokio::select! {
                        owner = owners.next() => if owner.is_none() { return Ok(()) },
                        () = bus.closed() => return Err(zbus::Error::InputOutput(closed())),
                    }
                }
            }
        }
    }

    /// Tells what one daemon says, until it stops.
    async fn attend(&mut self, daemon: &Daemon) -> zbus::Result<()> {
        let properties = PropertiesProxy::builder(&daemon.bus)
            .destination(daemon.name.clone())
            .path(OBJECT_PATH)
            .build()
            .await?;
        // Others of its interfaces announce every few seconds, which need not wake us.
        let mut changes = properties
            .receive_properties_changed_with_args(&[(0, SCHEDULER_INTERFACE)])
            .await?;
        let mut reverts = daemon.scheduler.receive_reverted().await?;
        let mut samples = daemon.metrics.receive_sample().await?;
        self.tell_status(daemon).await?;
        // What was asked of this very daemon before may still hold.
        let is_asked = self.asked.as_ref() == Some(&daemon.name);
        let mut is_subscribed = (!is_asked).then_some(false);
        let mut learned = None;
        loop {
            let attention = *self.attended.borrow_and_update();
            if Some(attention.numbers) != is_subscribed {
                self.asked = Some(daemon.name.clone());
                // Whoever may not have numbers, as too many have them, goes on without.
                let _ = self.subscribe(daemon, attention.numbers).await;
                is_subscribed = Some(attention.numbers);
            }
            match (attention.profiles, &learned) {
                (true, None) => {
                    let of = [(0, PROCESSES_INTERFACE)];
                    let changes = properties.receive_properties_changed_with_args(&of).await?;
                    learned = Some(changes);
                    let _ = self.news.send(News::Profiles);
                }
                (false, Some(_)) => learned = None,
                _ => {}
            }
            tokio::select! {
                change = changes.next() => match change {
                    Some(_) => self.tell_status(daemon).await?,
                    None => return Ok(()),
                },
                revert = reverts.next() => {
                    let Some(revert) = revert else { return Ok(()) };
                    let told = revert.args()?;
                    let _ = self.news.send(News::Reverted(Revert {
                        from: told.from,
                        to: told.to,
                        reason: told.reason,
                    }));
                }
                sample = samples.next() => {
                    let Some(sample) = sample else { return Ok(()) };
                    let mut sample = sample.args()?.sample;
                    sample.sampled_usec = self.clock.shown(sample.sampled_usec);
                    let _ = self.news.send(News::Sample(Box::new(sample)));
                }
                change = next_if_any(&mut learned) => match change {
                    Some(_) => drop(self.news.send(News::Profiles)),
                    None => return Ok(()),
                },
                changed = self.attended.changed() => if changed.is_err() { return Ok(()) },
            }
        }
    }

    async fn tell_status(&self, daemon: &Daemon) -> zbus::Result<()> {
        self.tell(Presence::Here(Box::new(daemon.status().await?)));
        Ok(())
    }

    async fn subscribe(&self, daemon: &Daemon, is_watched: bool) -> zbus::Result<()> {
        if !is_watched {
            return daemon.metrics.unsubscribe().await;
        }
        let since = real_usec().saturating_sub(SPAN_USEC);
        let mut points = daemon.metrics.get_history(since, MAX_POINTS).await?;
        while let Some(last) = points.last().map(|point: &HistoryPoint| point.usec)
            && points.len() % MAX_POINTS as usize == 0
        {
            let more = daemon.metrics.get_history(last, MAX_POINTS).await?;
            if more.is_empty() {
                break;
            }
            points.extend(more);
        }
        for point in &mut points {
            point.usec = self.clock.shown(point.usec);
        }
        let _ = self.news.send(News::History(points));
        daemon.metrics.subscribe(MIN_SAMPLE_INTERVAL_MS).await
    }

    fn tell(&self, presence: Presence) {
        // Fails only when the window has gone, and the thread ends with it.
        let _ = self.news.send(News::Presence(presence));
    }
}

impl Daemon {
    /// Finds the daemon; `None` if nobody has its name.
    async fn find(bus: &Connection, dbus: &DBusProxy<'_>) -> zbus::Result<Option<Daemon>> {
        let name = match dbus.get_name_owner(BusName::try_from(api::BUS_NAME)?).await {
            Ok(owner) => BusName::from(owner.into_inner()),
            Err(fdo::Error::NameHasNoOwner(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(Daemon {
            scheduler: Scheduler1Proxy::builder(bus)
                .destination(name.clone())
                .cache_properties(CacheProperties::No)
                .build()
                .await?,
            metrics: Metrics1Proxy::builder(bus)
                .destination(name.clone())
                .cache_properties(CacheProperties::No)
                .build()
                .await?,
            processes: Processes1Proxy::builder(bus)
                .destination(name.clone())
                .cache_properties(CacheProperties::No)
                .build()
                .await?,
            bus: bus.clone(),
            name,
        }))
    }

    /// Every property of the scheduler in one answer, so that they belong together.
    async fn status(&self) -> zbus::Result<Status> {
        let reply = self
            .bus
            .call_method(
                Some(self.name.clone()),
                OBJECT_PATH,
                Some("org.freedesktop.DBus.Properties"),
                "GetAll",
                &(SCHEDULER_INTERFACE,),
            )
            .await?;
        reply.body().deserialize()
    }
}

/// The next of a stream, which never comes if there is none.
async fn next_if_any<S: Stream + Unpin>(stream: &mut Option<S>) -> Option<S::Item> {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

fn closed() -> std::sync::Arc<std::io::Error> {
    std::sync::Arc::new(std::io::ErrorKind::ConnectionReset.into())
}

#[cfg(test)]
mod tests;
