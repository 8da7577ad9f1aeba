//! The binary on a bus that would start a daemon if asked: looking must not start it.

mod binary;
mod bus;

use binary::{stderr, stdout};
use bus::Bus;

#[test]
fn nothing_starts_the_daemon_by_looking_for_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let marker = dir.path().join("started");
    let bus = Bus::start(dir.path(), Some(&marker));
    for arguments in [
        &["status"][..],
        &["mode"],
        &["mode", "bpf"],
        &["profiles"],
        &["monitor", "--plain"],
        &["compositor"],
        &["compositor", "add", "sway"],
        &["domain", "set", "all"],
        &["idle-selector", "on"],
        &["bench"],
        &["bench", "idle"],
    ] {
        let output = binary::command(env!("CARGO_BIN_EXE_pandemonium"))
            .env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address)
            .args(arguments)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert_eq!(
            stderr(&output),
            "pandemonium: the daemon is not running; start it with `systemctl start pandemonium`\n"
        );
        assert_eq!(stdout(&output), "");
    }
    let check = binary::command(env!("CARGO_BIN_EXE_pandemonium"))
        .env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address)
        .arg("check")
        .output()
        .expect("it starts");
    assert!(stdout(&check).contains("installed, not running"));
    assert!(!marker.exists(), "the bus was made to start the daemon");
}
