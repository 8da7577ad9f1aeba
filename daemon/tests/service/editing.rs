//! Looking at single profiles, deciding on their tiers, forgetting them, and taking them elsewhere.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};

use pandemonium_api::{
    BusError, Processes1Proxy, ProfileFilter, ProfileRow, action, explain, filter, import, mode,
    sort, state,
};
use rustix::process::Signal;
use zbus::Variant;

use crate::harness::{World, until};
use crate::pretended_polkit::Answer;

/// Each by other values, so that every order differs.
const LEARNING: &str = r#"
[[step]]
ticks = 10
observe = [
  { comm = "kwin", tier = "lat_critical", avg_us = 300 },
  { comm = "cc1plus", tier = "batch", avg_us = 20000 },
  { comm = "evil\u001b[2J", tier = "interactive", avg_us = 100 },
  { comm = "mpv", tier = "interactive", avg_us = 5000 },
]
[[step]]
"#;

async fn learned(script: &str) -> (World, Processes1Proxy<'static>) {
    let mut world = World::prepare("").await;
    world.script(&format!("record = {:?}\n{script}", world.path("record")));
    world.launch(&[]).await;
    world.until_state(state::RUNNING).await;
    let processes = world.processes().await;
    until("four profiles, settled", async || {
        let (rows, ..) = processes.list(0, 0, HashMap::new()).await.unwrap();
        rows.len() == 4 && rows.iter().all(|row| row.observations == 10)
    })
    .await;
    (world, processes)
}

/// What the kernel half was told last.
fn predictions(world: &World) -> String {
    let text = std::fs::read_to_string(world.path("record")).unwrap();
    let mut lines = text.lines().rev();
    let line = lines.find(|line| line.starts_with("predictions "));
    line.unwrap_or_default().to_owned()
}

fn kind<T>(result: zbus::Result<T>) -> Option<BusError> {
    result.err().and_then(|error| BusError::of(&error))
}

fn names(rows: &[ProfileRow]) -> Vec<&[u8]> {
    rows.iter().map(|row| row.comm.as_slice()).collect()
}

fn replace(is_on: bool) -> HashMap<&'static str, Variant<'static>> {
    HashMap::from([(import::REPLACE, is_on.into())])
}

/// A file with this text, to be read from its start.
fn file(text: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    file.rewind().unwrap();
    file
}

