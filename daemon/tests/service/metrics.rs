//! Numbers: their units, the last hour, and samples for those who subscribed.

use std::collections::{BTreeSet, HashMap};

use futures_util::StreamExt;
use pandemonium_api::{BUS_NAME, BusError, METRICS_INTERFACE, Metrics1Proxy, OBJECT_PATH, state};
use zbus::{Connection, MessageStream, OwnedVariant, Variant};

use crate::harness::{World, stays, until};

async fn metrics_of(client: &Connection) -> Metrics1Proxy<'static> {
    Metrics1Proxy::new(client).await.unwrap()
}

fn kind<T>(result: zbus::Result<T>) -> Option<BusError> {
    result.err().and_then(|error| BusError::of(&error))
}

#[tokio::test]
async fn every_number_of_a_snapshot_has_a_unit() {
    let world = World::start("").await;
    let metrics = world.metrics().await;
    until("a sample with wake-ups", async || {
        metrics.p99_nsec().await.unwrap() > 0
    })
    .await;
    // Raw, so that a key this crate does not know would be seen.
    let reply = world
        .client
        .call_method(
            Some(BUS_NAME),
            OBJECT_PATH,
            Some(METRICS_INTERFACE),
            "GetSnapshot",
            &(),
        )
        .await
        .unwrap();
    let snapshot: HashMap<String, OwnedVariant> = reply.body().deserialize().unwrap();
    let units = metrics.get_snapshot().await.unwrap().units;
    let mut keys = BTreeSet::new();
    for (key, value) in &snapshot {
        match (key.as_str(), &**value) {
            ("counters" | "totals" | "knobs" | "limits", Variant::Dict(inner)) => {
                let inner: HashMap<String, u64> = inner.try_clone().unwrap().try_into().unwrap();
                assert!(inner.len() >= 10, "{key}");
                keys.extend(inner.into_keys());
            }
            _ => drop(keys.insert(key.clone())),
        }
    }
    assert!(keys.contains("p99_nsec") && keys.contains("dispatches"));
    let without: Vec<_> = keys
        .iter()
        .filter(|key| !units.contains_key(*key))
        .collect();
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(units["slice_ns"], "ns");
    assert_eq!(units["dispatches"], "count");
}

#[tokio::test]
async fn regime_burst_and_longrun_are_those_of_the_scheduler() {
    let world = World::start("[[step]]\nidle_permille = 20\nburst = true\nlongrun = true").await;
    let (metrics, scheduler) = (world.metrics().await, world.scheduler().await);
    until("a busy machine", async || {
        metrics.regime().await.unwrap() == "HEAVY"
    })
    .await;
    assert!(metrics.burst().await.unwrap() && metrics.longrun().await.unwrap());
    assert_eq!(scheduler.regime().await.unwrap(), "HEAVY");
}

#[tokio::test]
async fn the_history_is_read_page_by_page_oldest_first() {
    let world =
        World::start("[[step]]\nticks = 5\nidle_permille = 900\n[[step]]\nidle_permille = 10")
            .await;
    let metrics = world.metrics().await;
    until("a dozen ticks", async || {
        metrics.get_history(0, 0).await.unwrap().len() >= 12
    })
    .await;
    let all = metrics.get_history(0, 0).await.unwrap();
    assert!(all.is_sorted_by_key(|point| point.usec));
    assert_eq!(all[0].idle_permille, 900);
    assert_eq!(all[11].idle_permille, 10);
    assert_eq!(all[0].online_cpus, 4);
    let first = metrics.get_history(0, 5).await.unwrap();
    assert_eq!(first, all[..5]);
    let second = metrics.get_history(first[4].usec, 5).await.unwrap();
    assert_eq!(second, all[5..10]);
    let newest = all.last().unwrap().usec;
    until("only newer ones", async || {
        let newer = metrics.get_history(newest, 0).await.unwrap();
        !newer.is_empty() && newer.iter().all(|point| point.usec > newest)
    })
    .await;
}

