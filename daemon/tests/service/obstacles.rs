//! What stands in the way of a start.

use pandemonium_api::{BusError, mode, state};

use crate::harness::{World, stays, until};

#[tokio::test]
async fn a_foreign_scheduler_is_left_alone_and_the_kernel_taken_only_on_request() {
    let world = World::start("foreign = \"scx_other\"").await;
    world.until_state(state::CONFLICT).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.kernel_ops().await.unwrap(), "scx_other");
    assert_eq!(scheduler.mode().await.unwrap(), mode::OFF);
    assert!(
        scheduler
            .state_reason()
            .await
            .unwrap()
            .contains("scx_other")
    );
    let error = world.set_mode(mode::ADAPTIVE).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::ForeignScheduler));

    world.script("foreign = \"scx_other\"\nforeign_leaves = true");
    until("the kernel takes it off", async || {
        scheduler.kernel_state().await.unwrap() == "disabling"
    })
    .await;
    stays("in the way until it has gone", async || {
        world.state().await == state::CONFLICT
    })
    .await;

    world.script("");
    world.until_state(state::STOPPED).await;
    stays("free, but not taken", async || {
        world.state().await == state::STOPPED
    })
    .await;
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
}

#[tokio::test]
async fn a_kernel_without_sched_ext_is_said_so() {
    let world = World::start("unsupported = true").await;
    world.until_state(state::UNSUPPORTED).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.kernel_state().await.unwrap(), "unavailable");
    assert!(
        scheduler
            .state_reason()
            .await
            .unwrap()
            .contains("CONFIG_SCHED_CLASS_EXT")
    );
    let error = world.set_mode(mode::BPF).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::NotSupported));
    assert_eq!(world.state().await, state::UNSUPPORTED);
}

#[tokio::test]
async fn a_refused_load_is_tried_again_a_missing_permission_is_not() {
    let world = World::start("attach = [\"load\", \"load\"]").await;
    world.until_state(state::RUNNING).await;
    assert_eq!(world.scheduler().await.restart_count().await.unwrap(), 1);

    let world = World::start("attach = [\"permission\", \"permission\"]").await;
    world.until_state(state::STOPPED).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.next_retry_usec().await.unwrap(), 0);
    assert!(scheduler.state_reason().await.unwrap().contains("CAP_BPF"));
    let error = world.set_mode(mode::ADAPTIVE).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::LoadFailed));
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(world.state().await, state::RUNNING);
}

#[tokio::test]
async fn an_earlier_daemons_leftover_is_waited_for() {
    const SLOW: &str = "tick_ms = 20\nbackoff_ms = 1000\n";
    let world = World::start(&format!("{SLOW}foreign = \"pandemonium\"")).await;
    world.until_state(state::CONFLICT).await;
    let scheduler = world.scheduler().await;
    until("a return is planned", async || {
        scheduler.next_retry_usec().await.unwrap() > 0
    })
    .await;
    world.script(SLOW);
    world.until_state(state::RUNNING).await;
}
