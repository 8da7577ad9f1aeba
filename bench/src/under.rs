//! The scheduler that a benchmark runs under: started and ended here, watched meanwhile, and accounted for.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::results::EEVDF;
use crate::suite::Figures;
use crate::sys;

const STATE: &str = "/sys/kernel/sched_ext/state";
/// What that says while a scheduler is loaded.
const ENABLED: &str = "enabled";
const LOADS: &str = "/sys/kernel/sched_ext/enable_seq";
const TRACING: &str = "/sys/kernel/tracing";
/// What a trace needs to be on, below that; the last one stops it.
const SWITCHES: [&str; 4] = [
    "events/sched/sched_switch/enable",
    "events/sched/sched_waking/enable",
    "events/sched_ext/sched_ext_dump/enable",
    "tracing_on",
];
/// How long a scheduler may take to attach or to go, in virtual time too.
const PATIENCE_NS: u64 = 60_000_000_000;
/// What a scheduler costs per second is not known before this: what follows a start is no steady state.
const STEADY_NS: u64 = 10_000_000_000;
/// How often to look: in exact virtual time each look lengthens what it looks at.
const GLANCE_NS: u64 = 5_000_000;
/// Lines of the kernel's log and of the trace that are kept of a crash.
const LOG_LINES: usize = 200;
const TRACE_LINES: usize = 400;

/// A scheduler that was started for a benchmark, or the kernel's own.
#[derive(Debug)]
pub struct Under {
    daemon: Option<Child>,
    /// What the kernel said when this began.
    state: String,
    /// How often the kernel has loaded a scheduler since it started, if it says so.
    loads: Option<u64>,
    /// From the start of its process until the kernel said that it is loaded.
    attach_ns: u64,
    /// When that was, and what its process had used until then: loading is paid once.
    since_ns: u64,
    used_before_ns: u64,
}

impl Under {
    /// The kernel's own scheduler, or whatever is loaded already.
    pub fn as_it_is() -> Under {
        Under {
            daemon: None,
            state: read(STATE),
            loads: loads(),
            attach_ns: 0,
            since_ns: 0,
            used_before_ns: 0,
        }
    }

    /// Starts a scheduler, and returns once the kernel says that it is loaded. If it does not come to that, the error
    /// has what there is to know, with the trace if there is one.
    pub fn start(command: &str, is_traced: bool) -> Result<Under, String> {
        if read(STATE) != "disabled" {
            return Err(format!(
                "a scheduler is loaded already, or none can be: {STATE} says {:?}",
                read(STATE)
            ));
        }
        let mut words = command.split_whitespace();
        let program = words.next().ok_or("--start needs a command")?;
        // The kernel counts a little later than it says that a scheduler is loaded.
        let loads = loads().map(|before| before + 1);
        let start_ns = sys::now_ns();
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null());
        // What it says is kept for the case that it fails; on the console it would be in the way.
        let said = said()?;
        let copy = said.try_clone().map_err(|error| cannot_keep(&error))?;
        command.stdout(said).stderr(copy);
        sys::tie_to_parent(&mut command);
        let mut daemon = command.spawn().map_err(|error| {
            let _ = fs::remove_file(said_file());
            format!("{program} cannot be started ({error})")
        })?;
        let is_loaded =
            wait_until(|| read(STATE) == ENABLED || !matches!(daemon.try_wait(), Ok(None)));
        let attach_ns = sys::now_ns().saturating_sub(start_ns);
        let mut under = Under {
            used_before_ns: sys::process_cpu_ns(daemon.id()).unwrap_or(0),
            daemon: Some(daemon),
            state: read(STATE),
            loads,
            attach_ns,
            since_ns: sys::now_ns(),
        };
        if !is_loaded || read(STATE) != ENABLED {
            let crash = tell_crash(false, is_traced);
            under.stop();
            return Err(format!("{program} did not load its scheduler\n{crash}"));
        }
        Ok(under)
    }

    /// A scheduler that the kernel has ended.
    #[cfg(test)]
    pub(crate) fn ended() -> Under {
        let mut under = Under::as_it_is();
        under.state.push_str(" before");
        under
    }

    /// Fails if the scheduler was ejected or loaded anew, or somebody loaded another one.
    pub fn check(&self) -> Result<(), String> {
        let state = read(STATE);
        if state == self.state && loads() == self.loads {
            return Ok(());
        }
        Err(if state == self.state {
            "the scheduler was loaded anew".to_owned()
        } else {
            format!("the scheduler is {state} now, and was {}", self.state)
        })
    }

    /// What the scheduler itself costs so far; nothing for the kernel's own.
    pub fn figures(&self) -> Figures {
        let Some(daemon) = &self.daemon else {
            return Figures::new();
        };
        let elapsed_ns = sys::now_ns().saturating_sub(self.since_ns);
        let used_ns = sys::process_cpu_ns(daemon.id()).unwrap_or(0);
        let used_ns = used_ns.saturating_sub(self.used_before_ns);
        let mut figures = vec![("attach_ms", self.attach_ns as f64 / 1e6)];
        if elapsed_ns >= STEADY_NS {
            figures.push(("cpu_pct", used_ns as f64 * 100.0 / elapsed_ns as f64));
        }
        if let Some(kib) = resident_kib(daemon.id()) {
            figures.push(("rss_mib", kib as f64 / 1024.0));
        }
        figures
    }

    /// Ends the scheduler and waits until the kernel's own is back.
    pub fn stop(&mut self) {
        let Some(mut daemon) = self.daemon.take() else {
            return;
        };
        sys::terminate(daemon.id());
        let mut is_gone = || !matches!(daemon.try_wait(), Ok(None));
        if !wait_until(&mut is_gone) {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        wait_until(|| read(STATE) != ENABLED && read(STATE) != "disabling");
        let _ = fs::remove_file(said_file());
    }
}

