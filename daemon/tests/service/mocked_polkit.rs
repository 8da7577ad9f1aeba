//! A polkit that denies, is slow or hangs, as python-dbusmock plays it. What is asked, and that a question is
//! taken back, it does not show; polkit.rs holds that.

use std::collections::HashMap;

use pandemonium_api::{BUS_NAME, BusError, OBJECT_PATH, SCHEDULER_INTERFACE, action, mode, state};
use zbus::Variant;
use zbus::fdo::DBusProxy;

use crate::dbusmock::{Mock, Service};
use crate::harness::{SERVICES, World, stays, until};

/// A running scheduler, and a polkit that denies everything until it is told otherwise.
async fn world() -> (World, Mock) {
    let mut world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.stop_polkit().await;
    let polkit = Mock::start(&world, Service::Polkit, "{}").await;
    (world, polkit)
}

#[tokio::test]
async fn what_is_denied_is_not_done_and_what_is_allowed_is() {
    let (world, polkit) = world().await;
    let scheduler = world.scheduler().await;
    let is_denied = |result: zbus::Result<()>| {
        BusError::of(&result.unwrap_err()) == Some(BusError::AccessDenied)
    };
    let hold = async || scheduler.hold(mode::BPF, "", "game").await;
    assert!(is_denied(world.set_mode(mode::OFF).await));
    assert!(is_denied(hold().await.map(drop)));
    assert!(is_denied(scheduler.set_idle_selector(false).await));

    polkit.tell("SetAllowed", &vec![action::HOLD]).await;
    assert!(is_denied(world.set_mode(mode::OFF).await));
    assert!(is_denied(scheduler.set_idle_selector(false).await));
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
    assert_eq!(scheduler.mode().await.unwrap(), mode::ADAPTIVE);
    let held = hold().await.unwrap();
    assert_eq!(scheduler.mode().await.unwrap(), mode::BPF);
    drop(held);

    polkit.tell("AllowUnknown", &true).await;
    world.set_mode(mode::OFF).await.unwrap();
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn a_slow_polkit_is_waited_for_and_holds_up_nobody_else() {
    let (world, polkit) = world().await;
    polkit.tell("AllowUnknown", &true).await;
    polkit.tell("SetDelay", &1.0).await;
    let asking = world.scheduler().await;
    let call = tokio::spawn(async move { asking.set_mode(mode::OFF, HashMap::new()).await });
    let (metrics, mut reads) = (world.metrics().await, 0);
    while !call.is_finished() {
        metrics.get_snapshot().await.unwrap();
        reads += 1;
    }
    call.await.unwrap().unwrap();
    // A reader that waited for the same answer would have been served once or twice.
    assert!(reads > 10, "{reads} reads while polkit thought about it");
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn a_polkit_that_takes_longer_to_start_than_to_answer_is_waited_for() {
    let mut world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.stop_polkit().await;
    let (script, service) = (world.path("polkit.sh"), Service::Polkit.name());
    // It denies everything. Its end is not ours to see to: the bus has started it.
    let starting = "sleep 6\nexport DBUS_SYSTEM_BUS_ADDRESS=$DBUS_STARTER_ADDRESS\n\
                    exec timeout 60 python3 -m dbusmock --system --template polkitd >/dev/null\n";
    std::fs::write(&script, starting).unwrap();
    let described = format!(
        "[D-BUS Service]\nName={service}\nExec=/bin/sh {}\n",
        script.display()
    );
    let file = world.path(SERVICES).join(format!("{service}.service"));
    std::fs::write(file, described).unwrap();
    let bus = DBusProxy::new(&world.client).await.unwrap();
    bus.reload_config().await.unwrap();

    // Without the flag that welcomes a dialog, which may take its time.
    let wish = (mode::OFF, HashMap::<&str, Variant<'_>>::new());
    let (name, interface) = (Some(BUS_NAME), Some(SCHEDULER_INTERFACE));
    let call = (world.client).call_method(name, OBJECT_PATH, interface, "SetMode", &wish);
    let refusal = call.await.unwrap_err().to_string();
    assert!(refusal.contains("Not authorized for"), "{refusal}");
}

#[tokio::test]
async fn a_polkit_that_hangs_is_no_permission_and_its_late_answer_counts() {
    let (world, polkit) = world().await;
    polkit.tell("SimulateHang", &true).await;
    polkit.tell("SetAllowed", &vec![action::SET_MODE]).await;
    let asking = world.scheduler().await;
    let dialog = tokio::spawn(async move { asking.set_mode(mode::OFF, HashMap::new()).await });
    until("it waits", async || polkit.has_hanging_calls().await).await;
    stays("nothing is done", async || {
        world.state().await == state::RUNNING && !dialog.is_finished()
    })
    .await;
    polkit.tell("ReleaseHangingCalls", &()).await;
    dialog.await.unwrap().unwrap();
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn a_polkit_that_dies_over_a_question_is_a_refusal() {
    let (mut world, polkit) = world().await;
    polkit.tell("SimulateHang", &true).await;
    let asking = world.scheduler().await;
    let dialog = tokio::spawn(async move { asking.set_mode(mode::OFF, HashMap::new()).await });
    until("it waits", async || polkit.has_hanging_calls().await).await;
    polkit.stop().await;
    let error = dialog.await.unwrap().unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert_eq!(world.state().await, state::RUNNING);
    world.start_polkit().await;
    world.set_mode(mode::OFF).await.unwrap();
}
