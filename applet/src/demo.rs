//! A pretended machine on a private bus: the real daemon with a scripted kernel, and a polkit that
//! allows everything. Nothing of this machine is touched and no privilege is needed.

mod polkit;
mod script;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::arguments::Arguments;
use crate::clock::Clock;

/// A bus on which everybody may do everything; only this user can reach it.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=@DIR@</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"#;

/// The demo; it ends when this is dropped.
pub struct Demo {
    // The order of their ends: the daemon, its bus, their files.
    _daemon: Guard,
    _bus: Guard,
    _directory: TempDir,
    address: String,
    clock: Clock,
}

/// A process that ends with us.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Demo {
    /// Starts all of it. The error is a sentence.
    pub fn start(arguments: &Arguments) -> Result<Demo, String> {
        let directory = TempDir::with_prefix("pandemonium-demo-")
            .map_err(|error| format!("no directory for the demo can be made: {error}"))?;
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| {
            fs::write(path(name), text)
                .map_err(|error| format!("the demo cannot write {name}: {error}"))
        };
        write(
            "bus.conf",
            &BUS.replace("@DIR@", &directory.path().to_string_lossy()),
        )?;
        let script = match &arguments.demo_script {
            Some(file) => file.clone(),
            None => {
                write("script.toml", &script::text(arguments.demo_speed))?;
                path("script.toml")
            }
        };
        write("config.toml", "")?;
        let (bus, address) = start_bus(&path("bus.conf"))?;
        polkit::serve(&address)?;
        let daemon = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .arg(daemon_program()?)
            .arg("--scripted")
            .arg(script)
            .arg("--config")
            .arg(path("config.toml"))
            .arg("--state-dir")
            .arg(path("state"))
            .args(["--bus-address", &address])
            .env_remove("NOTIFY_SOCKET")
            .env_remove("JOURNAL_STREAM")
            .spawn()
            .map_err(|error| format!("the daemon of the demo cannot be started: {error}"))?;
        println!("{address}");
        Ok(Demo {
            _daemon: Guard(daemon),
            _bus: bus,
            _directory: directory,
            address,
            clock: Clock::fast(arguments.demo_speed),
        })
    }

    /// Where the bus is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The demo's time.
    pub fn clock(&self) -> Clock {
        self.clock
    }
}

fn start_bus(config: &Path) -> Result<(Guard, String), String> {
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "--", "dbus-daemon"])
        .arg(format!("--config-file={}", config.display()))
        .args(["--nofork", "--nopidfile", "--print-address=1"])
        .stdout(Stdio::piped())
        // It complains that it may not raise its limits, which nobody here needs to know.
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the bus of the demo cannot be started: {error}"))?;
    let stdout = child.stdout.take();
    let guard = Guard(child);
    let mut address = String::new();
    if let Some(stdout) = stdout {
        let _ = BufReader::new(stdout).read_line(&mut address);
    }
    match address.trim_end() {
        "" => Err("the bus of the demo ended at once; is dbus-daemon installed?".to_owned()),
        address => Ok((guard, address.to_owned())),
    }
}

/// The daemon that belongs to this program: beside it in a build, in libexec when installed.
fn daemon_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let beside = own.parent().map(|dir| dir.join("pandemoniumd"));
    let installed = own
        .parent()
        .and_then(Path::parent)
        .map(|prefix| prefix.join("libexec/pandemoniumd"));
    [beside, installed]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
        .ok_or_else(|| "the demo needs pandemoniumd, which is not installed".to_owned())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A bus of its own; it ends when this is dropped.
    pub struct Bus {
        _bus: Guard,
        _directory: TempDir,
        address: String,
    }

    impl Bus {
        /// Where it is.
        pub fn address(&self) -> &str {
            &self.address
        }
    }

    /// Starts one.
    pub fn bus() -> Bus {
        let directory = TempDir::with_prefix("pandemonium-test-").expect("a directory");
        let config = directory.path().join("bus.conf");
        let text = BUS.replace("@DIR@", &directory.path().to_string_lossy());
        fs::write(&config, text).expect("is written");
        let (bus, address) = start_bus(&config).expect("a bus");
        Bus {
            _bus: bus,
            _directory: directory,
            address,
        }
    }
}
