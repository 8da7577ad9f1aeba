//! Programs that hold a mode for as long as they keep a descriptor.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use futures_util::StreamExt;
use pandemonium_api::{
    BUS_NAME, BusError, HoldRow, ModeOptions, OBJECT_PATH, SCHEDULER_INTERFACE, action, mode, state,
};
use zbus::Connection;

use crate::harness::{World, stays, until};
use crate::pretended_polkit::Answer;

async fn running(script: &str) -> World {
    let world = World::start(script).await;
    world.until_state(state::RUNNING).await;
    world
}

async fn hold(world: &World, mode: &str, application: &str) -> zbus::Result<OwnedFd> {
    let scheduler = world.scheduler().await;
    let held = scheduler.hold(mode, "a test", application).await?;
    Ok(held.into())
}

async fn mode_of(world: &World) -> String {
    world.scheduler().await.mode().await.unwrap()
}

async fn applications(world: &World) -> Vec<String> {
    let holds = world.scheduler().await.holds().await.unwrap();
    holds.into_iter().map(|hold| hold.application).collect()
}

#[tokio::test]
async fn the_newest_hold_is_in_effect_and_the_wish_comes_back() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    let first = hold(&world, mode::OFF, "first").await.unwrap();
    assert_eq!(mode_of(&world).await, mode::OFF);
    let second = hold(&world, mode::BPF, "second").await.unwrap();
    assert_eq!(mode_of(&world).await, mode::BPF);
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(
        scheduler.mode_reason().await.unwrap(),
        format!("hold of second for user {uid}: a test")
    );
    let holds = scheduler.holds().await.unwrap();
    let expected = |hold: &HoldRow, mode: &str, application: &str| HoldRow {
        mode: mode.to_owned(),
        application: application.to_owned(),
        reason: "a test".to_owned(),
        uid,
        usec: hold.usec,
    };
    assert_eq!(holds.len(), 2);
    assert_eq!(holds[0], expected(&holds[0], mode::OFF, "first"));
    assert_eq!(holds[1], expected(&holds[1], mode::BPF, "second"));
    assert!(holds[0].usec > 0 && holds[0].usec <= holds[1].usec);

    drop(second);
    until("the older one is in effect", async || {
        mode_of(&world).await == mode::OFF
    })
    .await;
    assert_eq!(applications(&world).await, ["first"]);
    drop(first);
    until("the wish is back", async || {
        mode_of(&world).await == mode::ADAPTIVE
    })
    .await;
    assert!(applications(&world).await.is_empty());
    assert_eq!(scheduler.mode_reason().await.unwrap(), "boot");
}

#[tokio::test]
async fn a_hold_lasts_while_any_copy_of_the_descriptor_is_open() {
    let world = running("").await;
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    let copy = held.try_clone().unwrap();
    drop(held);
    stays("held", async || mode_of(&world).await == mode::BPF).await;
    drop(copy);
    until("released", async || mode_of(&world).await == mode::ADAPTIVE).await;
}

#[tokio::test]
async fn a_caller_that_leaves_the_bus_keeps_its_hold_until_the_descriptor_closes() {
    let world = running("").await;
    let other = world.bus.connect().await;
    let proxy = pandemonium_api::Scheduler1Proxy::new(&other).await.unwrap();
    let held = proxy.hold(mode::BPF, "", "game").await.unwrap();
    drop(proxy);
    other.close().await.unwrap();
    stays("held", async || mode_of(&world).await == mode::BPF).await;
    drop(held);
    until("released", async || applications(&world).await.is_empty()).await;
}

/// Calls Hold and leaves the bus before the answer.
#[tokio::test]
async fn a_caller_that_vanishes_before_the_answer_holds_nothing() {
    let world = running("").await;
    world.polkit.answer(Answer::Hang);
    let leaver: Connection = world.bus.connect().await;
    let call = leaver.clone();
    let call = tokio::spawn(async move {
        let body = (mode::BPF, "", "game");
        let interface = Some(SCHEDULER_INTERFACE);
        call.call_method(Some(BUS_NAME), OBJECT_PATH, interface, "Hold", &body)
            .await
    });
    until("it waits", async || world.polkit.questions().len() == 1).await;
    call.abort();
    let _ = call.await;
    leaver.close().await.unwrap();
    world.polkit.release();
    stays("nothing is held for long", async || {
        mode_of(&world).await == mode::ADAPTIVE
    })
    .await;
    assert!(applications(&world).await.is_empty());
}

