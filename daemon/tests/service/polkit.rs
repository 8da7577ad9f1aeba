//! Denied means not done, and readers are answered whatever polkit does.

use std::collections::HashMap;
use std::time::Duration;

use pandemonium_api::{
    BUS_NAME, BusError, INTERFACES, METRICS_INTERFACE, OBJECT_PATH, Processes1Proxy,
    SCHEDULER_INTERFACE, Scheduler1Proxy, action, mode, state,
};
use roxmltree::{Document, Node, ParsingOptions};
use tokio::task::JoinSet;
use zbus::fdo::PropertiesProxy;
use zbus::{Connection, Variant};

use crate::harness::{World, stays, until};
use crate::pretended_polkit::Answer;

/// Far longer than a read takes on a loaded machine.
const FOR_EVER: Duration = Duration::from_secs(60);
/// So many requests of one user may wait for polkit.
const WAITING_PER_USER: usize = 4;

/// Calls SetMode the way a script does: without allowing a dialog.
async fn set_mode_quietly(client: &Connection, mode: &str) -> zbus::Result<()> {
    let options: HashMap<&str, Variant<'_>> = HashMap::new();
    let body = (mode, options);
    client
        .call_method(
            Some(BUS_NAME),
            OBJECT_PATH,
            Some(SCHEDULER_INTERFACE),
            "SetMode",
            &body,
        )
        .await
        .map(drop)
}

#[tokio::test]
async fn polkit_is_asked_about_the_caller_and_nobody_else() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.set_mode(mode::BPF).await.unwrap();
    set_mode_quietly(&world.client, mode::ADAPTIVE)
        .await
        .unwrap();
    let questions = world.polkit.questions();
    assert_eq!(questions.len(), 2);
    let own_name = world.client.unique_name().map(|name| name.to_string());
    for question in &questions {
        assert_eq!(question.subject_kind, "system-bus-name");
        assert_eq!(question.subject_name, own_name);
        assert_eq!(question.action, action::SET_MODE);
    }
    assert_eq!(questions[0].details["mode"], mode::BPF);
    assert_eq!(questions[0].flags, 1, "the caller allows a dialog");
    assert_eq!(questions[1].flags, 0, "the caller does not");
}

#[tokio::test]
async fn denied_means_not_done() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.polkit.answer(Answer::Deny);
    let error = world.set_mode(mode::OFF).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.state().await.unwrap(), state::RUNNING);
    assert_eq!(scheduler.requested_mode().await.unwrap(), mode::ADAPTIVE);
    let error = world
        .processes()
        .await
        .list(0, 0, HashMap::new())
        .await
        .unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert_eq!(world.polkit.questions()[1].action, action::INSPECT);
}

#[tokio::test]
async fn what_concerns_everybody_is_an_action_of_its_own() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    let before = scheduler.compositors().await.unwrap();
    world.polkit.answer(Answer::Deny);
    for result in [
        scheduler.add_compositor("mywm").await,
        scheduler.remove_compositor("sway").await,
        scheduler.set_primary_domain("0x1").await,
        scheduler.set_idle_selector(false).await,
    ] {
        let error = result.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    }
    assert_eq!(scheduler.compositors().await.unwrap(), before);
    assert_eq!(scheduler.primary_domain().await.unwrap(), "all");
    assert!(scheduler.idle_selector().await.unwrap());
    let questions = world.polkit.questions();
    let expected = [
        ("compositor", "mywm"),
        ("compositor", "sway"),
        ("domain", "0x1"),
        ("idle_selector", "off"),
    ];
    assert_eq!(questions.len(), expected.len());
    for (question, (key, value)) in questions.iter().zip(expected) {
        assert_eq!(question.action, action::CONFIGURE);
        assert_eq!(question.details[key], value);
    }
}

#[tokio::test]
async fn a_caller_without_dialog_is_told_that_one_is_needed() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.polkit.answer(Answer::Challenge);
    let error = set_mode_quietly(&world.client, mode::OFF)
        .await
        .unwrap_err();
    assert_eq!(
        BusError::of(&error),
        Some(BusError::InteractiveAuthorizationRequired)
    );
    let error = world.set_mode(mode::OFF).await.unwrap_err();
    assert_eq!(
        BusError::of(&error),
        Some(BusError::AccessDenied),
        "there was a dialog already"
    );
    assert_eq!(world.state().await, state::RUNNING);
}

