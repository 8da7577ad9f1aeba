//! The kernel ends the scheduler.

use futures_util::StreamExt;
use pandemonium_api::{ModeOptions, mode, state};

use crate::harness::{World, stays, until};

fn exits(count: usize) -> String {
    "[[step]]\nexit = { kind = \"error\", reason = \"again\", retry = true }\n".repeat(count)
}

#[tokio::test]
async fn the_reason_is_published_and_the_scheduler_returns() {
    let mut world = World::prepare("").await;
    world.launch(&["--mode", "off"]).await;
    let scheduler = world.scheduler().await;
    let mut ejections = scheduler.receive_ejected().await.unwrap();
    world.script(
        "[[step]]\nticks = 2\n[[step]]\nexit = { kind = \"error_stall\", code = -5, \
         reason = \"runnable task stall\\u001b\", message = \"cc1 waited\", retry = true }\n",
    );
    world.set_mode(mode::ADAPTIVE).await.unwrap();

    let ejected = ejections.next().await.unwrap();
    let ejected = ejected.args().unwrap();
    assert_eq!((ejected.kind.as_str(), ejected.code), ("error_stall", -5));
    assert!(ejected.will_retry && ejected.next_retry_usec > 0);

    until("it is back", async || {
        scheduler.restart_count().await.unwrap() == 1
    })
    .await;
    assert_eq!(world.state().await, state::RUNNING);
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    let exit = scheduler.last_exit().await.unwrap();
    assert!(exit.usec > 0);
    assert_eq!(exit.kind, "error_stall");
    assert_eq!(exit.code, -5);
    assert_eq!(exit.reason, "runnable task stall\\x1b");
    assert_eq!(exit.message, "cc1 waited");
}

#[tokio::test]
async fn the_administrators_wish_is_respected() {
    let world =
        World::start("[[step]]\nexit = { kind = \"sysrq\", reason = \"disabled by sysrq-S\" }\n")
            .await;
    world.until_state(state::EJECTED).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    assert_eq!(scheduler.kernel_state().await.unwrap(), "disabled");
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
    assert_eq!(scheduler.mode().await.unwrap(), mode::OFF);
    stays("ejected", async || world.state().await == state::EJECTED).await;
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
    assert_eq!(
        scheduler.last_exit().await.unwrap().kind,
        "sysrq",
        "the past stays visible"
    );
}

#[tokio::test]
async fn gives_up_at_the_fifth_failure() {
    let world = World::start(&exits(9)).await;
    let scheduler = world.scheduler().await;
    until("four returns", async || {
        scheduler.restart_count().await.unwrap() == 4
    })
    .await;
    until("it gave up", async || {
        world.state().await == state::EJECTED && scheduler.next_retry_usec().await.unwrap() == 0
    })
    .await;
    assert!(
        scheduler
            .state_reason()
            .await
            .unwrap()
            .contains("fifth failure")
    );
    stays("quiet", async || {
        scheduler.restart_count().await.unwrap() == 4
    })
    .await;
    world.script("");
    world.set_mode(mode::BPF).await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
}

#[tokio::test]
async fn a_scheduler_loaded_meanwhile_ends_the_attempts_to_return() {
    let script = "tick_ms = 20\nbackoff_ms = 600000\n\
                  [[step]]\nexit = { kind = \"error\", retry = true }\n";
    let world = World::start(script).await;
    world.until_state(state::EJECTED).await;
    assert!(world.scheduler().await.next_retry_usec().await.unwrap() > 0);
    world.script("foreign = \"scx_other\"");
    world.until_state(state::CONFLICT).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    assert_eq!(scheduler.kernel_ops().await.unwrap(), "scx_other");
}

#[tokio::test]
async fn off_cancels_the_return() {
    let world = World::start(&exits(1)).await;
    let scheduler = world.scheduler().await;
    until("it was ejected", async || {
        scheduler.last_exit().await.unwrap().is_some()
    })
    .await;
    world.set_mode(mode::OFF).await.unwrap();
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    stays("off", async || world.state().await == state::STOPPED).await;
}

#[tokio::test]
async fn what_the_administrator_ended_is_not_loaded_when_an_unconfirmed_off_goes_back() {
    let world = World::start("[[step]]\nexit = { kind = \"sysrq\" }\n").await;
    world.until_state(state::EJECTED).await;
    world.script("");
    let scheduler = world.scheduler().await;
    let sentence = scheduler.state_reason().await.unwrap();
    let on_trial = ModeOptions {
        persist: false,
        confirm_seconds: Some(600),
    };
    let options = on_trial.to_options();
    scheduler.set_mode(mode::OFF, options).await.unwrap();
    assert_eq!(world.state().await, state::STOPPED);
    scheduler.revert().await.unwrap();
    stays("ended", async || world.state().await == state::EJECTED).await;
    assert_eq!(scheduler.state_reason().await.unwrap(), sentence);
    scheduler.start().await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
}
