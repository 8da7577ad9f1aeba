//! The binary on a bus that would start a daemon if asked: looking must not start it.

mod binary;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use binary::{stderr, stdout};

/// A private bus; gone with this value.
struct Bus {
    child: Child,
    address: String,
}

impl Bus {
    /// Starts a bus that knows a service by our name, whose program leaves `marker` behind.
    fn start(dir: &Path, marker: &Path) -> Bus {
        let service = format!(
            "[D-BUS Service]\nName=org.pandemonium.Scheduler1\nExec=/usr/bin/touch {}\n",
            marker.display()
        );
        std::fs::write(dir.join("pandemonium.service"), service).expect("a service file");
        let config = format!(
            "<busconfig><type>session</type><listen>unix:tmpdir={0}</listen>\
             <servicedir>{0}</servicedir><policy context=\"default\"><allow send_destination=\"*\"/>\
             <allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>",
            dir.display()
        );
        let config_path = dir.join("bus.conf");
        std::fs::write(&config_path, config).expect("a configuration");
        let mut child = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config_path.display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is installed");
        let mut address = String::new();
        let printed = child.stdout.take().expect("a pipe");
        BufReader::new(printed)
            .read_line(&mut address)
            .expect("an address");
        Bus {
            child,
            address: address.trim().to_owned(),
        }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nothing_starts_the_daemon_by_looking_for_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let marker = dir.path().join("started");
    let bus = Bus::start(dir.path(), &marker);
    for arguments in [
        &["status"][..],
        &["mode"],
        &["mode", "bpf"],
        &["profiles"],
        &["monitor", "--plain"],
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
