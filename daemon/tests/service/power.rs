//! The power situation, the map that the automatic domain follows, and sleep.

use std::collections::{BTreeMap, HashMap};

use futures_util::StreamExt;
use pandemonium_api::{BUS_NAME, BusError, Metrics1Proxy, POWER_MAP_AS_SHIPPED, explain, state};
use rustix::process::Signal;
use zbus::Variant;

use crate::dbusmock::{Mock, Service, announce_as};
use crate::harness::{World, stays, until};
use crate::pretended_power::Pretended;

/// Two fast CPUs and two slow ones.
const HYBRID: &str = "max_khz = [5000000, 5000000, 3000000, 3000000]\n";

/// What UPower says at first.
const BATTERY: &str = r#"{"OnBattery": true}"#;

/// What a service for profiles says at first.
fn profile(name: &str) -> String {
    format!(r#"{{"ActiveProfile": "{name}"}}"#)
}

async fn world_with(script: &str, domain: &str) -> World {
    let mut world = World::prepare(script).await;
    world.launch(&["--primary-domain", domain]).await;
    world.until_state(state::RUNNING).await;
    world
}

/// What is known about power: source, profile and the CPUs that this leads to.
async fn known(world: &World) -> [String; 3] {
    let scheduler = world.scheduler().await;
    [
        scheduler.power_source().await.unwrap(),
        scheduler.power_profile().await.unwrap(),
        scheduler.primary_domain_cpus().await.unwrap(),
    ]
}

async fn until_known(world: &World, wanted: [&str; 3]) {
    until(&format!("{wanted:?}"), async || {
        known(world).await == wanted
    })
    .await;
}

async fn stays_known(world: &World, wanted: [&str; 3]) {
    stays(&format!("{wanted:?}"), async || {
        known(world).await == wanted
    })
    .await;
}

async fn set_map(world: &World, entries: &[(&str, &str)]) -> zbus::Result<()> {
    let map: BTreeMap<_, _> = entries.iter().copied().collect();
    world.scheduler().await.set_power_map(map).await
}

#[tokio::test]
async fn services_are_followed_whenever_they_come_and_go() {
    let world = world_with(HYBRID, "auto").await;
    assert_eq!(known(&world).await, ["", "", ""]);
    set_map(&world, &[("battery", "0xc"), ("performance", "0x1")])
        .await
        .unwrap();

    let upower = Mock::start(&world, Service::UPower, BATTERY).await;
    until_known(&world, ["battery", "", "0xc"]).await;
    let profiles = Mock::start(&world, Service::Profiles, &profile("balanced")).await;
    until_known(&world, ["battery", "balanced", "0xc"]).await;
    profiles.announce("performance".into()).await;
    until_known(&world, ["battery", "performance", "0x1"]).await;
    upower.announce(false.into()).await;
    until_known(&world, ["ac", "performance", "0x1"]).await;
    profiles.stop().await;
    until_known(&world, ["ac", "", ""]).await;
    let profiles = Mock::start(&world, Service::Profiles, &profile("power-saver")).await;
    until_known(&world, ["ac", "power-saver", ""]).await;
    upower.stop().await;
    profiles.stop().await;
    until_known(&world, ["", "", ""]).await;
}

#[tokio::test]
async fn a_service_that_was_there_first_is_asked() {
    let mut world = World::prepare(HYBRID).await;
    let _upower = Mock::start(&world, Service::UPower, BATTERY).await;
    let _profiles = Mock::start(&world, Service::Profiles, &profile("power-saver")).await;
    world.launch(&["--primary-domain", "auto"]).await;
    until_known(&world, ["battery", "power-saver", "0xc"]).await;
}

#[tokio::test]
async fn the_older_name_of_the_profiles_counts_where_the_newer_one_is_missing() {
    let world = world_with(HYBRID, "auto").await;
    let old = Mock::start(&world, Service::OldProfiles, &profile("power-saver")).await;
    until_known(&world, ["", "power-saver", "0xc"]).await;
    let new = Mock::start(&world, Service::Profiles, &profile("balanced")).await;
    until_known(&world, ["", "balanced", ""]).await;
    old.announce("performance".into()).await;
    stays_known(&world, ["", "balanced", ""]).await;
    new.stop().await;
    until_known(&world, ["", "performance", "0x3"]).await;
}

#[tokio::test]
async fn a_change_without_its_value_is_asked_about() {
    let world = world_with(HYBRID, "auto").await;
    let profiles = Pretended::start(&world, Some("balanced")).await;
    until_known(&world, ["", "balanced", ""]).await;
    profiles.answer("power-saver");
    stays_known(&world, ["", "balanced", ""]).await;
    profiles.invalidate().await;
    until_known(&world, ["", "power-saver", "0xc"]).await;
}

#[tokio::test]
async fn nonsense_is_nothing_and_strangers_are_not_believed() {
    let world = world_with(HYBRID, "auto").await;
    let profiles = Mock::start(&world, Service::Profiles, &profile(r"turbo\u001b[2J")).await;
    let upower = Mock::start(&world, Service::UPower, "{}").await;
    until_known(&world, ["ac", "", ""]).await;
    profiles.announce("power-saver".into()).await;
    until_known(&world, ["ac", "power-saver", "0xc"]).await;
    // None of these is the owner of the name; the bus itself stops only those that are for everybody.
    for to in [None, Some(BUS_NAME)] {
        announce_as(&world.client, to, Service::UPower, true.into()).await;
        announce_as(&world.client, to, Service::Profiles, "performance".into()).await;
        stays_known(&world, ["ac", "power-saver", "0xc"]).await;
    }
    let long = "power-saver".repeat(100_000);
    profiles.announce(7u32.into()).await;
    until_known(&world, ["ac", "", ""]).await;
    profiles.announce("power-saver".into()).await;
    until_known(&world, ["ac", "power-saver", "0xc"]).await;
    profiles.announce(Variant::from(long)).await;
    until_known(&world, ["ac", "", ""]).await;
    upower.announce("yes".into()).await;
    until_known(&world, ["", "", ""]).await;
    upower.announce(true.into()).await;
    until_known(&world, ["battery", "", ""]).await;
}

#[tokio::test]
async fn a_service_that_never_answers_holds_nothing_up() {
    let world = world_with(HYBRID, "auto").await;
    let metrics = world.metrics().await;
    let profiles = Pretended::start(&world, None).await;
    let _upower = Mock::start(&world, Service::UPower, BATTERY).await;
    until_known(&world, ["battery", "", ""]).await;
    // More questions than a queue would hold, none of which is ever answered.
    for _ in 0..200 {
        profiles.invalidate().await;
    }
    let before = metrics.sampled_usec().await.unwrap();
    until("the loop goes on", async || {
        metrics.sampled_usec().await.unwrap() > before
    })
    .await;
    world
        .scheduler()
        .await
        .set_idle_selector(false)
        .await
        .unwrap();
    profiles.announce("power-saver").await;
    until_known(&world, ["battery", "power-saver", "0xc"]).await;
}

#[tokio::test]
async fn a_bus_that_restarts_is_listened_to_again() {
    let mut world = world_with(HYBRID, "auto").await;
    let upower = Mock::start(&world, Service::UPower, BATTERY).await;
    until_known(&world, ["battery", "", ""]).await;
    drop(upower);
    world.bus.restart();
    world.client = world.bus.connect().await;
    world.wait_for_daemon().await;
    until_known(&world, ["", "", ""]).await;
    let _profiles = Mock::start(&world, Service::Profiles, &profile("power-saver")).await;
    until_known(&world, ["", "power-saver", "0xc"]).await;
}

#[tokio::test]
async fn without_a_service_sysfs_says_the_profile() {
    let mut world = World::prepare("").await;
    let firmware = world.path("sys/firmware/acpi");
    std::fs::create_dir_all(&firmware).unwrap();
    std::fs::write(firmware.join("platform_profile"), "low-power\n").unwrap();
    world.script(&format!("{HYBRID}sysfs = {:?}\n", world.path("sys")));
    world.launch(&["--primary-domain", "auto"]).await;
    until_known(&world, ["", "power-saver", "0xc"]).await;
    let profiles = Mock::start(&world, Service::Profiles, &profile("performance")).await;
    until_known(&world, ["", "performance", "0x3"]).await;
    profiles.stop().await;
    until_known(&world, ["", "power-saver", "0xc"]).await;
}

#[tokio::test]
async fn only_the_automatic_domain_asks_the_map() {
    let world = world_with(HYBRID, "0x2").await;
    let scheduler = world.scheduler().await;
    let _upower = Mock::start(&world, Service::UPower, BATTERY).await;
    set_map(&world, &[("battery", "0xc")]).await.unwrap();
    until_known(&world, ["battery", "", "0x2"]).await;
    scheduler.set_primary_domain("auto").await.unwrap();
    assert_eq!(known(&world).await, ["battery", "", "0xc"]);
    set_map(&world, &[]).await.unwrap();
    assert_eq!(known(&world).await, ["battery", "", ""]);
    set_map(&world, &[("battery", "0x8"), ("ac", "0x1")])
        .await
        .unwrap();
    assert_eq!(known(&world).await, ["battery", "", "0x8"]);
    scheduler.set_primary_domain("0x2").await.unwrap();
    assert_eq!(known(&world).await, ["battery", "", "0x2"]);
}

#[tokio::test]
async fn the_map_is_replaced_announced_once_and_checked_first() {
    let world = world_with(HYBRID, "auto").await;
    let scheduler = world.scheduler().await;
    let built_in = POWER_MAP_AS_SHIPPED;
    let texts = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
        let owned = |(key, domain): &(&str, &str)| ((*key).to_owned(), (*domain).to_owned());
        entries.iter().map(owned).collect()
    };
    assert_eq!(scheduler.power_map().await.unwrap(), texts(&built_in));

    let mut changes = world.changes().await;
    let asked = world.polkit.questions().len();
    for bad in [
        ("", "all"),
        ("batery", "all"),
        ("battery", "auto"),
        ("battery", "0x0"),
        ("battery", "fast\x1b"),
        ("\x1b[2J", "all"),
    ] {
        let error = set_map(&world, &[("ac", "all"), bad]).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs), "{bad:?}");
        let sentence = explain(&error);
        let is_one = sentence.ends_with('.') && !sentence.contains(['\x1b', '\n']);
        assert!(is_one && sentence.len() < 300, "{sentence}");
    }
    assert_eq!(
        world.polkit.questions().len(),
        asked,
        "nobody is asked for a password for nonsense"
    );
    set_map(&world, &built_in).await.unwrap();
    set_map(&world, &[("battery", "0X_000F"), ("ac", "all")])
        .await
        .unwrap();
    let questions = world.polkit.questions();
    assert_eq!(
        questions.last().unwrap().action,
        "org.pandemonium.configure"
    );
    assert_eq!(
        questions.last().unwrap().details["power_map"],
        "ac=all battery=0xf"
    );
    let shown = texts(&[("ac", "all"), ("battery", "0xf")]);
    assert_eq!(scheduler.power_map().await.unwrap(), shown);
    let announced = loop {
        let change = changes.next().await.unwrap();
        if let Some(map) = change.args().unwrap().changed_properties.get("PowerMap") {
            break HashMap::<String, String>::try_from(map.try_clone().unwrap()).unwrap();
        }
    };
    // The first one that is announced: what changed nothing was not.
    assert_eq!(announced.into_iter().collect::<BTreeMap<_, _>>(), shown);
}

