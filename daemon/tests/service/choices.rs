//! Compositors, primary domain and idle selector: chosen, told to the kernel half, and kept.

use futures_util::StreamExt;
use pandemonium_api::{BusError, explain, mode, state};
use pandemonium_policy::Pattern;
use rustix::process::Signal;

use crate::harness::{World, stays, until};

/// A script whose kernel writes down what it is told.
fn recording(world: &World, script: &str) {
    world.script(&format!("record = {:?}\n{script}", world.path("record")));
}

fn recorded(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("record")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The last settings the kernel was told.
fn settings(world: &World) -> String {
    let lines = recorded(world).into_iter().rev();
    let mut settings = lines.filter(|line| line.starts_with("settings "));
    settings.next().unwrap_or_default()
}

async fn recorded_world(script: &str, arguments: &[&str]) -> World {
    let mut world = World::prepare("").await;
    recording(&world, script);
    world.launch(arguments).await;
    world.until_state(state::RUNNING).await;
    world
}

#[tokio::test]
async fn compositors_are_added_and_removed_and_survive_every_change_of_mode() {
    let world = recorded_world("", &[]).await;
    let scheduler = world.scheduler().await;
    let built_in = scheduler.compositors().await.unwrap();
    let mut expected: Vec<_> = Pattern::defaults().iter().map(Pattern::to_string).collect();
    expected.sort();
    assert_eq!(built_in, expected);

    scheduler.add_compositor("mywm*").await.unwrap();
    scheduler.add_compositor("mywm*").await.unwrap();
    scheduler.remove_compositor("sway").await.unwrap();
    let chosen = scheduler.compositors().await.unwrap();
    assert_eq!(chosen.len(), built_in.len());
    assert!(chosen.is_sorted() && chosen.contains(&"mywm*".to_owned()));
    let told = settings(&world);
    assert!(told.contains("mywm*") && !told.contains("sway"), "{told}");
    assert_eq!(
        recorded(&world).len(),
        6,
        "an attach of four lines, two changes"
    );

    for mode in [mode::BPF, mode::OFF] {
        world.set_mode(mode).await.unwrap();
    }
    assert_eq!(recorded(&world).len(), 6);
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(recorded(&world)[6], "attach");
    assert_eq!(settings(&world), told);
    assert_eq!(scheduler.compositors().await.unwrap(), chosen);
}

#[tokio::test]
async fn choices_made_while_off_are_told_at_the_next_attach() {
    let mut world = World::prepare("").await;
    recording(&world, "");
    world.launch(&["--mode", "off"]).await;
    let scheduler = world.scheduler().await;
    scheduler.set_idle_selector(false).await.unwrap();
    scheduler.set_primary_domain("0x3").await.unwrap();
    assert!(recorded(&world).is_empty());
    assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), "0x3");
    world.set_mode(mode::BPF).await.unwrap();
    let told = settings(&world);
    assert!(
        told.contains("idle_selector=false") && told.contains("domain=0x3 "),
        "{told}"
    );
}

#[tokio::test]
async fn wrong_names_are_typed_errors() {
    let world = recorded_world("", &[]).await;
    let scheduler = world.scheduler().await;
    for name in ["", "*", "a*", "a/b", "a*b", "w\x1b[2J", &"x".repeat(65)] {
        for result in [
            scheduler.add_compositor(name).await,
            scheduler.remove_compositor(name).await,
        ] {
            let error = result.unwrap_err();
            assert_eq!(
                BusError::of(&error),
                Some(BusError::InvalidName),
                "{name:?}"
            );
            let sentence = explain(&error);
            assert!(
                !sentence.contains('\x1b') && sentence.ends_with('.'),
                "{sentence}"
            );
        }
    }
    assert!(
        world.polkit.questions().is_empty(),
        "nobody is asked for a password for nonsense"
    );
    let error = scheduler.remove_compositor("mywm").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::NotFound));
    assert!(explain(&error).contains("mywm"));

    let room = Pattern::MAX - Pattern::defaults().len();
    for number in 0..room {
        scheduler
            .add_compositor(&format!("wm-{number}"))
            .await
            .unwrap();
    }
    let before = settings(&world);
    let error = scheduler.add_compositor("one-more").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::LimitsExceeded));
    assert!(explain(&error).contains("64"));
    assert_eq!(scheduler.compositors().await.unwrap().len(), Pattern::MAX);
    assert_eq!(settings(&world), before);
}

