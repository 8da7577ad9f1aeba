//! Start, load and modes.

use std::collections::HashMap;

use futures_util::StreamExt;
use pandemonium_api::{BusError, mode, state};
use rustix::process::Signal;

use crate::harness::{World, stays, until};

const HEAVY: &str = "[[step]]\nidle_permille = 20\ndispatches = 90000\n";
const LIGHT: &str = "[[step]]\nidle_permille = 900\n";

#[tokio::test]
async fn starts_and_publishes_what_the_kernel_says() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.mode().await.unwrap(), mode::ADAPTIVE);
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
    assert_eq!(scheduler.kernel_state().await.unwrap(), "enabled");
    assert_eq!(scheduler.kernel_ops().await.unwrap(), "pandemonium");
    assert_eq!(scheduler.state_reason().await.unwrap(), "");
    assert_eq!(
        scheduler.version().await.unwrap(),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(
        scheduler.api_level().await.unwrap(),
        pandemonium_api::API_LEVEL
    );
    assert!(!scheduler.last_exit().await.unwrap().is_some());
    assert!(scheduler.warnings().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_change_of_load_changes_the_regime_with_one_signal_each() {
    let world = World::start(HEAVY).await;
    let scheduler = world.scheduler().await;
    until("HEAVY", async || {
        scheduler.regime().await.unwrap() == "HEAVY"
    })
    .await;

    let mut changes = world.changes().await;
    world.script(LIGHT);
    until("LIGHT", async || {
        scheduler.regime().await.unwrap() == "LIGHT"
    })
    .await;
    world.script(HEAVY);
    let mut regimes = vec!["HEAVY".to_owned()];
    while regimes.len() < 3 || regimes.last().is_none_or(|last| last != "HEAVY") {
        let change = changes.next().await.unwrap();
        if let Some(regime) = change.args().unwrap().changed_properties.get("Regime") {
            regimes.push(String::try_from(regime.try_clone().unwrap()).unwrap());
        }
    }
    assert!(
        regimes.windows(2).all(|pair| pair[0] != pair[1]),
        "no signal without a change: {regimes:?}"
    );
    assert!(regimes.contains(&"LIGHT".to_owned()), "{regimes:?}");
}

#[tokio::test]
async fn nothing_is_announced_while_nothing_changes() {
    let world = World::start(HEAVY).await;
    let scheduler = world.scheduler().await;
    until("HEAVY", async || {
        scheduler.regime().await.unwrap() == "HEAVY"
    })
    .await;
    let mut changes = world.changes().await;
    let metrics = world.metrics().await;
    let first = metrics.sampled_usec().await.unwrap();
    until("ten more ticks", async || {
        metrics.sampled_usec().await.unwrap() > first + 10 * 20_000
    })
    .await;
    // Whatever was announced during those ticks was sent before this change.
    world.set_mode(mode::BPF).await.unwrap();
    let change = changes.next().await.unwrap();
    let names: Vec<_> = change
        .args()
        .unwrap()
        .changed_properties
        .keys()
        .copied()
        .collect::<Vec<_>>();
    assert!(names.contains(&"Mode"), "{names:?}");
}

#[tokio::test]
async fn adaptive_and_bpf_switch_without_loading_anything_anew() {
    let world = World::start(HEAVY).await;
    let (scheduler, metrics) = (world.scheduler().await, world.metrics().await);
    let slice = async || {
        metrics
            .get_snapshot()
            .await
            .unwrap()
            .knobs
            .get("slice_ns")
            .copied()
    };
    until("HEAVY slices", async || slice().await == Some(4_000_000)).await;
    let mut changes = world.changes().await;

    world.set_mode(mode::BPF).await.unwrap();
    assert_eq!(scheduler.mode().await.unwrap(), mode::BPF);
    until("default slices", async || slice().await == Some(1_000_000)).await;
    assert_eq!(
        scheduler.regime().await.unwrap(),
        "HEAVY",
        "the regime is still observed"
    );

    world.set_mode(mode::ADAPTIVE).await.unwrap();
    until("HEAVY slices again", async || {
        slice().await == Some(4_000_000)
    })
    .await;

    world.set_mode(mode::OFF).await.unwrap();
    // The only change of state is the stop: nothing was loaded anew.
    loop {
        let change = changes.next().await.unwrap();
        if let Some(state) = change.args().unwrap().changed_properties.get("State") {
            assert_eq!(
                String::try_from(state.try_clone().unwrap()).unwrap(),
                state::STOPPED
            );
            break;
        }
    }
}

#[tokio::test]
async fn off_gives_the_kernel_back_and_adaptive_takes_it_again() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    world.set_mode(mode::OFF).await.unwrap();
    assert_eq!(scheduler.state().await.unwrap(), state::STOPPED);
    assert_eq!(scheduler.mode().await.unwrap(), mode::OFF);
    assert_eq!(scheduler.kernel_state().await.unwrap(), "disabled");
    assert_eq!(scheduler.kernel_ops().await.unwrap(), "");
    assert_eq!(scheduler.regime().await.unwrap(), "");
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(scheduler.state().await.unwrap(), state::RUNNING);
    assert_eq!(scheduler.kernel_state().await.unwrap(), "enabled");
}

#[tokio::test]
async fn the_first_mode_comes_from_the_command_line_then_the_configuration() {
    let mut world = World::prepare("").await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    world.launch(&[]).await;
    world.until_state(state::RUNNING).await;
    assert_eq!(world.scheduler().await.mode().await.unwrap(), mode::BPF);

    let mut world = World::prepare("").await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    world.launch(&["--mode", "off"]).await;
    stays("off", async || world.state().await == state::STOPPED).await;
}

#[tokio::test]
async fn an_unknown_mode_or_option_is_a_typed_error() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let error = world.set_mode("turbo\x1b[2J").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidMode));
    let sentence = pandemonium_api::explain(&error);
    assert!(
        sentence.contains("adaptive") && !sentence.contains('\x1b'),
        "{sentence}"
    );

    let options = HashMap::from([("force", true.into())]);
    let error = world
        .scheduler()
        .await
        .set_mode(mode::BPF, options)
        .await
        .unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    assert!(pandemonium_api::explain(&error).contains("force"));
    assert_eq!(
        world.scheduler().await.mode().await.unwrap(),
        mode::ADAPTIVE
    );
    assert!(
        world.polkit.questions().is_empty(),
        "nobody is asked for a password for nonsense"
    );
}

