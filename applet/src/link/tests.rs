//! The link beside a daemon that is none, on a bus of its own.

use std::time::Duration;

use pandemonium_api::{BUS_NAME, HistoryPoint};
use zbus::interface;

use super::*;
use crate::demo::tests::bus;

/// How long a call that never comes is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

struct Scheduler;

#[interface(name = "org.pandemonium.Scheduler1")]
impl Scheduler {
    #[zbus(property)]
    async fn state(&self) -> String {
        "running".to_owned()
    }
}

/// Says no to whoever wants numbers, and what it was asked.
struct Metrics(mpsc::UnboundedSender<&'static str>);

#[interface(name = "org.pandemonium.Metrics1")]
impl Metrics {
    async fn get_history(&self, _since_usec: u64, _max: u32) -> Vec<HistoryPoint> {
        Vec::new()
    }

    async fn subscribe(&self, _interval_ms: u32) -> fdo::Result<()> {
        let _ = self.0.send("subscribe");
        Err(fdo::Error::LimitsExceeded("four have them".to_owned()))
    }

    async fn unsubscribe(&self) -> fdo::Result<()> {
        let _ = self.0.send("unsubscribe");
        Err(fdo::Error::Failed("has none".to_owned()))
    }
}

struct Locked;

#[interface(name = "org.freedesktop.login1.Session")]
impl Locked {
    #[zbus(property)]
    async fn locked_hint(&self) -> bool {
        true
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("an event loop").block_on(work)
}

async fn next<T>(of: &mut mpsc::UnboundedReceiver<T>) -> T {
    let next = tokio::time::timeout(PATIENCE, of.recv()).await;
    next.expect("comes").expect("does not end")
}

#[test]
fn whoever_may_not_have_numbers_goes_on_without_and_asks_when_they_are_seen_again() {
    let bus = bus();
    block_on(async {
        let (called, mut calls) = mpsc::unbounded_channel();
        let _daemon = connection::Builder::address(bus.address())
            .serve_at(OBJECT_PATH, Scheduler)
            .serve_at(OBJECT_PATH, Metrics(called))
            .name(BUS_NAME)
            .build()
            .await
            .expect("a daemon");
        let at = Where::Address(bus.address().to_owned());
        let (link, mut news) = Link::start(at, Clock::REAL).expect("a link");
        let numbers = |numbers| {
            link.watch(Attention {
                numbers,
                profiles: false,
            });
        };
        numbers(true);
        assert_eq!(next(&mut calls).await, "subscribe");
        numbers(false);
        assert_eq!(next(&mut calls).await, "unsubscribe");
        numbers(true);
        assert_eq!(next(&mut calls).await, "subscribe");
        numbers(false);
        assert_eq!(next(&mut calls).await, "unsubscribe");
        // One that lost its daemon would have told again that it is there.
        let mut here = 0;
        while let Ok(told) = news.try_recv() {
            here += usize::from(matches!(told, News::Presence(Presence::Here(_))));
        }
        assert_eq!(here, 1);
    });
}

#[test]
fn a_session_is_locked_only_if_somebody_says_so() {
    let bus = bus();
    block_on(async {
        let at = Where::Address(bus.address().to_owned());
        let (link, mut news) = Link::start(at, Clock::REAL).expect("a link");
        assert!(matches!(
            next(&mut news).await,
            News::Presence(Presence::NoDaemon)
        ));
        assert!(!link.is_locked().await);
        let _logind = connection::Builder::address(bus.address())
            .serve_at("/org/freedesktop/login1/session/auto", Locked)
            .name("org.freedesktop.login1")
            .build()
            .await
            .expect("a logind");
        assert!(link.is_locked().await);
    });
}