#[tokio::test]
async fn the_primary_domain_is_resolved_on_this_machine() {
    let hybrid = "max_khz = [5000000, 5000000, 3000000, 3000000]";
    let world = recorded_world(hybrid, &[]).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.primary_domain().await.unwrap(), "all");
    assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), "");
    for (asked, shown, cpus) in [
        ("performance", "performance", "0x3"),
        ("powersave", "powersave", "0xc"),
        ("0X_0000_000E", "0xe", "0xe"),
        ("ff", "0xff", ""),
        ("auto", "auto", ""),
        ("all", "all", ""),
    ] {
        scheduler.set_primary_domain(asked).await.unwrap();
        assert_eq!(scheduler.primary_domain().await.unwrap(), shown);
        assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), cpus);
        let told = format!(" domain={} ", if cpus.is_empty() { "all" } else { cpus });
        assert!(
            settings(&world).contains(&told),
            "{asked}: {}",
            settings(&world)
        );
    }
    let questions = world.polkit.questions().len();
    for wrong in [
        "",
        "fast",
        "0x",
        "0",
        "0xg",
        &format!("1{}", "0".repeat(256)),
    ] {
        let error = scheduler.set_primary_domain(wrong).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs), "{wrong}");
        assert!(explain(&error).ends_with('.'), "{error}");
    }
    assert_eq!(world.polkit.questions().len(), questions);
    assert_eq!(scheduler.primary_domain().await.unwrap(), "all");
}

#[tokio::test]
async fn the_automatic_domain_follows_the_power_profile() {
    let mut world = World::prepare("").await;
    let sysfs = world.path("sys");
    let profile = sysfs.join("firmware/acpi/platform_profile");
    std::fs::create_dir_all(profile.parent().unwrap()).unwrap();
    std::fs::write(&profile, "balanced\n").unwrap();
    recording(
        &world,
        &format!("max_khz = [2, 1, 1, 1]\nsysfs = {sysfs:?}"),
    );
    world.launch(&["--primary-domain", "auto"]).await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    let cpus = async || scheduler.primary_domain_cpus().await.unwrap();
    assert_eq!(cpus().await, "");
    let mut changes = world.changes().await;

    let switch = |word: &str| {
        // Never seen half written.
        std::fs::write(world.path("profile"), word).unwrap();
        std::fs::rename(world.path("profile"), &profile).unwrap();
    };
    switch("performance\n");
    until("the fast CPU", async || cpus().await == "0x1").await;
    assert!(settings(&world).contains(" domain=0x1 "));
    switch("low-power\n");
    until("the slow CPUs", async || cpus().await == "0xe").await;
    assert!(settings(&world).contains(" domain=0xe "));
    let lines = recorded(&world).len();
    stays("told once", async || recorded(&world).len() == lines).await;
    assert_eq!(scheduler.primary_domain().await.unwrap(), "auto");

    recording(&world, "write_error = true");
    switch("balanced\n");
    stays("what the kernel follows", async || cpus().await == "0xe").await;
    recording(&world, "");
    until("every CPU", async || cpus().await.is_empty()).await;

    let mut masks = Vec::new();
    while masks.len() < 3 {
        let change = changes.next().await.unwrap();
        let arguments = change.args().unwrap();
        assert!(!arguments.changed_properties.contains_key("PrimaryDomain"));
        if let Some(mask) = arguments.changed_properties.get("PrimaryDomainCpus") {
            masks.push(String::try_from(mask.try_clone().unwrap()).unwrap());
        }
    }
    assert_eq!(masks, ["0x1", "0xe", ""]);
}

#[tokio::test]
async fn cpus_that_appear_at_an_attach_are_known_to_the_domain() {
    let world = recorded_world("", &["--primary-domain", "0xff"]).await;
    let scheduler = world.scheduler().await;
    assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), "");
    recording(&world, "nr_cpus = 16");
    world.set_mode(mode::OFF).await.unwrap();
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), "0xff");
    assert!(settings(&world).contains(" domain=0xff "));
}

#[tokio::test]
async fn only_what_changed_is_announced() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    let mut changes = world.changes().await;
    scheduler.set_idle_selector(true).await.unwrap();
    scheduler.set_primary_domain("all").await.unwrap();
    scheduler.add_compositor("sway").await.unwrap();
    scheduler.set_idle_selector(false).await.unwrap();
    assert!(!scheduler.idle_selector().await.unwrap());
    let chosen = [
        "IdleSelector",
        "Compositors",
        "PrimaryDomain",
        "PrimaryDomainCpus",
    ];
    loop {
        let change = changes.next().await.unwrap();
        let arguments = change.args().unwrap();
        let names: Vec<_> = chosen
            .into_iter()
            .filter(|name| arguments.changed_properties.contains_key(name))
            .collect();
        if !names.is_empty() {
            assert_eq!(names, ["IdleSelector"]);
            break;
        }
    }
}

