//! A bus of the test's own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A private bus; gone with this value.
pub struct Bus {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Bus {
    /// Starts a bus; with `marker` it knows a service by our name, whose program leaves that behind.
    pub fn start(dir: &Path, marker: Option<&Path>) -> Bus {
        if let Some(marker) = marker {
            let service = format!(
                "[D-BUS Service]\nName=org.pandemonium.Scheduler1\nExec=/usr/bin/touch {}\n",
                marker.display()
            );
            std::fs::write(dir.join("pandemonium.service"), service).expect("a service file");
        }
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