#[tokio::test]
async fn a_request_for_a_mode_cancels_all_holds_and_says_so_twice() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    let mut signals = scheduler.receive_holds_cancelled().await.unwrap();
    let on_trial = ModeOptions {
        persist: false,
        confirm_seconds: Some(600),
    };
    for how in ["mode", "trial", "stop", "configuration"] {
        let mut held = std::fs::File::from(hold(&world, mode::BPF, how).await.unwrap());
        match how {
            "mode" => world.set_mode(mode::ADAPTIVE).await.unwrap(),
            "trial" => {
                let options = on_trial.to_options();
                scheduler.set_mode(mode::ADAPTIVE, options).await.unwrap();
            }
            "stop" => scheduler.stop().await.unwrap(),
            _ => {
                std::fs::write(world.path("config.toml"), "mode = \"off\"").unwrap();
                scheduler.reload().await.unwrap();
            }
        }
        assert!(applications(&world).await.is_empty(), "{how}");
        assert_ne!(mode_of(&world).await, mode::BPF, "{how}");
        let signal = signals.next().await.unwrap();
        let args = signal.args().unwrap();
        assert_eq!(args.holds.len(), 1, "{how}");
        assert_eq!(args.holds[0].application, how);
        assert!(!args.by.is_empty());
        let mut nothing = [0];
        assert_eq!(held.read(&mut nothing).unwrap(), 0, "the end of the file");
    }
}

#[tokio::test]
async fn a_hold_is_on_top_of_a_stop_and_of_what_goes_back() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    scheduler.stop().await.unwrap();
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    assert_eq!(mode_of(&world).await, mode::BPF);
    drop(held);
    world.until_state(state::STOPPED).await;

    let options = ModeOptions {
        persist: false,
        confirm_seconds: Some(600),
    };
    let options = options.to_options();
    scheduler.set_mode(mode::ADAPTIVE, options).await.unwrap();
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    scheduler.revert().await.unwrap();
    assert_eq!(mode_of(&world).await, mode::BPF);
    drop(held);
    world.until_state(state::STOPPED).await;
}

#[tokio::test]
async fn what_the_kernel_refuses_is_not_held() {
    let world = running("").await;
    world.set_mode(mode::OFF).await.unwrap();
    world.script("foreign = \"scx_other\"");
    let error = hold(&world, mode::BPF, "game").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::ForeignScheduler));
    assert!(applications(&world).await.is_empty());
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn what_the_administrator_ended_is_not_loaded_by_the_end_of_a_hold() {
    let world = running("").await;
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    world.script("[[step]]\nexit = { kind = \"sysrq\" }\n");
    world.until_state(state::EJECTED).await;
    world.script("");
    drop(held);
    until("released", async || applications(&world).await.is_empty()).await;
    stays("ended", async || world.state().await == state::EJECTED).await;
}

/// A program holds it off and lets go: what had ended is shown again, and nothing is loaded.
async fn stays_ended_through_a_hold_of_off(world: &World, ended: &str) {
    let scheduler = world.scheduler().await;
    let sentence = scheduler.state_reason().await.unwrap();
    let held = hold(world, mode::OFF, "backup").await.unwrap();
    assert_eq!(world.state().await, state::STOPPED);
    drop(held);
    until("released", async || applications(world).await.is_empty()).await;
    stays("ended", async || world.state().await == ended).await;
    assert_eq!(scheduler.state_reason().await.unwrap(), sentence);
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
}

#[tokio::test]
async fn what_the_administrator_ended_is_not_loaded_by_the_end_of_a_hold_of_off() {
    let world = running("[[step]]\nticks = 5\n[[step]]\nexit = { kind = \"sysrq\" }\n").await;
    world.until_state(state::EJECTED).await;
    world.script("");
    stays_ended_through_a_hold_of_off(&world, state::EJECTED).await;
    // Twice, since the first hold must not have forgotten it.
    stays_ended_through_a_hold_of_off(&world, state::EJECTED).await;

    // A hold of another mode asks for one.
    let off = hold(&world, mode::OFF, "backup").await.unwrap();
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
    drop((held, off));
    until("the wish is back", async || {
        mode_of(&world).await == mode::ADAPTIVE
    })
    .await;
}

