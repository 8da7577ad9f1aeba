//! Modes that are remembered, that go back unless confirmed, and the ways to start and stop.

use std::collections::HashMap;

use futures_util::StreamExt;
use pandemonium_api::{BusError, ModeOptions, action, explain, mode, state};
use rustix::process::Signal;
use zbus::Variant;

use crate::harness::{World, stays, until};
use crate::pretended_polkit::Answer;

const PERSIST: ModeOptions = ModeOptions {
    persist: true,
    confirm_seconds: None,
};
/// The shortest that is accepted; 200 ms at the pace of these tests.
const ON_TRIAL: ModeOptions = ModeOptions {
    persist: false,
    confirm_seconds: Some(5),
};
/// Longer than any test.
const LONG_TRIAL: ModeOptions = ModeOptions {
    persist: false,
    confirm_seconds: Some(600),
};

async fn ask(world: &World, mode: &str, options: ModeOptions) -> zbus::Result<()> {
    let scheduler = world.scheduler().await;
    scheduler.set_mode(mode, options.to_options()).await
}

async fn running(script: &str) -> World {
    let world = World::start(script).await;
    world.until_state(state::RUNNING).await;
    world
}

/// Mode, wish, and who decided.
async fn modes(world: &World) -> (String, String, String) {
    let scheduler = world.scheduler().await;
    (
        scheduler.mode().await.unwrap(),
        scheduler.requested_mode().await.unwrap(),
        scheduler.mode_reason().await.unwrap(),
    )
}

fn me() -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("request of user {uid}")
}

async fn restart(world: &mut World, signal: Signal) {
    world.signal(signal);
    world.ended_within(500).await;
    world.launch(&[]).await;
}

#[tokio::test]
async fn who_decided_the_mode_is_said() {
    let world = running("").await;
    let expect = async |mode: &str, wish: &str, why: &str| {
        let expected = (mode.to_owned(), wish.to_owned(), why.to_owned());
        assert_eq!(modes(&world).await, expected);
    };
    expect(mode::ADAPTIVE, mode::ADAPTIVE, "boot").await;
    world.set_mode(mode::BPF).await.unwrap();
    expect(mode::BPF, mode::BPF, &me()).await;
    std::fs::write(world.path("config.toml"), "mode = \"off\"").unwrap();
    world.scheduler().await.reload().await.unwrap();
    expect(mode::OFF, mode::OFF, "configuration").await;
    world.script("foreign = \"scx_other\"");
    world.set_mode(mode::BPF).await.unwrap_err();
    expect(mode::OFF, mode::BPF, state::CONFLICT).await;
}

#[tokio::test]
async fn a_remembered_mode_is_that_of_the_next_start_until_the_configuration_changes() {
    let mut world = running("").await;
    ask(&world, mode::OFF, PERSIST).await.unwrap();
    world.set_mode(mode::BPF).await.unwrap();
    let boot_mode = async |world: &World| world.scheduler().await.boot_mode().await.unwrap();
    assert_eq!(boot_mode(&world).await, mode::OFF);
    restart(&mut world, Signal::KILL).await;
    assert_eq!(modes(&world).await.1, mode::OFF);
    assert_eq!(boot_mode(&world).await, mode::OFF);

    std::fs::write(world.path("config.toml"), "mode = \"bpf\"").unwrap();
    world.scheduler().await.reload().await.unwrap();
    assert_eq!(boot_mode(&world).await, mode::BPF, "decided last");
    restart(&mut world, Signal::TERM).await;
    assert_eq!(modes(&world).await.1, mode::BPF);

    ask(&world, mode::ADAPTIVE, PERSIST).await.unwrap();
    world.signal(Signal::TERM);
    world.ended_within(500).await;
    world.launch(&["--mode", "off"]).await;
    assert_eq!(boot_mode(&world).await, mode::OFF, "an option wins");
}

#[tokio::test]
async fn a_change_of_the_boot_mode_is_announced() {
    let world = running("").await;
    let mut changes = world.changes().await;
    ask(&world, mode::ADAPTIVE, PERSIST).await.unwrap();
    ask(&world, mode::BPF, PERSIST).await.unwrap();
    loop {
        let change = changes.next().await.unwrap();
        let args = change.args().unwrap();
        if let Some(boot_mode) = args.changed_properties.get("BootMode") {
            let boot_mode = String::try_from(boot_mode.try_clone().unwrap()).unwrap();
            assert_eq!(boot_mode, mode::BPF, "only what changed");
            break;
        }
    }
}

