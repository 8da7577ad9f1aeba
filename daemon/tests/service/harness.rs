//! A private bus, and the daemon on it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::pretended_polkit::Polkit;
use pandemonium_api::{BUS_NAME, Metrics1Proxy, OBJECT_PATH, Processes1Proxy, Scheduler1Proxy};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use zbus::fdo::{PropertiesChangedStream, PropertiesProxy};
use zbus::proxy::CacheProperties;
use zbus::{Connection, connection};

/// What every script starts with: time passes fast.
pub const FAST: &str = "tick_ms = 20\nbackoff_ms = 40\n";

const POLL: Duration = Duration::from_millis(20);
/// Half a minute: far more than anything here takes on a loaded machine.
const PATIENCE: u32 = 1_500;

/// Waits until the probe says yes.
pub async fn until<F: AsyncFnMut() -> bool>(what: &str, mut probe: F) {
    for _ in 0..PATIENCE {
        if probe().await {
            return;
        }
        tokio::time::sleep(POLL).await;
    }
    panic!("this never came true: {what}");
}

/// Checks that the probe keeps saying yes for a good number of ticks.
pub async fn stays<F: AsyncFnMut() -> bool>(what: &str, mut probe: F) {
    for _ in 0..25 {
        assert!(probe().await, "this did not last: {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// The resident memory of a process, KiB.
pub fn resident_kib(id: u32) -> u64 {
    memory_kib(id, "VmRSS:")
}

/// The most that it ever had.
pub fn peak_kib(id: u32) -> u64 {
    memory_kib(id, "VmHWM:")
}

fn memory_kib(id: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(what));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

/// The daemon as this connection sees it, without a memory of what it said.
pub async fn scheduler_of(client: &Connection) -> Scheduler1Proxy<'static> {
    let builder = Scheduler1Proxy::builder(client);
    builder
        .cache_properties(CacheProperties::No)
        .build()
        .await
        .unwrap()
}

/// Ends a process when the test ends, however that ends.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A private bus.
pub struct Bus {
    pub address: String,
    config: PathBuf,
    process: Guard,
}

/// Below a world's directory: files of services that the bus starts when somebody asks for them.
pub const SERVICES: &str = "services";

const OPEN_POLICY: &str = r#"<policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>"#;

impl Bus {
    /// A bus on which everybody may do everything. It starts whatever the directory [`SERVICES`] describes.
    pub fn start(directory: &Path) -> Bus {
        let socket = directory.join("bus");
        let services = directory.join(SERVICES);
        let config = directory.join("bus.conf");
        let text = format!(
            "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n\
             \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
             <busconfig>\n  <type>session</type>\n  <listen>unix:path={}</listen>\n  {OPEN_POLICY}\n\
             <servicedir>{}</servicedir>\n</busconfig>\n",
            socket.display(),
            services.display()
        );
        std::fs::create_dir_all(&services).unwrap();
        std::fs::write(&config, text).unwrap();
        let process = Bus::spawn(&config);
        Bus {
            address: format!("unix:path={}", socket.display()),
            config,
            process,
        }
    }

    fn spawn(config: &Path) -> Guard {
        let spawned = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| {
            panic!("dbus-daemon cannot be started ({error}); install the package \"dbus\"")
        });
        let stdout = child.stdout.take().unwrap();
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        assert!(!address.is_empty(), "dbus-daemon ended at once");
        Guard(child)
    }

    /// The bus dies and comes back at the same address.
    pub fn restart(&mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        let _ = std::fs::remove_file(self.address.trim_start_matches("unix:path="));
        self.process = Bus::spawn(&self.config);
    }

    pub async fn connect(&self) -> Connection {
        connection::Builder::address(self.address.as_str())
            .build()
            .await
            .unwrap()
    }
}

/// Everything a test needs, in one directory that goes away with it.
pub struct World {
    pub directory: TempDir,
    pub bus: Bus,
    pub polkit: Polkit,
    pub client: Connection,
    polkit_connection: Option<Connection>,
    daemon: Option<Guard>,
}

impl World {
    /// A running daemon with this script, and a polkit that allows everything.
    pub async fn start(script: &str) -> World {
        let mut world = World::prepare(script).await;
        world.launch(&[]).await;
        world
    }

    /// The same without the daemon.
    pub async fn prepare(script: &str) -> World {
        let directory = tempfile::tempdir().unwrap();
        let bus = Bus::start(directory.path());
        let client = bus.connect().await;
        let mut world = World {
            directory,
            bus,
            polkit: Polkit::default(),
            client,
            polkit_connection: None,
            daemon: None,
        };
        world.script(script);
        std::fs::write(world.path("config.toml"), "").unwrap();
        world.start_polkit().await;
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Replaces the script; the kernel of a running daemon follows. Time passes fast unless the script
    /// says otherwise.
    pub fn script(&self, text: &str) {
        let next = self.path("script.next");
        let pace = if text.contains("tick_ms") { "" } else { FAST };
        std::fs::write(&next, format!("{pace}{text}")).unwrap();
        std::fs::rename(next, self.path("script.toml")).unwrap();
    }

    pub async fn start_polkit(&mut self) {
        let connection = connection::Builder::address(self.bus.address.as_str())
            .serve_at("/org/freedesktop/PolicyKit1/Authority", self.polkit.clone())
            .name("org.freedesktop.PolicyKit1")
            .build()
            .await
            .unwrap();
        self.polkit_connection = Some(connection);
    }

    pub async fn stop_polkit(&mut self) {
        if let Some(connection) = self.polkit_connection.take() {
            connection.close().await.unwrap();
        }
    }

    /// The command line that every daemon of this world has in common.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pandemoniumd"));
        command
            .arg("--scripted")
            .arg(self.path("script.toml"))
            .arg("--config")
            .arg(self.path("config.toml"))
            .arg("--state-dir")
            .arg(self.path("state"))
            .env_remove("JOURNAL_STREAM")
            .env_remove("NOTIFY_SOCKET");
        command
    }

    /// Starts the daemon and waits until it is on the bus.
    pub async fn launch(&mut self, arguments: &[&str]) {
        let mut command = self.command();
        command
            .args(["--bus-address", &self.bus.address])
            .args(arguments);
        self.daemon = Some(Guard(command.spawn().unwrap()));
        self.wait_for_daemon().await;
    }

    pub async fn wait_for_daemon(&self) {
        until("the daemon is on the bus", async || {
            self.scheduler().await.state().await.is_ok()
        })
        .await;
    }

    pub fn adopt(&mut self, child: Child) {
        self.daemon = Some(Guard(child));
    }

    pub fn signal(&self, signal: Signal) {
        let id = self.daemon.as_ref().unwrap().0.id();
        kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal).unwrap();
    }

    /// The daemon's resident memory, KiB.
    pub fn resident_kib(&self) -> u64 {
        resident_kib(self.daemon.as_ref().unwrap().0.id())
    }

    /// Waits for the daemon's end, at most this many polls of 20 ms.
    pub async fn ended_within(&mut self, polls: u32) -> ExitStatus {
        let daemon = self.daemon.as_mut().unwrap();
        for _ in 0..polls {
            if let Some(status) = daemon.0.try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(POLL).await;
        }
        panic!("the daemon did not leave");
    }

    pub async fn scheduler(&self) -> Scheduler1Proxy<'static> {
        scheduler_of(&self.client).await
    }

    pub async fn metrics(&self) -> Metrics1Proxy<'static> {
        let builder = Metrics1Proxy::builder(&self.client);
        builder
            .cache_properties(CacheProperties::No)
            .build()
            .await
            .unwrap()
    }

    pub async fn processes(&self) -> Processes1Proxy<'static> {
        let builder = Processes1Proxy::builder(&self.client);
        builder
            .cache_properties(CacheProperties::No)
            .build()
            .await
            .unwrap()
    }

    /// What is announced from now on.
    pub async fn changes(&self) -> PropertiesChangedStream {
        let builder = PropertiesProxy::builder(&self.client)
            .destination(BUS_NAME)
            .path(OBJECT_PATH);
        builder
            .build()
            .await
            .unwrap()
            .receive_properties_changed()
            .await
            .unwrap()
    }

    pub async fn set_mode(&self, mode: &str) -> zbus::Result<()> {
        self.scheduler().await.set_mode(mode, HashMap::new()).await
    }

    pub async fn state(&self) -> String {
        self.scheduler().await.state().await.unwrap()
    }

    pub async fn until_state(&self, state: &str) {
        until(&format!("state {state}"), async || {
            self.state().await == state
        })
        .await;
    }
}