#[tokio::test]
async fn what_the_kernel_does_not_take_is_not_chosen() {
    let world = recorded_world("", &[]).await;
    let scheduler = world.scheduler().await;
    let before = scheduler.compositors().await.unwrap();
    recording(&world, "write_error = true");
    for result in [
        scheduler.add_compositor("mywm").await,
        scheduler.remove_compositor("sway").await,
        scheduler.set_primary_domain("0x1").await,
        scheduler.set_idle_selector(false).await,
    ] {
        let error = result.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::LoadFailed));
        assert!(explain(&error).contains("writing fails"), "{error}");
    }
    assert_eq!(scheduler.compositors().await.unwrap(), before);
    assert_eq!(scheduler.primary_domain().await.unwrap(), "all");
    assert_eq!(scheduler.primary_domain_cpus().await.unwrap(), "");
    assert!(scheduler.idle_selector().await.unwrap());
    recording(&world, "");
    scheduler.set_idle_selector(false).await.unwrap();
    let told = settings(&world);
    assert!(
        told.contains("idle_selector=false") && told.contains("sway"),
        "{told}"
    );
    assert!(
        !told.contains("mywm") && told.contains(" domain=all "),
        "{told}"
    );
}

#[tokio::test]
async fn options_win_over_the_configuration_and_a_reload_changes_only_what_changed() {
    let mut world = World::prepare("").await;
    recording(&world, "");
    let configure = |text: &str| std::fs::write(world.path("config.toml"), text).unwrap();
    configure(
        "compositors = [\"early\", \"kept\"]\nprimary_domain = \"0x1\"\nidle_selector = false\n\
         slice_lag_us = 250\n",
    );
    world
        .launch(&[
            "--primary-domain",
            "0x2",
            "--compositor",
            "option",
            "--local-kthreads",
        ])
        .await;
    world.until_state(state::RUNNING).await;
    let scheduler = world.scheduler().await;
    let told = settings(&world);
    for word in [
        "idle_selector=false local_kthreads=true slice_lag_ns=250000 domain=0x2 ",
        "early",
        "kept",
        "option",
        "sway",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }

    scheduler.set_idle_selector(true).await.unwrap();
    scheduler.add_compositor("bus").await.unwrap();
    let configure = |text: &str| std::fs::write(world.path("config.toml"), text).unwrap();
    configure(
        "compositors = [\"late\", \"kept\"]\nprimary_domain = \"0x4\"\nidle_selector = false\n\
         slice_lag_us = -250\n",
    );
    world.signal(Signal::HUP);
    until("the reload", async || {
        settings(&world).contains("slice_lag_ns=-250000")
    })
    .await;
    let told = settings(&world);
    assert!(
        told.contains("idle_selector=true") && told.contains(" domain=0x2 "),
        "{told}"
    );
    let compositors = scheduler.compositors().await.unwrap();
    for name in ["bus", "late", "kept", "option", "sway"] {
        assert!(
            compositors.contains(&name.to_owned()),
            "{name}: {compositors:?}"
        );
    }
    assert!(!compositors.contains(&"early".to_owned()));
}

#[tokio::test]
async fn predictions_are_told_at_the_attach_and_when_they_change() {
    let observe = |avg_us: u64| {
        format!("observe = [{{ comm = \"kwin\", tier = \"lat_critical\", avg_us = {avg_us} }}]")
    };
    let script = format!(
        "[[step]]\nticks = 20\n{}\n[[step]]\nticks = 1\n{}\n[[step]]\n",
        observe(300),
        observe(900)
    );
    let world = recorded_world(&script, &[]).await;
    let told = || {
        let lines = recorded(&world).into_iter();
        lines
            .filter(|line| line.starts_with("predictions "))
            .collect::<Vec<_>>()
    };
    let processes = world.processes().await;
    until("another run length is told", async || told().len() == 3).await;
    // The same again says nothing new, though it is learned each time.
    assert_eq!(
        told(),
        [
            "predictions ",
            "predictions kwin=lat_critical",
            "predictions kwin=lat_critical"
        ]
    );
    stays("told once", async || told().len() == 3).await;
    assert_eq!(processes.confident_count().await.unwrap(), 1);

    recording(&world, "");
    world.set_mode(mode::OFF).await.unwrap();
    world.set_mode(mode::ADAPTIVE).await.unwrap();
    assert_eq!(told().last().unwrap(), "predictions kwin=lat_critical");
    assert_eq!(told().len(), 4);
}