#[tokio::test]
async fn what_cannot_be_remembered_is_not_done() {
    let world = running("").await;
    let state = world.path("state");
    let _ = std::fs::remove_dir_all(&state);
    std::fs::write(&state, "in the way").unwrap();
    let error = ask(&world, mode::OFF, PERSIST).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::NotSaved));
    assert_eq!(modes(&world).await.1, mode::ADAPTIVE);

    let both = ModeOptions {
        persist: true,
        ..LONG_TRIAL
    };
    ask(&world, mode::OFF, both).await.unwrap();
    let scheduler = world.scheduler().await;
    let error = scheduler.confirm().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::NotSaved));
    assert_ne!(
        scheduler.confirm_usec().await.unwrap(),
        0,
        "it goes on waiting"
    );
    std::fs::remove_file(&state).unwrap();
    scheduler.confirm().await.unwrap();
    assert_eq!(scheduler.boot_mode().await.unwrap(), mode::OFF);
    assert_eq!(scheduler.confirm_usec().await.unwrap(), 0);
}

#[tokio::test]
async fn a_damaged_memory_is_one_warning_and_set_aside() {
    let mut world = World::prepare("").await;
    std::fs::create_dir(world.path("state")).unwrap();
    std::fs::write(world.path("state/state.toml"), "mode = \x01").unwrap();
    world.launch(&[]).await;
    world.until_state(state::RUNNING).await;
    let warnings = world.scheduler().await.warnings().await.unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("state.toml"), "{warnings:?}");
    let kept = std::fs::read(world.path("state/state.toml.corrupt-1")).unwrap();
    assert_eq!(kept, b"mode = \x01");
    ask(&world, mode::BPF, PERSIST).await.unwrap();
    restart(&mut world, Signal::TERM).await;
    assert_eq!(modes(&world).await.1, mode::BPF);
    assert!(world.scheduler().await.warnings().await.unwrap().is_empty());
}

#[tokio::test]
async fn remembering_takes_the_right_to_configure() {
    let world = running("").await;
    world.set_mode(mode::BPF).await.unwrap();
    ask(&world, mode::OFF, PERSIST).await.unwrap();
    let both = ModeOptions {
        persist: true,
        ..LONG_TRIAL
    };
    ask(&world, mode::BPF, both).await.unwrap();
    let scheduler = world.scheduler().await;
    scheduler.confirm().await.unwrap();
    ask(&world, mode::OFF, LONG_TRIAL).await.unwrap();
    scheduler.confirm().await.unwrap();
    let asked: Vec<_> = world
        .polkit
        .questions()
        .into_iter()
        .map(|question| (question.action, question.details["mode"].clone()))
        .collect();
    let expected = [
        (action::SET_MODE, mode::BPF),
        (action::CONFIGURE, mode::OFF),
        (action::CONFIGURE, mode::BPF),
        (action::CONFIGURE, mode::BPF),
        (action::SET_MODE, mode::OFF),
        (action::SET_MODE, mode::OFF),
    ]
    .map(|(action, mode)| (action.to_owned(), mode.to_owned()));
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn a_confirmation_is_for_the_mode_that_was_authorised() {
    let world = running("").await;
    ask(&world, mode::BPF, LONG_TRIAL).await.unwrap();
    world.polkit.answer(Answer::Hang);
    let waiting = world.scheduler().await;
    let before = world.polkit.questions().len();
    let confirm = tokio::spawn(async move { waiting.confirm().await });
    until("it waits", async || world.polkit.questions().len() > before).await;
    // The same mode, but confirming it would now outlast the daemon.
    world.polkit.answer(Answer::Allow);
    let both = ModeOptions {
        persist: true,
        ..LONG_TRIAL
    };
    ask(&world, mode::BPF, both).await.unwrap();
    world.polkit.release();
    let error = confirm.await.unwrap().unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::Busy));
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.boot_mode().await.unwrap(), mode::ADAPTIVE);
    assert_ne!(scheduler.confirm_usec().await.unwrap(), 0);
}

#[tokio::test]
async fn an_unconfirmed_mode_goes_back_and_says_so() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    let mut reverts = scheduler.receive_reverted().await.unwrap();
    ask(&world, mode::OFF, ON_TRIAL).await.unwrap();
    assert_ne!(scheduler.confirm_usec().await.unwrap(), 0);
    let revert = reverts.next().await.unwrap();
    let args = revert.args().unwrap();
    let told = (args.from.as_str(), args.to.as_str(), args.reason.as_str());
    assert_eq!(told, (mode::OFF, mode::ADAPTIVE, "timeout"));
    world.until_state(state::RUNNING).await;
    let back = (mode::ADAPTIVE, mode::ADAPTIVE, "revert");
    assert_eq!(
        modes(&world).await,
        (back.0.into(), back.1.into(), back.2.into())
    );
    assert_eq!(scheduler.confirm_usec().await.unwrap(), 0);
    let error = scheduler.confirm().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::NotFound));
}

