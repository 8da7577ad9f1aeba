//! What was chosen at run time, at the next start of the daemon.

use std::collections::BTreeMap;

use pandemonium_api::{BusError, action, choice, mode, state};
use rustix::process::Signal;

use crate::harness::World;

/// What is chosen: compositors (those that are not built in, and whether sway is one), domain, map, selector.
type Chosen = (Vec<String>, bool, String, String, bool);

async fn chosen(world: &World) -> Chosen {
    let scheduler = world.scheduler().await;
    let mut compositors = scheduler.compositors().await.unwrap();
    let has_sway = compositors.iter().any(|name| name == "sway");
    compositors.retain(|name| name.starts_with("my"));
    let map = scheduler.power_map().await.unwrap();
    let map: Vec<_> = map
        .iter()
        .map(|(key, domain)| format!("{key}={domain}"))
        .collect();
    (
        compositors,
        has_sway,
        scheduler.primary_domain().await.unwrap(),
        map.join(" "),
        scheduler.idle_selector().await.unwrap(),
    )
}

fn expected(own: &[&str], has_sway: bool, domain: &str, map: &str, selector: bool) -> Chosen {
    let own = own.iter().map(|name| (*name).to_owned()).collect();
    (own, has_sway, domain.to_owned(), map.to_owned(), selector)
}

const SHIPPED: &str = "performance=performance power-saver=powersave";

fn as_shipped() -> Chosen {
    expected(&[], true, "all", SHIPPED, true)
}

fn configure(world: &World, text: &str) {
    std::fs::write(world.path("config.toml"), text).unwrap();
}

/// A choice of everything.
async fn choose(world: &World) -> Chosen {
    let scheduler = world.scheduler().await;
    scheduler.add_compositor("mywm*").await.unwrap();
    scheduler.remove_compositor("sway").await.unwrap();
    scheduler.set_primary_domain("0x3").await.unwrap();
    let map = BTreeMap::from([("battery", "0x1")]);
    scheduler.set_power_map(map).await.unwrap();
    scheduler.set_idle_selector(false).await.unwrap();
    expected(&["mywm*"], false, "0x3", "battery=0x1", false)
}

async fn restart(world: &mut World, signal: Signal, arguments: &[&str]) {
    world.signal(signal);
    world.ended_within(500).await;
    world.launch(arguments).await;
}

#[tokio::test]
async fn choices_outlast_the_daemon_however_it_ends_and_reach_the_kernel_at_the_first_attach() {
    let mut world = World::start("").await;
    let all = choose(&world).await;
    for signal in [Signal::KILL, Signal::TERM] {
        world.script(&format!("record = {:?}", world.path("record")));
        let _ = std::fs::remove_file(world.path("record"));
        restart(&mut world, signal, &[]).await;
        world.until_state(state::RUNNING).await;
        assert_eq!(chosen(&world).await, all);
        let told = std::fs::read_to_string(world.path("record")).unwrap();
        let first = told.lines().find(|line| line.starts_with("settings "));
        let first = first.unwrap();
        assert!(first.contains("idle_selector=false"), "{first}");
        assert!(
            first.contains(" domain=0x3 ") && first.contains("mywm*"),
            "{first}"
        );
        assert!(!first.contains("sway"), "{first}");
    }
    let warnings = world.scheduler().await.warnings().await.unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[tokio::test]
async fn a_configuration_that_says_something_else_wins_for_good_and_only_about_that() {
    let mut world = World::start("").await;
    choose(&world).await;
    world.signal(Signal::TERM);
    world.ended_within(500).await;
    configure(
        &world,
        "primary_domain = \"0xc\"\ncompositors = [\"mywm*\", \"myown\"]\n",
    );
    world.launch(&[]).await;
    let now = expected(&["myown", "mywm*"], false, "0xc", "battery=0x1", false);
    assert_eq!(chosen(&world).await, now);
    // The configuration of before is a new decision, and older ones do not come back with it.
    world.signal(Signal::TERM);
    world.ended_within(500).await;
    configure(&world, "");
    world.launch(&[]).await;
    let now = expected(&[], false, "all", "battery=0x1", false);
    assert_eq!(chosen(&world).await, now);

    configure(&world, "idle_selector = false\n");
    world.scheduler().await.reload().await.unwrap();
    configure(&world, "");
    restart(&mut world, Signal::KILL, &[]).await;
    let now = expected(&[], false, "all", "battery=0x1", true);
    assert_eq!(chosen(&world).await, now, "a reload settles it as well");
}

#[tokio::test]
async fn an_option_of_the_command_line_wins_over_what_is_remembered() {
    let mut world = World::start("").await;
    choose(&world).await;
    let options = ["--primary-domain", "all", "--compositor", "myoption"];
    restart(&mut world, Signal::TERM, &options).await;
    let now = expected(&["myoption", "mywm*"], false, "all", "battery=0x1", false);
    assert_eq!(chosen(&world).await, now);
}

#[tokio::test]
async fn choices_go_back_to_the_configuration_one_by_one_or_all_at_once() {
    let mut world = World::prepare("").await;
    configure(
        &world,
        "compositors = [\"myown\"]\n[power-map]\nac = \"all\"\n",
    );
    world.launch(&[]).await;
    let configured = expected(&["myown"], true, "all", "ac=all", true);
    assert_eq!(chosen(&world).await, configured);
    choose(&world).await;
    let scheduler = world.scheduler().await;
    scheduler
        .reset_choices(&[choice::PRIMARY_DOMAIN, choice::POWER_MAP])
        .await
        .unwrap();
    let some = expected(&["myown", "mywm*"], false, "all", "ac=all", false);
    assert_eq!(chosen(&world).await, some);
    restart(&mut world, Signal::KILL, &[]).await;
    assert_eq!(chosen(&world).await, some);

    let scheduler = world.scheduler().await;
    scheduler.reset_choices(&[]).await.unwrap();
    assert_eq!(chosen(&world).await, configured);
    restart(&mut world, Signal::KILL, &[]).await;
    assert_eq!(chosen(&world).await, configured);

    let questions = world.polkit.questions();
    let last = questions.last().unwrap();
    assert_eq!(last.action, action::CONFIGURE);
    assert_eq!(last.details["choices"], choice::ALL.join(", "));
    let scheduler = world.scheduler().await;
    for words in [&["mode"][..], &[choice::COMPOSITORS, "\x1b[2J"]] {
        let error = scheduler.reset_choices(words).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
        assert!(!error.to_string().contains('\x1b'), "{error}");
    }
    assert_eq!(
        world.polkit.questions().len(),
        questions.len(),
        "nobody was asked"
    );
}

#[tokio::test]
async fn a_choice_that_cannot_be_saved_holds_and_says_so_until_one_can() {
    let mut world = World::start("").await;
    let scheduler = world.scheduler().await;
    let warnings = async || scheduler.warnings().await.unwrap();
    let state = world.path("state");
    let _ = std::fs::remove_dir_all(&state);
    std::fs::write(&state, "in the way").unwrap();
    scheduler.set_idle_selector(false).await.unwrap();
    scheduler.set_primary_domain("0x1").await.unwrap();
    let told = warnings().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("cannot be saved"), "{told:?}");
    std::fs::remove_file(&state).unwrap();
    // The same once more, and what could not be saved before is saved with it.
    scheduler.set_primary_domain("0x1").await.unwrap();
    assert!(warnings().await.is_empty());
    restart(&mut world, Signal::KILL, &[]).await;
    assert_eq!(
        chosen(&world).await,
        expected(&[], true, "0x1", SHIPPED, false)
    );
}