async fn exported(processes: &Processes1Proxy<'_>) -> String {
    let mut to = file(b"");
    processes.export(to.as_fd().into()).await.unwrap();
    let mut text = String::new();
    to.rewind().unwrap();
    to.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_list_is_sorted_both_ways_and_pages_fit_together() {
    let (_world, processes) = learned(LEARNING).await;
    let sorted = async |order: &str, is_descending| {
        let filter = ProfileFilter {
            sort: Some(order.into()),
            is_descending,
            ..ProfileFilter::default()
        };
        let mut rows = Vec::new();
        for offset in 0..4 {
            let page = processes.list(offset, 1, filter.to_options()).await;
            rows.extend(page.unwrap().0);
        }
        rows.into_iter()
            .map(|row| String::from_utf8(row.comm[..2].to_vec()).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(sorted(sort::NAME, false).await, ["cc", "ev", "kw", "mp"]);
    assert_eq!(sorted(sort::NAME, true).await, ["mp", "kw", "ev", "cc"]);
    assert_eq!(sorted(sort::TIER, false).await, ["cc", "ev", "mp", "kw"]);
    assert_eq!(sorted(sort::TIER, true).await, ["kw", "ev", "mp", "cc"]);
    assert_eq!(sorted(sort::AVG_RUN, false).await, ["ev", "kw", "mp", "cc"]);
    // In the order in which they were seen in each tick.
    assert_eq!(
        sorted(sort::LAST_USE, false).await,
        ["kw", "cc", "ev", "mp"]
    );
    // All alike: in the order of their names.
    assert_eq!(sorted(sort::WAKEUPS, true).await, ["cc", "ev", "kw", "mp"]);
    let options = HashMap::from([(filter::SORT, Variant::from("colour"))]);
    let error = processes.list(0, 0, options).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
}

#[tokio::test]
async fn one_program_is_shown_with_the_reasons_for_its_tier() {
    let (world, processes) = learned(LEARNING).await;
    let metrics = world.metrics().await;
    until("a sample", async || {
        metrics.sampled_usec().await.unwrap() > 0
    })
    .await;
    let (row, why) = processes.get(b"kwin").await.unwrap();
    assert_eq!(
        (row.tier.as_str(), row.avg_runtime_ns),
        ("lat_critical", 300_000)
    );
    assert_eq!((why.pinned, why.confident), (false, true));
    assert_eq!(
        (why.learned_tier.as_str(), why.votes),
        ("lat_critical", (0, 0, 10))
    );
    // 20 wake-ups and 20 switches in 100 ms, and a run far below a millisecond.
    assert_eq!(why.score, 255);
    assert_eq!(why.lat_critical_from, Some(32));
    assert!(why.interactive_from.is_some_and(|from| from < 32));
    assert_eq!((why.launches_since, why.launches_since_first), (3, 39));
    let (row, _) = processes.get(b"evil\x1b[2J").await.unwrap();
    assert!(!row.name.contains('\x1b'));

    assert_eq!(
        kind(processes.get(b"nobody").await),
        Some(BusError::NotFound)
    );
    let questions = world.polkit.questions();
    assert!(
        questions
            .iter()
            .all(|question| question.action == action::INSPECT)
    );
}

#[tokio::test]
async fn names_that_no_program_can_have_are_refused_before_anybody_is_asked() {
    let (world, processes) = learned(LEARNING).await;
    let asked = world.polkit.questions().len();
    for name in [
        b"".as_slice(),
        b"a\0b",
        b"\0",
        b"sixteen-letters!",
        &[b'x'; 4096],
    ] {
        for result in [
            processes.get(name).await.map(drop),
            processes.pin(name, "batch").await,
            processes.unpin(name).await,
            processes.forget(name).await,
        ] {
            let error = result.unwrap_err();
            assert_eq!(BusError::of(&error), Some(BusError::InvalidName));
            assert!(explain(&error).ends_with('.') && explain(&error).len() < 100);
        }
    }
    let error = processes.pin(b"kwin", "warp\x1b").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    assert!(!explain(&error).contains('\x1b'));
    let options = HashMap::from([("replase", Variant::from(true))]);
    let text = file(b"format = 1");
    let result = processes.import(text.as_fd().into(), options).await;
    assert_eq!(kind(result), Some(BusError::InvalidArgs));
    assert_eq!(world.polkit.questions().len(), asked);
}

#[tokio::test]
async fn a_pin_reaches_the_kernel_half_at_once_and_outlasts_a_restart() {
    let (mut world, processes) = learned(LEARNING).await;
    processes.pin(b"kwin", "batch").await.unwrap();
    processes.pin(b"unseen", "lat_critical").await.unwrap();
    let told = predictions(&world);
    assert!(
        told.contains("kwin=batch!") && told.contains("unseen=lat_critical!"),
        "{told}"
    );
    let (row, why) = processes.get(b"kwin").await.unwrap();
    assert_eq!((row.tier.as_str(), why.pinned), ("batch", true));
    assert_eq!(why.learned_tier, "lat_critical");
    assert_eq!(processes.count().await.unwrap(), 5);
    let pinned = ProfileFilter {
        is_pinned: Some(true),
        ..ProfileFilter::default()
    };
    let (rows, total, _) = processes.list(0, 0, pinned.to_options()).await.unwrap();
    assert_eq!(
        (names(&rows), total),
        (vec![b"kwin".as_slice(), b"unseen"], 2)
    );

    // No time to save at the end: it was saved before.
    let state_file = world.path("state/profiles.bin");
    let saved = async || {
        let bytes = std::fs::read(&state_file).unwrap_or_default();
        bytes.windows(6).any(|window| window == b"unseen")
    };
    until("it is saved", saved).await;
    world.signal(Signal::KILL);
    world.ended_within(100).await;
    world.script(&format!("record = {:?}", world.path("record")));
    world.launch(&[]).await;
    world.until_state(state::RUNNING).await;
    assert!(predictions(&world).contains("unseen=lat_critical!"));

    let processes = world.processes().await;
    processes.unpin(b"unseen").await.unwrap();
    assert!(!predictions(&world).contains("unseen"));
    assert_eq!(
        kind(processes.get(b"unseen").await),
        Some(BusError::NotFound)
    );
    assert_eq!(
        kind(processes.unpin(b"unseen").await),
        Some(BusError::NotFound)
    );
    processes.unpin(b"kwin").await.unwrap();
    assert!(predictions(&world).contains("kwin=lat_critical"), "learned");
    assert!(!predictions(&world).contains('!'));
}

#[tokio::test]
async fn a_pin_made_while_off_is_told_at_the_next_attach() {
    let (world, processes) = learned(LEARNING).await;
    world.set_mode(mode::OFF).await.unwrap();
    processes.pin(b"kwin", "batch").await.unwrap();
    assert!(!predictions(&world).contains('!'));
    world.set_mode(mode::BPF).await.unwrap();
    assert!(predictions(&world).contains("kwin=batch!"));
}

#[tokio::test]
async fn what_is_forgotten_is_gone_and_pins_stay() {
    let (world, processes) = learned(LEARNING).await;
    processes.pin(b"mpv", "lat_critical").await.unwrap();
    let generation = processes.generation().await.unwrap();
    processes.forget(b"cc1plus").await.unwrap();
    assert!(!predictions(&world).contains("cc1plus"));
    assert_eq!(
        kind(processes.forget(b"cc1plus").await),
        Some(BusError::NotFound)
    );
    assert!(processes.generation().await.unwrap() > generation);
    assert_eq!(processes.forget_all().await.unwrap(), 3);
    assert_eq!(predictions(&world), "predictions mpv=lat_critical!");
    assert_eq!(processes.count().await.unwrap(), 1);
    assert_eq!(processes.forget_all().await.unwrap(), 0);
}

#[tokio::test]
async fn too_many_pins_are_refused() {
    let (_world, processes) = learned(LEARNING).await;
    for number in 0..128 {
        processes
            .pin(format!("p{number}").as_bytes(), "batch")
            .await
            .unwrap();
    }
    let error = processes.pin(b"one-more", "batch").await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::LimitsExceeded));
    assert!(explain(&error).contains("128"));
    processes.pin(b"p0", "interactive").await.unwrap();
}

#[tokio::test]
async fn what_was_exported_is_imported_with_every_detail() {
    let (world, processes) = learned(LEARNING).await;
    processes.pin(b"mpv", "batch").await.unwrap();
    let text = exported(&processes).await;
    assert!(text.contains("kwin") && !text.contains('\x1b'), "{text}");
    let (before, ..) = processes.list(0, 0, HashMap::new()).await.unwrap();

    assert_eq!(processes.forget_all().await.unwrap(), 4);
    processes.pin(b"other", "batch").await.unwrap();
    let from = file(text.as_bytes());
    let count = processes
        .import(from.as_fd().into(), HashMap::new())
        .await
        .unwrap();
    assert_eq!(count, 4);
    assert_eq!(processes.count().await.unwrap(), 5, "merged");
    let from = file(text.as_bytes());
    let count = processes
        .import(from.as_fd().into(), replace(true))
        .await
        .unwrap();
    assert_eq!(count, 4);
    let (after, ..) = processes.list(0, 0, HashMap::new()).await.unwrap();
    assert_eq!(after, before);
    assert!(predictions(&world).contains("mpv=batch!"));
    assert_eq!(exported(&processes).await, text);

    // Through pipes as well, as `pandemonium profiles export | ssh ... import` does.
    let (mut reader, writer) = std::io::pipe().unwrap();
    let writer = OwnedFd::from(writer);
    processes.export(writer.as_fd().into()).await.unwrap();
    drop(writer);
    let mut piped = String::new();
    reader.read_to_string(&mut piped).unwrap();
    assert_eq!(piped, text);
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    drop(writer);
    let count = processes
        .import(reader.as_fd().into(), replace(false))
        .await;
    assert_eq!(count.unwrap(), 4);
}

#[tokio::test]
async fn an_import_with_anything_wrong_changes_nothing() {
    let (_world, processes) = learned(LEARNING).await;
    let before = processes.list(0, 0, HashMap::new()).await.unwrap();
    let good = "format = 1\n[[program]]\nname = \"new\"\npinned = \"batch\"\n";
    let mut huge = good.as_bytes().to_vec();
    huge.resize(1024 * 1024 + 1, b'\n');
    for (text, expected) in [
        (
            format!("{good}[[program]]\nname = \"\"\n").into_bytes(),
            BusError::InvalidArgs,
        ),
        (b"\xff\xfe".to_vec(), BusError::InvalidArgs),
        (huge, BusError::LimitsExceeded),
    ] {
        let from = file(&text);
        let error = processes
            .import(from.as_fd().into(), replace(true))
            .await
            .unwrap_err();
        assert_eq!(BusError::of(&error), Some(expected), "{error}");
        assert!(explain(&error).len() < 400);
    }
    let null = File::open("/dev/null").unwrap();
    let result = processes.import(null.as_fd().into(), replace(true)).await;
    assert_eq!(kind(result), Some(BusError::InvalidArgs));
    let read_only = File::open("/proc/self/exe").unwrap();
    let result = processes.export(read_only.as_fd().into()).await;
    assert_eq!(kind(result), Some(BusError::InvalidArgs));
    assert_eq!(processes.list(0, 0, HashMap::new()).await.unwrap(), before);
}

#[tokio::test]
async fn a_pipe_that_nobody_serves_holds_up_nobody() {
    let (world, processes) = learned(LEARNING).await;
    let (reader, _writer) = std::io::pipe().unwrap();
    let waiting = processes.clone();
    let silent = tokio::spawn(async move {
        let fd = OwnedFd::from(reader);
        waiting.import(fd.as_fd().into(), HashMap::new()).await
    });
    let metrics = world.metrics().await;
    // On a busy machine it is given up after fewer ticks.
    let mut ticks = 0;
    while ticks < 25 && !silent.is_finished() {
        let first = metrics.sampled_usec().await.unwrap();
        until("another tick", async || {
            metrics.sampled_usec().await.unwrap() > first
        })
        .await;
        ticks += usize::from(!silent.is_finished());
    }
    assert!(ticks > 0, "it answers and ticks meanwhile");
    let error = silent.await.unwrap().unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    assert!(explain(&error).contains("too long"), "{error}");
}

#[tokio::test]
async fn denied_means_nothing_is_changed_or_shown() {
    let (world, processes) = learned(LEARNING).await;
    let before = processes.list(0, 0, HashMap::new()).await.unwrap();
    let asked = world.polkit.questions().len();
    world.polkit.answer(Answer::Deny);
    let text = file(b"format = 1");
    let mut to = file(b"");
    for result in [
        processes.pin(b"kwin", "batch").await,
        processes.unpin(b"kwin").await,
        processes.forget(b"kwin").await,
        processes.forget_all().await.map(drop),
        processes
            .import(text.as_fd().into(), replace(true))
            .await
            .map(drop),
        processes.get(b"kwin").await.map(drop),
        processes.export(to.as_fd().into()).await,
    ] {
        assert_eq!(kind(result), Some(BusError::AccessDenied));
    }
    let questions = world.polkit.questions();
    let actions: Vec<_> = questions[asked..]
        .iter()
        .map(|q| q.action.as_str())
        .collect();
    let mut expected = [action::MODIFY_PROFILES; 7];
    expected[5..].fill(action::INSPECT);
    assert_eq!(actions, expected);
    assert_eq!(questions[asked].details["program"], "kwin");
    let mut text = String::new();
    to.rewind().unwrap();
    to.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
    world.polkit.answer(Answer::Allow);
    assert_eq!(processes.list(0, 0, HashMap::new()).await.unwrap(), before);
}
