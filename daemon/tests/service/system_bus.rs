//! The system bus as people have it, in private: the distribution's bus configuration and ours, the real
//! polkitd with the shipped actions, the daemon as a user of its own, and callers of other users.

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pandemonium_api::{Scheduler1Proxy, USER};
use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;
use zbus::fdo::DBusProxy;
use zbus::{Connection, connection};

use crate::harness::{FAST, Guard, peak_kib, resident_kib, scheduler_of, until};

/// Users that every Debian has: the first stands in for the one of the package, the rules of the
/// administrator let the second and many others hold modes, and nobody cares about the last.
const SERVICE: &str = "daemon";
pub const FAVOURED: &str = "games";
pub const MANY: [&str; 16] = [
    "root", "games", "bin", "sys", "sync", "man", "lp", "mail", "news", "uucp", "proxy",
    "www-data", "backup", "list", "irc", "_apt",
];
pub const ORDINARY: &str = "nobody";

const CALLER: &str = include_str!("caller.py");
const RULE: &str = r#"polkit.addRule(function(action, subject) {
    if (action.id == "org.pandemonium.hold" && MANY.indexOf(subject.user) >= 0) {
        return polkit.Result.YES;
    }
});
"#;

/// Everything ends with the test, the bus last.
pub struct SystemBus {
    pub client: Connection,
    daemon: Guard,
    _polkit: Guard,
    _bus: Guard,
    directory: TempDir,
}