#[tokio::test]
async fn readers_are_answered_while_the_scheduler_is_being_loaded() {
    let world = World::start("attach_ms = 3000").await;
    // The daemon answered within the first attach, or this would be "running" already.
    assert_eq!(world.state().await, state::STARTING);
    world.until_state(state::RUNNING).await;
}

#[tokio::test]
async fn unreadable_counters_do_not_end_the_scheduler() {
    let world = World::start("[[step]]\nread_error = true\nticks = 10\n[[step]]\n").await;
    world.until_state(state::RUNNING).await;
    let metrics = world.metrics().await;
    until("numbers are back", async || {
        metrics.sampled_usec().await.unwrap() > 0
    })
    .await;
    assert_eq!(world.state().await, state::RUNNING);
}

#[tokio::test]
async fn the_snapshot_has_every_knob_and_counter() {
    let world = World::start(&format!("{HEAVY}count = {{ boosts = 7 }}\n")).await;
    let metrics = world.metrics().await;
    until("a full tick", async || {
        metrics.p99_nsec().await.unwrap() > 0
    })
    .await;
    let snapshot = metrics.get_snapshot().await.unwrap();
    for spec in pandemonium_policy::Knobs::SPECS {
        assert!(snapshot.knobs.contains_key(spec.name), "{}", spec.name);
    }
    assert_eq!(snapshot.counter("dispatches"), 90_000);
    assert!(snapshot.totals["dispatches"] > 90_000);
    assert_eq!(snapshot.dispatches_per_sec, 90_000);
    assert_eq!(snapshot.effective_slice_nsec, Some(2_000_000));
    assert_eq!(snapshot.online_cpus, 4);
    assert_eq!(snapshot.interactive_running, 1);
    assert_eq!(snapshot.counter("boosts"), 7);
    assert!(snapshot.totals.contains_key("strong_waits"));
    assert_eq!(snapshot.idle_permille, 20);
    let (batch, interactive, critical) = metrics.p99_by_tier_nsec().await.unwrap();
    assert!(batch > interactive && interactive > critical && critical > 0);
}

