//! The report, and descriptors that are traps.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;

use pandemonium_api::{BusError, action, mode, state};

use crate::harness::{World, until};
use crate::pretended_polkit::Answer;

async fn write(world: &World, fd: impl Into<OwnedFd>) -> zbus::Result<()> {
    let fd = zbus::Fd::from(fd.into());
    world.scheduler().await.write_diagnostics(fd).await
}

fn text(mut file: &File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn the_report_says_what_is_published() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let metrics = world.metrics().await;
    until("a tick", async || metrics.sampled_usec().await.unwrap() > 0).await;
    world.script("[[step]]\nexit = { kind = \"sysrq\", reason = \"a test\" }\n");
    world.until_state(state::EJECTED).await;
    world.script("");
    world.set_mode(mode::BPF).await.unwrap();
    let scheduler = world.scheduler().await;
    let _held = scheduler.hold(mode::BPF, "why", "game").await.unwrap();
    until("a tick", async || metrics.sampled_usec().await.unwrap() > 0).await;
    let file = tempfile::tempfile().unwrap();
    write(&world, file.try_clone().unwrap()).await.unwrap();
    let text = text(&file);
    let uid = rustix::process::geteuid().as_raw();
    for line in [
        format!("version: {}", env!("CARGO_PKG_VERSION")),
        "state: running".to_owned(),
        format!("mode: bpf (hold of game for user {uid}: why)"),
        "requested_mode: bpf".to_owned(),
        "ops: pandemonium".to_owned(),
        "idle_selector: true".to_owned(),
        "slice_ns: 1000000".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    for part in [
        ", sysrq, code 0: a test",
        "\ndispatches: ",
        "hold: bpf, game, ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(
        world.polkit.questions().last().unwrap().action,
        action::INSPECT
    );
}

#[tokio::test]
async fn what_cannot_be_written_to_is_refused_before_anybody_is_asked() {
    let world = World::start("").await;
    let (reader, _writer) = std::io::pipe().unwrap();
    let null = File::options().write(true).open("/dev/null").unwrap();
    for fd in [OwnedFd::from(reader), null.into()] {
        let error = write(&world, fd).await.unwrap_err();
        assert_eq!(BusError::of(&error), Some(BusError::InvalidArgs));
    }
    assert!(world.polkit.questions().is_empty());
}

#[tokio::test]
async fn whoever_may_not_look_gets_nothing() {
    let world = World::start("").await;
    world.polkit.answer(Answer::Deny);
    let file = tempfile::tempfile().unwrap();
    let error = write(&world, file.try_clone().unwrap()).await.unwrap_err();
    assert_eq!(BusError::of(&error), Some(BusError::AccessDenied));
    assert_eq!(text(&file), "");
}

#[tokio::test]
async fn a_pipe_that_nobody_empties_holds_up_nobody_else() {
    let world = World::start("").await;
    world.until_state(state::RUNNING).await;
    let fill = |writer: &std::io::PipeWriter| {
        let size = rustix::pipe::fcntl_getpipe_size(writer).unwrap();
        std::io::Write::write_all(&mut &*writer, &vec![0; size]).unwrap();
    };
    let mut readers = Vec::new();
    let mut stuck = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let (reader, writer) = std::io::pipe().unwrap();
        fill(&writer);
        readers.push(reader);
        let scheduler = world.scheduler().await;
        stuck.spawn(async move {
            let fd = zbus::Fd::from(OwnedFd::from(writer));
            let error = scheduler.write_diagnostics(fd).await.unwrap_err();
            BusError::of(&error)
        });
    }
    // Which one comes last is chance; only a refusal is answered before a write was given up.
    let first_answer = stuck.join_next().await.unwrap().unwrap();
    assert_eq!(first_answer, Some(BusError::LimitsExceeded));
    let metrics = world.metrics().await;
    let first = metrics.sampled_usec().await.unwrap();
    until("the loop goes on", async || {
        metrics.sampled_usec().await.unwrap() > first
    })
    .await;
    while let Some(ended) = stuck.join_next().await {
        assert_eq!(ended.unwrap(), Some(BusError::NotSaved));
    }
    let file = tempfile::tempfile().unwrap();
    write(&world, file.try_clone().unwrap()).await.unwrap();
    assert!(text(&file).starts_with("PANDEMONIUM diagnostics\n"));
}