fn shipped(name: &str) -> String {
    let path = format!("{}/../data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// This program as this user, without any group of his.
fn as_user(user: &str, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", "nogroup", "--clear-groups"]);
    command.arg(program);
    command
}

impl SystemBus {
    pub async fn start() -> SystemBus {
        assert!(
            rustix::process::geteuid().is_root(),
            "callers of several users take root; run the tests with ./dev"
        );
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        for name in ["bus.d", "actions", "rules.d", "state"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
        let ours = shipped("dbus/org.pandemonium.Scheduler1.conf");
        let user = format!("user=\"{USER}\"");
        assert!(ours.contains(&user));
        let ours = ours.replace(&user, &format!("user=\"{SERVICE}\""));
        write("bus.d/ours.conf", &ours);
        let actions = shipped("polkit/org.pandemonium.policy");
        let owner = format!("unix-user:{USER}");
        assert!(actions.contains(&owner));
        let actions = actions.replace(&owner, &format!("unix-user:{SERVICE}"));
        write("actions/org.pandemonium.policy", &actions);
        write(
            "rules.d/10-test.rules",
            &RULE.replace("MANY", &format!("{MANY:?}")),
        );
        write("caller.py", CALLER);
        write(
            "interface.xml",
            &shipped("dbus/org.pandemonium.Scheduler1.xml"),
        );
        write("script.toml", FAST);
        write("config.toml", "");
        let state = File::open(path.join("state")).unwrap();
        let (uid, gid) = (Some(user_id(SERVICE)), None);
        std::os::unix::fs::fchown(&state, uid, gid).unwrap();

        let bus = start_bus(path);
        let address = address(path);
        let client = connect(&address).await;
        let polkit = start_polkit(path, &address);
        owned(&client, "org.freedesktop.PolicyKit1").await;
        let daemon = start_daemon(path, &address);
        owned(&client, pandemonium_api::BUS_NAME).await;
        SystemBus {
            client,
            daemon,
            _polkit: polkit,
            _bus: bus,
            directory,
        }
    }

    fn caller(&self, user: &str, arguments: &[&str]) -> Command {
        let mut command = as_user(user, "python3");
        command
            .arg(self.path("caller.py"))
            .arg(address(self.directory.path()))
            .arg(self.path("interface.xml"))
            .args(arguments);
        command
    }

    /// Runs `caller.py crowd` as this user; what it says, and what ends it.
    pub fn crowd(&self, user: &str) -> (String, Guard) {
        let mut command = self.caller(user, &["crowd"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        (line.trim().to_owned(), Guard(child))
    }

    /// Runs caller.py as this user; what it says, if it is content.
    pub async fn call_as(&self, user: &str, arguments: &[&str]) -> String {
        let mut command = self.caller(user, arguments);
        let run = tokio::task::spawn_blocking(move || command.output());
        let Output {
            status,
            stdout,
            stderr,
        } = run.await.unwrap().unwrap();
        let complaint = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "as {user}: {complaint}");
        String::from_utf8(stdout).unwrap()
    }

    pub async fn scheduler(&self) -> Scheduler1Proxy<'static> {
        scheduler_of(&self.client).await
    }

    /// Whether the daemon that was started is the one that still runs.
    pub fn daemon_lives(&mut self) -> bool {
        let id = Pid::from_child(&self.daemon.0);
        self.daemon.0.try_wait().unwrap().is_none() && test_kill_process(id).is_ok()
    }

    pub fn resident_kib(&self) -> u64 {
        resident_kib(self.daemon.0.id())
    }

    pub fn peak_kib(&self) -> u64 {
        peak_kib(self.daemon.0.id())
    }

    /// Everything the daemon said.
    pub fn log(&self) -> Vec<u8> {
        std::fs::read(self.path("log")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn address(directory: &Path) -> String {
    format!("unix:path={}", directory.join("socket").display())
}

fn user_id(user: &str) -> u32 {
    let output = Command::new("id").args(["-u", user]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}

async fn connect(address: &str) -> Connection {
    let mut connected = None;
    until("the bus is there", async || {
        let attempt = connection::Builder::address(address).build().await;
        connected = attempt.ok();
        connected.is_some()
    })
    .await;
    connected.unwrap()
}

async fn owned(client: &Connection, name: &'static str) {
    let bus = DBusProxy::new(client).await.unwrap();
    until(name, async || {
        let name = name.try_into().unwrap();
        bus.name_has_owner(name).await.unwrap()
    })
    .await;
}

/// With the configuration of the distribution, but for where it listens.
fn start_bus(directory: &Path) -> Guard {
    let config = directory.join("bus.conf");
    let text = format!(
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n\
         \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n<busconfig>\n\
         <include>/usr/share/dbus-1/system.conf</include>\n<includedir>{}</includedir>\n</busconfig>\n",
        directory.join("bus.d").display()
    );
    std::fs::write(&config, text).unwrap();
    // It listens before it becomes a user of its own, who may still remove the socket.
    let mut command = Command::new("dbus-daemon");
    command
        .arg(format!("--config-file={}", config.display()))
        .arg(format!("--address={}", address(directory)))
        .args(["--nofork", "--nopidfile", "--nosyslog"])
        // It tells of every service that polkitd would like to have started.
        .stderr(File::create(directory.join("bus.log")).unwrap());
    Guard(command.spawn().unwrap())
}

/// It reads fixed places, which are ours in a mount namespace of its own.
fn start_polkit(directory: &Path, address: &str) -> Guard {
    let script = r#"set -eu
        mount --bind "$1/actions" /usr/share/polkit-1/actions
        mount --bind "$1/rules.d" /etc/polkit-1/rules.d
        exec setpriv --reuid polkitd --regid polkitd --clear-groups /usr/lib/polkit-1/polkitd --no-debug"#;
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "unchanged",
            "--",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(directory)
        .env("DBUS_SYSTEM_BUS_ADDRESS", address);
    Guard(command.spawn().unwrap())
}

fn start_daemon(directory: &Path, address: &str) -> Guard {
    let mut command = as_user(SERVICE, env!("CARGO_BIN_EXE_pandemoniumd"));
    for (option, name) in [
        ("--scripted", "script.toml"),
        ("--config", "config.toml"),
        ("--state-dir", "state"),
    ] {
        command.arg(option).arg(directory.join(name));
    }
    command
        .args(["--bus-address", address])
        .env_remove("JOURNAL_STREAM")
        .env_remove("NOTIFY_SOCKET")
        .stderr(File::create(directory.join("log")).unwrap());
    Guard(command.spawn().unwrap())
}
