//! What changes is announced: one `PropertiesChanged` for all that changed at once, and the other signals after it.

use std::borrow::Cow;
use std::collections::HashMap;

use pandemonium_api::{LastExit, OBJECT_PATH, PROCESSES_INTERFACE, SCHEDULER_INTERFACE};
use tokio::sync::watch;
use zbus::names::InterfaceName;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, Variant, fdo};

use super::{processes, scheduler};
use crate::status::{Cancelled, Revert, Status};

/// Remembers what clients can know.
pub struct Announcer {
    status: watch::Receiver<Status>,
    shown: Announced,
}

impl Announcer {
    /// To be made before anybody can read the status: what changes from here on is announced.
    pub fn new(mut status: watch::Receiver<Status>) -> Announcer {
        let shown = Announced::of(&status.borrow_and_update());
        Announcer { status, shown }
    }

    /// Announces every change until there can be no more.
    pub async fn run(&mut self, connection: &Connection) {
        let Ok(emitter) = SignalEmitter::new(connection, OBJECT_PATH) else {
            return;
        };
        while self.status.changed().await.is_ok() {
            let now = Announced::of(&self.status.borrow_and_update());
            // Most of the time only numbers have changed, which are not announced.
            if now == self.shown {
                continue;
            }
            if let Err(error) = now.announce(&emitter, &self.shown).await {
                log::debug!("a change was not announced: {error}");
            }
            self.shown = now;
        }
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
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use futures_util::StreamExt;
    use zbus::{MatchRule, MessageStream, connection};

    use super::super::interface_file;
    use super::*;
    use crate::status::State;

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

    /// A bus of this test's own; it ends with it.
    struct TestBus(Child);

    impl TestBus {
        fn start() -> (TestBus, String) {
            let child = Command::new("dbus-daemon")
                .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
                .stdout(Stdio::piped())
                .spawn();
            let mut bus = TestBus(child.expect("dbus-daemon is installed"));
            let mut address = String::new();
            let printed = bus.0.stdout.take().expect("a pipe");
            let line = BufReader::new(printed).read_line(&mut address);
            line.expect("an address");
            (bus, address.trim().to_owned())
        }
    }

    impl Drop for TestBus {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[tokio::test]
    async fn what_changes_before_the_first_announcement_is_announced() {
        let (_bus, address) = TestBus::start();
        let connect = || connection::Builder::address(address.as_str()).build();
        let (server, client) = tokio::try_join!(connect(), connect()).expect("connected");
        let rule = MatchRule::builder().path(OBJECT_PATH);
        let signals = MessageStream::for_match_rule(rule.build().expect("a rule"), &client, None);
        let mut signals = signals.await.expect("a match");

        let (status, seen) = watch::channel(Status::default());
        let mut announcer = Announcer::new(seen);
        status.send_modify(|status| status.state = State::Running);
        drop(status);
        announcer.run(&server).await;

        let signal = tokio::time::timeout(Duration::from_secs(30), signals.next()).await;
        let signal = signal
            .expect("in time")
            .expect("a signal")
            .expect("readable");
        let body = signal.body();
        let (interface, changed, _): (&str, HashMap<&str, Variant<'_>>, Vec<&str>) =
            body.deserialize().expect("properties");
        assert_eq!(interface, SCHEDULER_INTERFACE);
        assert!(changed.contains_key("State"), "{changed:?}");
    }
}
