//! What systemd is told.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use pandemonium_api::{mode, state};
use rustix::process::Signal;

use crate::harness::{World, until};

/// Receives messages until one contains this line, and returns all of them.
fn hear(socket: &UnixDatagram, line: &str) -> Vec<String> {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = socket
            .recv(&mut buffer)
            .unwrap_or_else(|_| panic!("{line} was never said, only {heard:?}"));
        heard.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        if heard
            .last()
            .is_some_and(|message| message.lines().any(|said| said.starts_with(line)))
        {
            return heard;
        }
    }
}

#[tokio::test]
async fn readiness_status_watchdog_reload_and_stop_are_told() {
    let mut world = World::prepare("[[step]]\nidle_permille = 20\n").await;
    let path = world.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut command = world.command();
    command
        .args(["--bus-address", &world.bus.address])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "20000000");
    // Without WATCHDOG_PID the setting counts for whoever inherits it.
    let child = command.env_remove("WATCHDOG_PID").spawn().unwrap();
    world.adopt(child);

    let before_ready = hear(&socket, "READY=1");
    assert!(
        before_ready
            .iter()
            .any(|message| message.contains("STATUS=running, adaptive")),
        "ready only when the result of the attach is known: {before_ready:?}"
    );
    hear(&socket, "WATCHDOG=1");
    hear(&socket, "STATUS=running, adaptive, HEAVY");

    world.signal(Signal::HUP);
    let reload = hear(&socket, "RELOADING=1");
    assert!(
        reload
            .last()
            .is_some_and(|message| message.contains("MONOTONIC_USEC=")),
        "{reload:?}"
    );
    hear(&socket, "READY=1");

    world.signal(Signal::TERM);
    hear(&socket, "STOPPING=1");
    assert!(world.ended_within(100).await.success());
}

#[tokio::test]
async fn the_watchdog_is_fed_and_readers_are_answered_while_it_attaches_but_not_for_ever() {
    // The minute that an attach may take is 30 ticks long here, and this attach takes 400.
    let mut world = World::prepare("tick_ms = 10\nbackoff_ms = 5\nattach_ms = 4000\n").await;
    let path = world.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut command = world.command();
    command
        .args(["--bus-address", &world.bus.address, "--mode", "off"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "20000000")
        .env_remove("WATCHDOG_PID");
    let child = command.spawn().unwrap();
    world.adopt(child);
    let heard = tokio::task::spawn_blocking(move || {
        hear(&socket, "STATUS=starting");
        hear(&socket, "STATUS=running")
    });
    world.wait_for_daemon().await;
    let switched = world.set_mode(mode::ADAPTIVE);
    let (switched, ()) = tokio::join!(switched, world.until_state(state::STARTING));
    switched.unwrap();
    let heard = heard.await.unwrap();
    let feeds = heard.iter().filter(|said| said.contains("WATCHDOG=1"));
    let count = feeds.count();
    assert!((30..=31).contains(&count), "{count} times");
}

#[tokio::test]
async fn a_daemon_that_cannot_attach_is_ready_and_says_why() {
    let mut world = World::prepare("foreign = \"scx_other\"").await;
    let path = world.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut command = world.command();
    command
        .args(["--bus-address", &world.bus.address])
        .env("NOTIFY_SOCKET", &path);
    let child = command.spawn().unwrap();
    world.adopt(child);
    let heard = hear(&socket, "READY=1").concat();
    assert!(
        heard.contains("STATUS=conflict: ") && heard.contains("scx_other"),
        "{heard}"
    );
    until("it stays", async || world.state().await == state::CONFLICT).await;
}