#[tokio::test]
async fn a_confirmed_or_replaced_mode_stays() {
    // Two seconds to confirm in.
    let world = running("tick_ms = 20\nbackoff_ms = 400\n").await;
    let scheduler = world.scheduler().await;
    let metrics = world.metrics().await;
    for replace in [false, true] {
        ask(&world, mode::BPF, ON_TRIAL).await.unwrap();
        let deadline = scheduler.confirm_usec().await.unwrap();
        if replace {
            world.set_mode(mode::BPF).await.unwrap();
        } else {
            scheduler.confirm().await.unwrap();
        }
        until("the time is over", async || {
            metrics.sampled_usec().await.unwrap() > deadline + 200_000
        })
        .await;
        assert_eq!(modes(&world).await.0, mode::BPF);
        let error = scheduler.revert().await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::NotFound));
        world.set_mode(mode::ADAPTIVE).await.unwrap();
    }
}

#[tokio::test]
async fn a_second_trial_goes_back_to_what_was_wanted_before_the_first() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    world.set_mode(mode::BPF).await.unwrap();
    ask(&world, mode::ADAPTIVE, LONG_TRIAL).await.unwrap();
    ask(&world, mode::OFF, LONG_TRIAL).await.unwrap();
    let mut reverts = scheduler.receive_reverted().await.unwrap();
    scheduler.revert().await.unwrap();
    assert_eq!(modes(&world).await.0, mode::BPF, "before the reply");
    let revert = reverts.next().await.unwrap();
    assert_eq!(revert.args().unwrap().reason, "request");
}

#[tokio::test]
async fn a_trial_that_fails_goes_back_at_once() {
    let world = running("").await;
    world.set_mode(mode::OFF).await.unwrap();
    world.script("attach = [\"load\"]");
    let error = ask(&world, mode::ADAPTIVE, LONG_TRIAL).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::LoadFailed));
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::OFF);
    assert_eq!(scheduler.confirm_usec().await.unwrap(), 0);
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    stays("off", async || world.state().await == state::STOPPED).await;
}

#[tokio::test]
async fn an_ejection_takes_the_unconfirmed_mode_back() {
    let world = running("").await;
    world.set_mode(mode::OFF).await.unwrap();
    let scheduler = world.scheduler().await;
    let mut reverts = scheduler.receive_reverted().await.unwrap();
    ask(&world, mode::BPF, LONG_TRIAL).await.unwrap();
    world.script("[[step]]\nexit = { kind = \"error_stall\", retry = true }\n");
    let revert = reverts.next().await.unwrap();
    assert_eq!(revert.args().unwrap().reason, "ejected");
    world.until_state(state::EJECTED).await;
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::OFF);
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    assert_eq!(scheduler.confirm_usec().await.unwrap(), 0);
    world.script("");
    stays("nothing is loaded", async || {
        world.state().await == state::EJECTED
    })
    .await;
}

#[tokio::test]
async fn a_restart_of_the_daemon_forgets_the_unconfirmed_mode() {
    let mut world = running("").await;
    let both = ModeOptions {
        persist: true,
        ..LONG_TRIAL
    };
    ask(&world, mode::BPF, both).await.unwrap();
    restart(&mut world, Signal::KILL).await;
    assert_eq!(modes(&world).await.1, mode::ADAPTIVE);
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.boot_mode().await.unwrap(), mode::ADAPTIVE);
    assert_eq!(scheduler.confirm_usec().await.unwrap(), 0);
}

#[tokio::test]
async fn options_are_checked_before_anybody_is_asked() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    for (key, value) in [
        ("presist", Variant::from(true)),
        ("persist", Variant::from("yes")),
        ("confirm-timeout", Variant::from(4u32)),
        ("confirm-timeout", Variant::from(601u32)),
        ("confirm-timeout", Variant::from(30u64)),
    ] {
        let options = HashMap::from([(key, value)]);
        let error = scheduler.set_mode(mode::OFF, options).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs), "{key}");
        assert!(explain(&error).contains(key), "{error}");
    }
    assert_eq!(modes(&world).await.1, mode::ADAPTIVE);
    assert!(world.polkit.questions().is_empty());
}

