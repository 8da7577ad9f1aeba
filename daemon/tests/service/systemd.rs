//! What systemd is told.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use pandemonium_api::state;
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
