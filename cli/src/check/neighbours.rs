//! Who else wants a say in scheduling: other sched_ext services and tuners.

use super::root::{Look, Root};
use super::{Finding, Verdict};
use crate::text::printable;

/// A program that may get in the way, by the name the kernel shows (15 bytes at most).
struct Neighbour {
    comm: &'static str,
    todo: &'static str,
}

const LOADER: &str = "it may load another scheduler; stop it before starting pandemonium";
const NICE: &str = "it changes priorities behind the scheduler's back; consider stopping it";
const TUNER: &str = "its CPU profiles are fine, its scheduler settings have no effect";

const NEIGHBOURS: [Neighbour; 7] = [
    Neighbour {
        comm: "scx_loader",
        todo: LOADER,
    },
    Neighbour {
        comm: "ananicy-cpp",
        todo: NICE,
    },
    Neighbour {
        comm: "ananicy",
        todo: NICE,
    },
    Neighbour {
        comm: "gamemoded",
        todo: NICE,
    },
    Neighbour {
        comm: "system76-schedu",
        todo: NICE,
    },
    Neighbour {
        comm: "tuned",
        todo: TUNER,
    },
    Neighbour {
        comm: "auto-cpufreq",
        todo: TUNER,
    },
];

/// Units that load another scheduler at boot, and where systemd keeps what is enabled.
const UNITS: [&str; 2] = ["scx.service", "scx_loader.service"];
const WANTS: [&str; 2] = [
    "etc/systemd/system/multi-user.target.wants",
    "etc/systemd/system/graphical.target.wants",
];

/// Processes and enabled units, one finding for each; one finding if there are none.
pub(super) fn findings(root: &Root) -> Vec<Finding> {
    let comms = match comms(root) {
        Look::Found(comms) => comms,
        Look::Absent => {
            let todo = "mount /proc";
            return vec![note(
                Verdict::Unknown,
                "/proc is not there".to_owned(),
                todo,
            )];
        }
        Look::Unreadable(why) => return vec![note(Verdict::Unknown, why, "")],
    };
    let mut findings: Vec<Finding> = comms.iter().filter_map(|comm| process(comm)).collect();
    findings.extend(
        UNITS
            .iter()
            .filter(|unit| is_enabled(root, unit))
            .map(|unit| {
                let found = format!("{unit} is enabled");
                note(
                    Verdict::Note,
                    found,
                    "it may load another scheduler at boot; disable one of the two",
                )
            }),
    );
    if findings.is_empty() {
        findings.push(note(
            Verdict::Ok,
            "no other scheduler service or tuner runs".to_owned(),
            "",
        ));
    }
    findings
}

fn note(verdict: Verdict, found: String, todo: &'static str) -> Finding {
    Finding::new("other services", verdict, found, todo).optional()
}

fn process(comm: &str) -> Option<Finding> {
    let known = NEIGHBOURS.iter().find(|neighbour| neighbour.comm == comm);
    let todo = match known {
        Some(neighbour) => neighbour.todo,
        None if comm.starts_with("scx_") => LOADER,
        None => return None,
    };
    Some(note(
        Verdict::Note,
        format!("{} is running", printable(comm)),
        todo,
    ))
}

/// The kernel's own sched_ext helper is called scx_enable_helper; only user programs load schedulers.
fn is_kernel_thread(root: &Root, pid: &str) -> bool {
    matches!(root.text(&format!("proc/{pid}/cmdline")), Look::Found(line) if line.is_empty())
}

/// The distinct names of all programs.
fn comms(root: &Root) -> Look<Vec<String>> {
    root.names("proc").map(|names| {
        let mut comms: Vec<String> = names
            .iter()
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|pid| !is_kernel_thread(root, pid))
            .filter_map(|pid| match root.text(&format!("proc/{pid}/comm")) {
                Look::Found(comm) => Some(comm),
                // A process may end while we look, or be hidden from us.
                Look::Absent | Look::Unreadable(_) => None,
            })
            .collect();
        comms.sort();
        comms.dedup();
        comms
    })
}

fn is_enabled(root: &Root, unit: &str) -> bool {
    WANTS
        .iter()
        .any(|dir| root.exists(&format!("{dir}/{unit}")) == Look::Found(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_sched_ext_scheduler_is_noticed_by_its_prefix() {
        assert!(process("scx_bpfland").is_some());
        assert!(process("scx").is_none());
        assert!(process("bash").is_none());
    }

    #[test]
    fn names_are_as_long_as_the_kernel_keeps_them() {
        assert!(
            NEIGHBOURS
                .iter()
                .all(|neighbour| neighbour.comm.len() <= 15)
        );
    }
}