#[tokio::test]
async fn names_that_no_longer_fit_beside_the_configured_ones_are_a_warning() {
    let mut world = World::start("").await;
    choose(&world).await;
    world.signal(Signal::TERM);
    world.ended_within(500).await;
    let room = 64 - pandemonium_policy::Pattern::defaults().len();
    let names: Vec<_> = (0..room).map(|n| format!("\"wm-{n}\"")).collect();
    // Without sway, which was removed, there is room for one more.
    configure(&world, &format!("compositors = [{}]\n", names.join(", ")));
    world.launch(&[]).await;
    assert_eq!(chosen(&world).await.0, ["mywm*"]);
    world
        .scheduler()
        .await
        .add_compositor("sway")
        .await
        .unwrap_err();

    world
        .scheduler()
        .await
        .reset_choices(&[choice::COMPOSITORS])
        .await
        .unwrap();
    configure(&world, "");
    world.scheduler().await.reload().await.unwrap();
    world
        .scheduler()
        .await
        .add_compositor("mywm*")
        .await
        .unwrap();
    world.signal(Signal::TERM);
    world.ended_within(500).await;
    configure(&world, &format!("compositors = [{}]\n", names.join(", ")));
    world.launch(&[]).await;
    let warnings = world.scheduler().await.warnings().await.unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("65 compositors"), "{warnings:?}");
    let now = expected(&[], true, "0x3", "battery=0x1", false);
    assert_eq!(chosen(&world).await, now);
}

#[tokio::test]
async fn who_may_not_configure_takes_nothing_back() {
    let world = World::start("").await;
    let all = choose(&world).await;
    world.polkit.answer(crate::pretended_polkit::Answer::Deny);
    let error = world
        .scheduler()
        .await
        .reset_choices(&[])
        .await
        .unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert_eq!(chosen(&world).await, all);
    assert_ne!(all, as_shipped());
    assert_eq!(
        world.scheduler().await.mode().await.unwrap(),
        mode::ADAPTIVE
    );
}

#[tokio::test]
async fn more_choices_or_entries_of_a_map_than_there_are_end_the_reading_and_nobody_is_asked() {
    let world = World::start("").await;
    let scheduler = world.scheduler().await;
    let keys: Vec<_> = (0..17).map(|n| format!("key-{n:02}")).collect();
    let map: BTreeMap<_, _> = keys.iter().map(|key| (key.as_str(), "all")).collect();
    for result in [
        scheduler.reset_choices(&[choice::COMPOSITORS; 17]).await,
        scheduler.set_power_map(map).await,
    ] {
        let error = result.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
        assert!(error.to_string().contains("more than 16"), "{error}");
    }
    assert!(world.polkit.questions().is_empty());
    scheduler
        .reset_choices(&[choice::COMPOSITORS; 16])
        .await
        .unwrap();
}