impl Drop for Under {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The kernel's trace of a benchmark. When this goes, every switch is what it was before: a machine that goes on after
/// its benchmark must not pay for it.
#[derive(Debug)]
pub struct Trace {
    /// Switches and their former values, in the order in which they were changed.
    before: Vec<(PathBuf, String)>,
}

impl Trace {
    fn start_in(dir: &Path) -> Trace {
        // What is in it is of an earlier crash, or of somebody else.
        let _ = fs::write(dir.join("trace"), "");
        let mut before = Vec::new();
        for switch in SWITCHES {
            let file = dir.join(switch);
            let Ok(value) = fs::read_to_string(&file) else {
                continue;
            };
            let _ = fs::write(&file, "1");
            // A mark may follow, which cannot be written back.
            before.push((file, value.chars().take(1).collect()));
        }
        Trace { before }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        for (file, value) in self.before.iter().rev() {
            let _ = fs::write(file, value);
        }
    }
}

/// Fails if another scheduler than the kernel's own is loaded, which results would then be called.
pub fn require_own_of_kernel() -> Result<(), String> {
    if read(STATE) == ENABLED {
        return Err(format!(
            "a sched_ext scheduler is loaded, so this is not {EEVDF}: --scheduler says what it is"
        ));
    }
    Ok(())
}

/// Lets the kernel keep what happens, so that a crash can be told; best effort, and only root may.
pub fn start_trace() -> Trace {
    Trace::start_in(Path::new(TRACING))
}

/// Keeps what the trace has.
pub fn stop_trace() {
    let _ = fs::write(format!("{TRACING}/tracing_on"), "0");
}

/// The end of the kernel's log and of the trace, for the log of a benchmark. With `dump` a scheduler that is still
/// loaded is asked for its own view first. A trace that is somebody else's is left alone.
pub fn tell_crash(dump: bool, is_traced: bool) -> String {
    if dump {
        let _ = fs::write("/proc/sysrq-trigger", "D");
    }
    let mut trace = String::new();
    if is_traced {
        stop_trace();
        let bytes = fs::read(format!("{TRACING}/trace")).unwrap_or_default();
        trace = String::from_utf8_lossy(&bytes).into_owned();
    }
    let log = Command::new("dmesg").output();
    let log = log.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    format!(
        "{}{}{}",
        last_lines("scheduler", &read(&said_file()), LOG_LINES),
        last_lines("kernel", &log.unwrap_or_default(), LOG_LINES),
        last_lines("trace", &trace, TRACE_LINES)
    )
}

/// The file with what the scheduler said.
fn said_file() -> String {
    let name = format!("pandemonium-bench-{}.log", std::process::id());
    std::env::temp_dir().join(name).display().to_string()
}

fn said() -> Result<File, String> {
    let file = File::options()
        .write(true)
        .create_new(true)
        .open(said_file());
    file.map_err(|error| cannot_keep(&error))
}

fn cannot_keep(error: &io::Error) -> String {
    format!("{} cannot be written ({error})", said_file())
}

fn last_lines(word: &str, text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(count);
    let each = lines[from..].iter();
    each.map(|line| format!("{word}: {line}\n")).collect()
}

fn wait_until(mut is_done: impl FnMut() -> bool) -> bool {
    let give_up_ns = sys::now_ns() + PATIENCE_NS;
    while sys::now_ns() < give_up_ns {
        if is_done() {
            return true;
        }
        sys::sleep_until(sys::now_ns() + GLANCE_NS);
    }
    false
}

fn loads() -> Option<u64> {
    read(LOADS).parse().ok()
}

fn read(file: &str) -> String {
    fs::read_to_string(file)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Resident memory of a process, KiB.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::child::ScratchDir;

    #[test]
    fn the_kernels_own_scheduler_costs_nothing_and_stays() {
        let mut under = Under::as_it_is();
        under.check().unwrap();
        assert_eq!(under.figures(), Figures::new());
        under.stop();
    }

    #[test]
    fn a_trace_begins_empty_and_leaves_every_switch_as_it_was() {
        let dir = ScratchDir::create().unwrap();
        let former = ["0\n", "1\n", "0*\n", "0\n"];
        for (switch, value) in SWITCHES.iter().zip(former) {
            let file = dir.0.join(switch);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, value).unwrap();
        }
        fs::write(dir.0.join("trace"), "of the crash before").unwrap();
        let now = || SWITCHES.map(|switch| fs::read_to_string(dir.0.join(switch)).unwrap());
        let trace = Trace::start_in(&dir.0);
        assert_eq!(now(), ["1"; 4], "after a crash tracing_on is 0");
        assert_eq!(fs::read_to_string(dir.0.join("trace")).unwrap(), "");
        drop(trace);
        assert_eq!(now(), ["0", "1", "0", "0"]);
    }

    #[test]
    fn where_nothing_can_be_traced_nothing_is_written() {
        let dir = ScratchDir::create().unwrap();
        drop(Trace::start_in(&dir.0.join("nowhere")));
        assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 0);
    }

    #[test]
    fn only_the_end_of_a_log_is_kept() {
        assert_eq!(last_lines("log", "a\nb\nc\n", 2), "log: b\nlog: c\n");
        assert_eq!(last_lines("log", "", 2), "");
    }

    #[test]
    fn a_process_says_how_much_memory_it_holds() {
        assert!(resident_kib(std::process::id()).unwrap() > 100);
    }
}
