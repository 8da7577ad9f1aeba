//! Learning, listing, saving.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use pandemonium_api::{BusError, MAX_ROWS, ProfileFilter, state};
use rustix::process::Signal;

use crate::harness::{World, stays, until};

const LEARNING: &str = r#"
[[step]]
ticks = 10
observe = [
  { comm = "kwin_wayland", tier = "lat_critical", avg_us = 300 },
  { comm = "cc1plus", tier = "batch", avg_us = 20000 },
  { comm = "evil\u001b[2J", tier = "interactive", avg_us = 100 },
]
[[step]]
"#;

async fn learned(world: &World) {
    let processes = world.processes().await;
    until("three confident profiles", async || {
        processes.confident_count().await.unwrap() == 3 && processes.count().await.unwrap() == 3
    })
    .await;
}

#[tokio::test]
async fn learned_programs_are_listed_filtered_and_paged() {
    let world = World::start(LEARNING).await;
    learned(&world).await;
    let processes = world.processes().await;
    let (rows, total, generation) = processes.list(0, 0, HashMap::new()).await.unwrap();
    assert_eq!((rows.len(), total), (3, 3));
    assert!(generation > 0);
    assert_eq!(processes.capacity().await.unwrap(), MAX_ROWS);

    let evil = rows
        .iter()
        .find(|row| row.comm.starts_with(b"evil"))
        .unwrap();
    assert_eq!(evil.comm, b"evil\x1b[2J");
    assert!(!evil.name.contains('\x1b'), "{}", evil.name);
    let kwin = rows.iter().find(|row| row.name == "kwin_wayland").unwrap();
    assert_eq!(kwin.tier, "lat_critical");
    assert!(kwin.confidence_permille > 600 && kwin.observations >= 3);
    assert_eq!(kwin.avg_runtime_ns, 300_000);

    let filter = ProfileFilter {
        tier: Some("batch".into()),
        ..ProfileFilter::default()
    };
    let (rows, total, _) = processes.list(0, 0, filter.to_options()).await.unwrap();
    assert_eq!((rows[0].name.as_str(), total), ("cc1plus", 1));
    let filter = ProfileFilter {
        name: Some("win".into()),
        ..ProfileFilter::default()
    };
    assert_eq!(
        processes.list(0, 0, filter.to_options()).await.unwrap().1,
        1
    );

    let (page, total, _) = processes.list(2, 5, HashMap::new()).await.unwrap();
    assert_eq!((page.len(), total), (1, 3));
    assert!(
        processes
            .list(9, 5, HashMap::new())
            .await
            .unwrap()
            .0
            .is_empty()
    );

    for (key, value) in [("teir", "batch"), ("tier", "warp")] {
        let options = HashMap::from([(key, value.into())]);
        let error = processes.list(0, 0, options).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    }
}

#[tokio::test]
async fn sigterm_saves_and_the_next_start_remembers() {
    let mut world = World::start(LEARNING).await;
    learned(&world).await;
    world.signal(Signal::TERM);
    let status = world.ended_within(100).await;
    assert!(status.success(), "{status}");
    let file = world.path("state/profiles.bin");
    let (sentence, code) = check(&file);
    assert_eq!(code, Some(0), "{sentence}");
    assert!(sentence.contains("3 profiles, 3 confident"), "{sentence}");

    world.script("");
    world.launch(&[]).await;
    assert_eq!(world.processes().await.count().await.unwrap(), 3);
    assert!(world.scheduler().await.warnings().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_was_learned_is_saved_every_ten_minutes_so_a_crash_costs_no_more() {
    let mut world = World::start(&format!("tick_ms = 2\n{LEARNING}")).await;
    learned(&world).await;
    let file = world.path("state/profiles.bin");
    until("600 ticks", async || file.exists()).await;
    world.signal(Signal::KILL);
    world.ended_within(100).await;
    let (sentence, _) = check(&file);
    assert!(sentence.contains("3 profiles, 3 confident"), "{sentence}");
}

#[tokio::test]
async fn a_garbage_file_is_set_aside_with_one_warning() {
    let mut world = World::prepare("").await;
    let file = world.path("state/profiles.bin");
    std::fs::create_dir(world.path("state")).unwrap();
    std::fs::write(&file, "garbage").unwrap();
    let (sentence, code) = check(&file);
    assert_eq!(code, Some(1));
    assert!(
        sentence.contains("is not a PANDEMONIUM profile file"),
        "{sentence}"
    );

    world.launch(&[]).await;
    world.until_state(state::RUNNING).await;
    let warnings = world.scheduler().await.warnings().await.unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("set aside"), "{warnings:?}");
    assert_eq!(
        std::fs::read(world.path("state/profiles.bin.corrupt-1")).unwrap(),
        b"garbage"
    );
    assert_eq!(world.processes().await.count().await.unwrap(), 0);
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_written_is_not_the_end() {
    let mut world = World::prepare(LEARNING).await;
    // A file where the directory should be stops root as well.
    std::fs::write(world.path("state"), "in the way").unwrap();
    world.launch(&[]).await;
    learned(&world).await;
    world.signal(Signal::TERM);
    assert!(world.ended_within(100).await.success());
    assert_eq!(std::fs::read(world.path("state")).unwrap(), b"in the way");
}

#[tokio::test]
async fn a_pin_that_cannot_be_saved_is_told_until_it_is() {
    let mut world = World::start("tick_ms = 2\n").await;
    let scheduler = world.scheduler().await;
    let warnings = async || scheduler.warnings().await.unwrap();
    let state = world.path("state");
    let _ = std::fs::remove_dir_all(&state);
    std::fs::write(&state, "in the way").unwrap();
    let processes = world.processes().await;
    processes.pin(b"make", "batch").await.unwrap();
    until("it is told", async || !warnings().await.is_empty()).await;
    processes.pin(b"kwin", "interactive").await.unwrap();
    stays("told once", async || warnings().await.len() == 1).await;
    let told = warnings().await;
    assert!(told[0].contains("cannot be saved"), "{told:?}");
    std::fs::remove_file(&state).unwrap();
    // Nobody changes anything: the next planned save does it.
    until("it is saved", async || warnings().await.is_empty()).await;
    world.signal(Signal::KILL);
    world.ended_within(100).await;
    let (sentence, _) = check(&world.path("state/profiles.bin"));
    assert!(sentence.contains("2 profiles"), "{sentence}");
}

#[tokio::test]
async fn what_is_saved_is_not_saved_again_while_nothing_changes() {
    let world = World::start("tick_ms = 2\n").await;
    let processes = world.processes().await;
    processes.pin(b"make", "batch").await.unwrap();
    let path = world.path("state/profiles.bin");
    until("it is saved", async || path.exists()).await;
    // As long as it is open, no other file gets its inode.
    let open = File::open(&path).unwrap();
    world.script("tick_ms = 2\n[[step]]\nticks = 650\n[[step]]\nburst = true\n");
    let scheduler = world.scheduler().await;
    until("600 ticks", async || scheduler.burst().await.unwrap()).await;
    let inodes = (
        open.metadata().unwrap().ino(),
        path.metadata().unwrap().ino(),
    );
    assert_eq!(inodes.0, inodes.1);
}

fn check(file: &Path) -> (String, Option<i32>) {
    let checked = Command::new(env!("CARGO_BIN_EXE_pandemoniumd"))
        .arg("--check-profiles")
        .arg(file)
        .output()
        .unwrap();
    let sentence = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(sentence.lines().count(), 1, "one sentence: {sentence}");
    (sentence, checked.status.code())
}