#[tokio::test]
async fn a_reload_applies_the_configuration_and_a_wrong_one_changes_nothing() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    world.signal(Signal::HUP);
    until("bpf", async || scheduler.mode().await.unwrap() == mode::BPF).await;
    std::fs::write(world.path("config.toml"), "mode = \"warp\"").unwrap();
    world.signal(Signal::HUP);
    stays("bpf", async || scheduler.mode().await.unwrap() == mode::BPF).await;
    let warnings = async || scheduler.warnings().await.unwrap();
    let said = warnings().await.concat();
    assert!(
        said.contains("config.toml:1:") && said.contains("stays as it was"),
        "{said}"
    );
    world.signal(Signal::HUP);
    stays("said once", async || warnings().await.len() == 1).await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    world.signal(Signal::HUP);
    until("nothing is wrong", async || warnings().await.is_empty()).await;
}

/// A daemon that is off, and whose new configuration wants what cannot be loaded.
async fn with_a_mode_that_fails() -> World {
    let mut world = World::prepare("foreign = \"scx_other\"").await;
    std::fs::write(world.path("config.toml"), "mode = \"off\"").unwrap();
    world.launch(&[]).await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    let error = world.scheduler().await.reload().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::ForeignScheduler));
    world
}

#[tokio::test]
async fn a_configured_mode_that_fails_is_tried_again_at_the_next_reload() {
    let world = with_a_mode_that_fails().await;
    let scheduler = world.scheduler().await;
    let warnings = async || scheduler.warnings().await.unwrap();
    let told = warnings().await;
    assert_eq!(told.len(), 1, "{told:?}");
    let error = scheduler.reload().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::ForeignScheduler));
    assert_eq!(warnings().await, told);
    // A program that holds it off meanwhile has not made the configured mode so.
    drop(scheduler.hold(mode::OFF, "", "backup").await.unwrap());
    scheduler.reload().await.unwrap_err();
    world.script("");
    scheduler.reload().await.unwrap();
    assert_eq!(scheduler.mode().await.unwrap(), mode::BPF);
    assert!(warnings().await.is_empty());
}

#[tokio::test]
async fn a_configured_mode_that_failed_is_forgotten_when_somebody_decides_otherwise() {
    for decided in [mode::OFF, mode::ADAPTIVE] {
        let world = with_a_mode_that_fails().await;
        let scheduler = world.scheduler().await;
        world.script("");
        world.set_mode(decided).await.unwrap();
        let warnings = scheduler.warnings().await.unwrap();
        assert!(warnings.is_empty(), "{decided}: {warnings:?}");
        scheduler.reload().await.unwrap();
        assert_eq!(scheduler.mode().await.unwrap(), decided);
    }
}

#[tokio::test]
async fn the_warning_of_a_failed_reload_goes_when_the_scheduler_is_loaded_another_way() {
    let world = with_a_mode_that_fails().await;
    let scheduler = world.scheduler().await;
    world.script("");
    scheduler.start().await.unwrap();
    assert_eq!(scheduler.mode().await.unwrap(), mode::BPF);
    assert!(scheduler.warnings().await.unwrap().is_empty());
}

#[tokio::test]
async fn comes_back_when_the_bus_does() {
    let mut world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.bus.restart();
    world.client = world.bus.connect().await;
    world.wait_for_daemon().await;
    assert_eq!(world.state().await, state::RUNNING);
    assert_eq!(
        world.scheduler().await.restart_count().await.unwrap(),
        0,
        "scheduling went on"
    );
}