async fn sampled(metrics: &Metrics1Proxy<'_>) -> u64 {
    metrics.sampled_usec().await.unwrap()
}

async fn goes_on(metrics: &Metrics1Proxy<'_>) {
    let before = sampled(metrics).await;
    until("windows are measured", async || {
        sampled(metrics).await > before
    })
    .await;
}

async fn stands_still(metrics: &Metrics1Proxy<'_>) {
    until("nothing is measured", async || is_still(metrics).await).await;
}

async fn is_still(metrics: &Metrics1Proxy<'_>) -> bool {
    let before = sampled(metrics).await;
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    before == sampled(metrics).await
}

/// The daemon is on the bus before it has asked the bus for what logind says, and hears nothing that was said before.
async fn follows_logind(world: &World, metrics: &Metrics1Proxy<'_>) {
    let logind = Mock::start(world, Service::Logind, "{}").await;
    until("the daemon follows logind", async || {
        logind.emit("PrepareForSleep", true).await;
        is_still(metrics).await
    })
    .await;
    logind.stop().await;
    goes_on(metrics).await;
}

#[tokio::test]
async fn windows_around_a_sleep_say_nothing() {
    let world = World::start("tick_ms = 100\nbackoff_ms = 40\n").await;
    let metrics = world.metrics().await;
    goes_on(&metrics).await;
    follows_logind(&world, &metrics).await;
    let logind = Mock::start(&world, Service::Logind, "{}").await;
    logind.emit("PrepareForSleep", true).await;
    stands_still(&metrics).await;
    logind.emit("PrepareForSleep", false).await;
    goes_on(&metrics).await;

    logind.emit("PrepareForSleep", true).await;
    stands_still(&metrics).await;
    logind.stop().await;
    goes_on(&metrics).await;
}

#[tokio::test]
async fn what_a_service_says_as_soon_as_it_is_there_is_heard() {
    let world = World::start("tick_ms = 100\nbackoff_ms = 40\n").await;
    let metrics = world.metrics().await;
    follows_logind(&world, &metrics).await;
    for _ in 0..6 {
        // The daemon finds the name's new owner and what that said at the same moment.
        world.signal(Signal::STOP);
        let logind = Mock::start(&world, Service::Logind, "{}").await;
        logind.emit("PrepareForSleep", true).await;
        world.signal(Signal::CONT);
        stands_still(&metrics).await;
        logind.stop().await;
        goes_on(&metrics).await;
    }
}