#[tokio::test]
async fn a_sample_goes_to_the_subscriber_and_to_nobody_else() {
    let world = World::start("tick_ms = 130").await;
    world.until_state(state::RUNNING).await;
    let (listener, bystander) = (world.bus.connect().await, world.bus.connect().await);
    let metrics = metrics_of(&listener).await;
    let mut samples = metrics.receive_sample().await.unwrap();
    // The bystander would take it from anybody, if the bus sent it to anybody.
    let rule = "type='signal',interface='org.pandemonium.Metrics1'";
    let mut others = MessageStream::for_match_rule(rule, &bystander, None)
        .await
        .unwrap();
    metrics.subscribe(250).await.unwrap();
    let mut last = 0;
    for _ in 0..3 {
        let signal = samples.next().await.unwrap();
        let destination = signal.message().header().destination().cloned().unwrap();
        assert_eq!(
            destination.as_str(),
            listener.unique_name().unwrap().as_str()
        );
        let sample = signal.args().unwrap().sample;
        assert!(sample.sampled_usec > last && sample.units.is_empty());
        assert_eq!(sample.state, state::RUNNING);
        last = sample.sampled_usec;
    }
    // Something that does reach the bystander, after all that did not.
    bystander
        .emit_signal(None::<&str>, "/x", METRICS_INTERFACE, "Own", &())
        .await
        .unwrap();
    let heard = others.next().await.unwrap().unwrap();
    assert_eq!(heard.header().member().unwrap().as_str(), "Own");

    metrics.unsubscribe().await.unwrap();
    assert_eq!(kind(metrics.unsubscribe().await), Some(BusError::NotFound));
    assert!(
        world.polkit.questions().is_empty(),
        "nobody needs a password to look"
    );
}

#[tokio::test]
async fn subscriptions_are_few_and_end_with_the_connection() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let mut listeners = Vec::new();
    for _ in 0..4 {
        let listener = world.bus.connect().await;
        metrics_of(&listener).await.subscribe(1_000).await.unwrap();
        listeners.push(listener);
    }
    let metrics = world.metrics().await;
    let refused = async || kind(metrics.subscribe(1_000).await);
    assert_eq!(refused().await, Some(BusError::LimitsExceeded));
    assert_eq!(
        kind(metrics.subscribe(249).await),
        Some(BusError::InvalidArgs)
    );
    // Who is in may change its mind.
    metrics_of(&listeners[0])
        .await
        .subscribe(500)
        .await
        .unwrap();
    assert_eq!(refused().await, Some(BusError::LimitsExceeded));
    listeners.pop().unwrap().close().await.unwrap();
    until("a place is free", async || refused().await.is_none()).await;
    metrics.unsubscribe().await.unwrap();
    metrics.subscribe(1_000).await.unwrap();
    stays("the daemon is well", async || {
        metrics.get_snapshot().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_bus_that_comes_back_has_no_subscribers_and_the_history_is_still_there() {
    let mut world = World::start("").await;
    let metrics = world.metrics().await;
    until("some ticks", async || {
        metrics.get_history(0, 0).await.unwrap().len() >= 3
    })
    .await;
    let first = metrics.get_history(0, 1).await.unwrap()[0];
    for _ in 0..3 {
        let listener = world.bus.connect().await;
        metrics_of(&listener).await.subscribe(1_000).await.unwrap();
    }
    metrics.subscribe(1_000).await.unwrap();
    world.bus.restart();
    world.client = world.bus.connect().await;
    world.wait_for_daemon().await;
    // The new bus counts from the beginning again: past the names that the old one gave.
    for _ in 0..20 {
        world.client = world.bus.connect().await;
    }
    let metrics = world.metrics().await;
    assert_eq!(metrics.get_history(0, 1).await.unwrap()[0], first);
    metrics.subscribe(1_000).await.unwrap();
    let second = world.bus.connect().await;
    metrics_of(&second).await.subscribe(1_000).await.unwrap();
}