#[tokio::test]
async fn readers_are_answered_while_polkit_hangs() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.polkit.answer(Answer::Hang);
    let (client, other) = (world.client.clone(), world.bus.connect().await);
    let quiet = tokio::spawn(async move { set_mode_quietly(&client, mode::OFF).await });
    let waiting = world.scheduler().await;
    let dialog = tokio::spawn(async move { waiting.set_mode(mode::OFF, HashMap::new()).await });
    until("both wait", async || world.polkit.questions().len() == 2).await;

    let metrics = world.metrics().await;
    let first = metrics.sampled_usec().await.unwrap();
    until("the loop goes on", async || {
        metrics.sampled_usec().await.unwrap() > first
    })
    .await;
    assert!(metrics.get_snapshot().await.is_ok());
    assert_eq!(world.state().await, state::RUNNING);
    assert!(!dialog.is_finished(), "a dialog may take long");

    // The one without dialog gives up by itself, and is refused.
    let error = quiet.await.unwrap().unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert_eq!(world.polkit.cancelled.lock().unwrap().len(), 1);
    assert_eq!(world.state().await, state::RUNNING);

    // Another caller is not held up by the open dialog.
    world.polkit.answer(Answer::Allow);
    set_mode_quietly(&other, mode::BPF).await.unwrap();
    assert_eq!(world.scheduler().await.mode().await.unwrap(), mode::BPF);
    dialog.abort();
}