#[tokio::test]
async fn a_stop_does_not_forget_the_mode() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    world.set_mode(mode::BPF).await.unwrap();
    scheduler.stop().await.unwrap();
    assert_eq!(world.state().await, state::STOPPED);
    let stopped = (mode::OFF.into(), mode::BPF.into(), me());
    assert_eq!(modes(&world).await, stopped);
    scheduler.start().await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
    assert_eq!(modes(&world).await.0, mode::BPF);

    world.set_mode(mode::OFF).await.unwrap();
    scheduler.start().await.unwrap();
    assert_eq!(
        modes(&world).await.1,
        mode::BPF,
        "the last one other than off"
    );
    let modes: Vec<_> = world
        .polkit
        .questions()
        .iter()
        .map(|question| question.details["mode"].clone())
        .collect();
    assert_eq!(modes, ["bpf", "off", "bpf", "off", "bpf"]);
}

#[tokio::test]
async fn a_stop_takes_an_unconfirmed_mode_back_first() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    let mut reverts = scheduler.receive_reverted().await.unwrap();
    ask(&world, mode::BPF, LONG_TRIAL).await.unwrap();
    scheduler.stop().await.unwrap();
    let revert = reverts.next().await.unwrap();
    assert_eq!(revert.args().unwrap().reason, "stopped");
    assert_eq!(modes(&world).await.0, mode::OFF);
    scheduler.start().await.unwrap();
    assert_eq!(modes(&world).await.0, mode::ADAPTIVE);
}

#[tokio::test]
async fn a_restart_loads_anew_and_a_start_does_not() {
    let world = running("").await;
    let record = world.path("record");
    world.script(&format!("record = {record:?}"));
    let attached = || {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        text.lines().filter(|line| *line == "attach").count()
    };
    let scheduler = world.scheduler().await;
    scheduler.start().await.unwrap();
    assert_eq!(attached(), 0);
    scheduler.restart().await.unwrap();
    assert_eq!(attached(), 1);
    scheduler.stop().await.unwrap();
    scheduler.restart().await.unwrap();
    assert_eq!(
        (attached(), world.state().await.as_str()),
        (2, state::RUNNING)
    );
}

#[tokio::test]
async fn a_start_that_fails_says_why() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    scheduler.stop().await.unwrap();
    world.script("foreign = \"scx_other\"");
    let error = scheduler.start().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::ForeignScheduler));
    assert_eq!(world.state().await, state::CONFLICT);
}

#[tokio::test]
async fn a_wrong_configuration_is_told_to_whoever_reloads_it() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"\nmdoe = 1\n").unwrap();
    let error = scheduler.reload().await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidConfig));
    let sentence = explain(&error);
    assert!(
        sentence.contains("config.toml:2") && sentence.contains("mdoe"),
        "{sentence}"
    );
    assert_eq!(modes(&world).await.1, mode::ADAPTIVE);
    std::fs::write(world.path("config.toml"), "mode = \"bpf\"\n").unwrap();
    scheduler.reload().await.unwrap();
    assert_eq!(modes(&world).await.0, mode::BPF);
    assert_eq!(world.polkit.questions()[0].action, action::CONFIGURE);
}

#[tokio::test]
async fn who_may_not_switch_may_do_none_of_it() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    ask(&world, mode::BPF, LONG_TRIAL).await.unwrap();
    world.polkit.answer(Answer::Deny);
    for result in [
        scheduler.confirm().await,
        scheduler.revert().await,
        scheduler.start().await,
        scheduler.stop().await,
        scheduler.restart().await,
        scheduler.reload().await,
    ] {
        let error = result.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    }
    assert_eq!(modes(&world).await.0, mode::BPF);
    assert_ne!(scheduler.confirm_usec().await.unwrap(), 0);
}

#[tokio::test]
async fn thousands_of_requests_leave_memory_where_it_was() {
    let world = running("").await;
    let requests = async |count: u32| {
        for n in 0..count {
            let mode = if n % 2 == 0 {
                mode::BPF
            } else {
                mode::ADAPTIVE
            };
            let options = match n % 10 {
                0 => PERSIST,
                1 => LONG_TRIAL,
                _ => ModeOptions::default(),
            };
            ask(&world, mode, options).await.unwrap();
        }
        world.resident_kib()
    };
    let before = requests(1_000).await;
    let after = requests(10_000).await;
    // A hundred bytes for each request would be 977 KiB.
    println!("{before} KiB before 10000 requests, {after} KiB after");
    assert!(
        after < before + 512,
        "{before} KiB before 10000 requests, {after} KiB after"
    );
}