#[tokio::test]
async fn what_was_given_up_is_not_loaded_by_the_end_of_a_hold_of_off_but_by_a_start() {
    let exit = "[[step]]\nexit = { kind = \"error\", retry = true }\n";
    let world = World::start(&exit.repeat(9)).await;
    let scheduler = world.scheduler().await;
    until("it gave up", async || {
        let reason = scheduler.state_reason().await.unwrap();
        reason.contains("fifth failure")
    })
    .await;
    world.script("");
    stays_ended_through_a_hold_of_off(&world, state::EJECTED).await;

    let held = hold(&world, mode::OFF, "backup").await.unwrap();
    scheduler.start().await.unwrap();
    assert_eq!(mode_of(&world).await, mode::OFF);
    drop(held);
    world.until_state(state::RUNNING).await;
}

#[tokio::test]
async fn what_could_not_be_loaded_is_not_tried_again_by_the_end_of_a_hold_of_off() {
    let world = World::start("attach = [\"permission\"]").await;
    world.until_state(state::STOPPED).await;
    stays_ended_through_a_hold_of_off(&world, state::STOPPED).await;
}

#[tokio::test]
async fn a_hold_that_was_refused_does_not_keep_off_what_ran_before() {
    let world = running("").await;
    let off = hold(&world, mode::OFF, "backup").await.unwrap();
    world.script("foreign = \"scx_other\"");
    hold(&world, mode::BPF, "game").await.unwrap_err();
    world.script("");
    drop(off);
    world.until_state(state::RUNNING).await;
}

#[tokio::test]
async fn holds_are_few() {
    let world = running("").await;
    let mut held = Vec::new();
    for n in 0..8 {
        held.push(hold(&world, mode::BPF, &format!("game {n}")).await.unwrap());
    }
    let error = hold(&world, mode::BPF, "one too many").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::LimitsExceeded));
    held.pop();
    until("there is room", async || {
        applications(&world).await.len() == 7
    })
    .await;
    held.push(hold(&world, mode::BPF, "game 8").await.unwrap());
    assert_eq!(applications(&world).await.len(), 8);
}

#[tokio::test]
async fn what_a_program_says_about_itself_is_capped_and_printable() {
    let world = running("").await;
    let scheduler = world.scheduler().await;
    let application = format!("a\x1b[2J\n{}", "x".repeat(1 << 20));
    let reason = format!("\u{202e}b{}", "y".repeat(1 << 20));
    let held = scheduler.hold(mode::BPF, &reason, &application).await;
    let held = held.unwrap();
    let holds = scheduler.holds().await.unwrap();
    let expected = format!("a\\x1b[2J\\x0a{}", "x".repeat(64 - 6));
    assert_eq!(holds[0].application, expected);
    let expected = format!("\\xe2\\x80\\xaeb{}", "y".repeat(256 - 4));
    assert_eq!(holds[0].reason, expected);
    drop(held);
    let error = scheduler.hold(mode::BPF, "", "").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    let error = scheduler.hold("turbo", "", "game").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidMode));
}

#[tokio::test]
async fn nothing_can_be_written_to_the_descriptor() {
    let world = running("").await;
    let mut held = std::fs::File::from(hold(&world, mode::BPF, "game").await.unwrap());
    // EBADF, which has no kind of its own: it is not open for writing.
    let error = held.write(b"x").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(9), "{error}");
    assert_eq!(applications(&world).await, ["game"]);
}

#[tokio::test]
async fn holding_is_an_action_of_its_own() {
    let world = running("").await;
    world.polkit.answer(Answer::Deny);
    let error = hold(&world, mode::BPF, "game").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert!(applications(&world).await.is_empty());
    let questions = world.polkit.questions();
    assert_eq!(questions[0].action, action::HOLD);
    assert_eq!(questions[0].details["mode"], mode::BPF);
    assert_eq!(questions[0].details["application"], "game");
}

#[tokio::test]
async fn a_hold_changes_mode_reason_and_holds_in_one_signal() {
    let world = running("").await;
    let mut changes = world.changes().await;
    let held = hold(&world, mode::BPF, "game").await.unwrap();
    loop {
        let change = changes.next().await.unwrap();
        let args = change.args().unwrap();
        let names = &args.changed_properties;
        if !names.contains_key("Holds") {
            continue;
        }
        for name in ["Mode", "ModeReason"] {
            assert!(names.contains_key(name), "{name} is missing in {names:?}");
        }
        assert!(!names.contains_key("RequestedMode"), "{names:?}");
        break;
    }
    drop(held);
}