/// Every method that asks polkit.
fn guarded() -> Vec<String> {
    let path = format!(
        "{}/../data/dbus/org.pandemonium.Scheduler1.xml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&text, options).unwrap();
    let methods = document.descendants().filter(|n| n.has_tag_name("method"));
    let is_guarded = |method: &Node<'_, '_>| {
        let interface = method.parent().unwrap().attribute("name").unwrap();
        interface != METRICS_INTERFACE
    };
    let names = methods.filter(is_guarded);
    let names = names.map(|method| method.attribute("name").unwrap().to_owned());
    names.collect()
}

/// Calls a method with arguments that would do something.
async fn call(client: &Connection, member: &str) -> zbus::Result<()> {
    let scheduler = Scheduler1Proxy::new(client).await?;
    let processes = Processes1Proxy::new(client).await?;
    let file = tempfile::tempfile().unwrap();
    let fd = zbus::Fd::from(&file);
    match member {
        "SetMode" => scheduler.set_mode(mode::OFF, HashMap::new()).await,
        "Confirm" => scheduler.confirm().await,
        "Revert" => scheduler.revert().await,
        "Start" => scheduler.start().await,
        "Stop" => scheduler.stop().await,
        "Restart" => scheduler.restart().await,
        "Reload" => scheduler.reload().await,
        "Hold" => scheduler.hold(mode::OFF, "", "x").await.map(drop),
        "WriteDiagnostics" => scheduler.write_diagnostics(fd).await,
        "AddCompositor" => scheduler.add_compositor("mywm").await,
        "RemoveCompositor" => scheduler.remove_compositor("sway").await,
        "SetPrimaryDomain" => scheduler.set_primary_domain("0x1").await,
        "SetPowerMap" => scheduler.set_power_map([("ac", "0x1")].into()).await,
        "SetIdleSelector" => scheduler.set_idle_selector(false).await,
        "ResetChoices" => scheduler.reset_choices(&[]).await,
        "List" => processes.list(0, 0, HashMap::new()).await.map(drop),
        "Get" => processes.get(b"x").await.map(drop),
        "Pin" => processes.pin(b"x", "batch").await,
        "Unpin" => processes.unpin(b"x").await,
        "Forget" => processes.forget(b"x").await,
        "ForgetAll" => processes.forget_all().await.map(drop),
        "Export" => processes.export(fd).await,
        "Import" => processes.import(fd, HashMap::new()).await.map(drop),
        other => panic!("{other} is not called here yet"),
    }
}

/// What a call could change.
async fn wishes(world: &World) -> impl PartialEq + std::fmt::Debug {
    let (scheduler, processes) = (world.scheduler().await, world.processes().await);
    (
        scheduler.requested_mode().await.unwrap(),
        scheduler.mode_reason().await.unwrap(),
        scheduler.holds().await.unwrap(),
        scheduler.compositors().await.unwrap(),
        scheduler.primary_domain().await.unwrap(),
        scheduler.power_map().await.unwrap(),
        scheduler.idle_selector().await.unwrap(),
        processes.count().await.unwrap(),
    )
}

/// Requests of this user that wait until only one more may.
async fn all_but_one_wait(world: &World) -> JoinSet<()> {
    let mut waiting = JoinSet::new();
    for number in 1..WAITING_PER_USER {
        let client = world.client.clone();
        waiting.spawn(async move { call(&client, "List").await.unwrap() });
        until("it waits", async || {
            world.polkit.questions().len() == number
        })
        .await;
    }
    assert!(!is_full(world).await);
    waiting
}

/// Whether one more request of this user would be too many. Those that wait go on waiting.
async fn is_full(world: &World) -> bool {
    world.polkit.answer(Answer::Deny);
    let refusal = set_mode_quietly(&world.client, mode::OFF)
        .await
        .unwrap_err();
    world.polkit.answer(Answer::Hang);
    match BusError::of(&refusal) {
        Some(BusError::LimitsExceeded) => true,
        Some(BusError::AccessDenied) => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_leaves_waits_no_more_and_polkit_closes_the_dialog_unasked() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let before = wishes(&world).await;
    world.polkit.answer(Answer::Hang);
    let others = all_but_one_wait(&world).await;
    let members = guarded();
    assert!(members.len() > 20, "{members:?}");
    for member in &members {
        let asked = world.polkit.questions().len();
        let leaver = world.bus.connect().await;
        let (client, name) = (leaver.clone(), member.clone());
        let waiting = tokio::spawn(async move { call(&client, &name).await });
        until(&format!("{member} waits"), async || {
            assert!(!waiting.is_finished(), "{member} did not ask");
            world.polkit.questions().len() > asked
        })
        .await;
        assert!(is_full(&world).await, "{member} does not count");
        waiting.abort();
        let _ = waiting.await;
        leaver.close().await.unwrap();
        until(&format!("{member} waits no more"), async || {
            !is_full(&world).await
        })
        .await;
    }
    assert_eq!(*world.polkit.cancelled.lock().unwrap(), [""; 0]);
    // An answer that comes all the same is for nobody.
    world.polkit.release();
    others.join_all().await;
    stays("nothing happens", async || wishes(&world).await == before).await;
}

#[tokio::test]
async fn any_number_of_reads_is_answered_during_a_dialog_and_its_late_answer_counts() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.polkit.answer(Answer::Hang);
    let asking = world.scheduler().await;
    let dialog = tokio::spawn(async move { asking.set_mode(mode::OFF, HashMap::new()).await });
    until("it waits", async || world.polkit.questions().len() == 1).await;
    // Of the connection that waits, and of another one.
    for client in [world.client.clone(), world.bus.connect().await] {
        for interface in INTERFACES {
            let builder = PropertiesProxy::builder(&client).destination(BUS_NAME);
            let properties = builder.path(OBJECT_PATH).build().await.unwrap();
            for _ in 0..100 {
                let all = properties.get_all(interface.try_into().unwrap());
                // Nobody answers the dialog before all of them are done, so one that waits for it waits
                // for ever.
                let all = tokio::time::timeout(FOR_EVER, all).await;
                assert!(!all.expect("a read waits for a dialog").unwrap().is_empty());
            }
        }
    }
    assert!(!dialog.is_finished());
    assert_eq!(world.state().await, state::RUNNING);
    world.polkit.release();
    dialog.await.unwrap().unwrap();
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn without_polkit_everything_is_refused() {
    let mut world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.stop_polkit().await;
    let error = world.set_mode(mode::OFF).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert!(pandemonium_api::explain(&error).contains("polkit"));
    assert_eq!(world.state().await, state::RUNNING);
    world.start_polkit().await;
    world.set_mode(mode::OFF).await.unwrap();
    assert_eq!(world.state().await, state::STOPPED);
}

#[tokio::test]
async fn few_requests_of_one_user_wait() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.polkit.answer(Answer::Hang);
    let mut calls = JoinSet::new();
    for _ in 0..12 {
        let proxy = world.scheduler().await;
        calls.spawn(async move { proxy.set_mode(mode::OFF, HashMap::new()).await });
    }
    let mut refused = 0;
    while refused < 8 {
        let error = calls.join_next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::LimitsExceeded));
        refused += 1;
    }
    until("the others were asked about", async || {
        world.polkit.questions().len() == WAITING_PER_USER
    })
    .await;
    assert_eq!(world.state().await, state::RUNNING);
    calls.abort_all();
}

#[tokio::test]
async fn reading_asks_nobody() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    world.metrics().await.get_snapshot().await.unwrap();
    world.processes().await.count().await.unwrap();
    assert!(world.polkit.questions().is_empty());
}
