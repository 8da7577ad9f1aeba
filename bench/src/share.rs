//! Groups of hogs, each a process that may have a cgroup of its own: who receives how much CPU time?

use std::ffi::CString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::RwLock;
use std::sync::atomic::AtomicBool;
use std::thread;

use crate::child::{self, Role, Running};
use crate::idle::MAX_THREADS;
use crate::report::{Report, percent};
use crate::run::{self, Run, burn_until};
use crate::sys;

/// Most groups.
const MAX_GROUPS: usize = 64;

/// One group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// A plain word, which becomes the name of the process and the beginning of keys in JSON.
    pub name: String,
    /// Number of threads.
    pub threads: usize,
    /// Directory of the cgroup the process is moved to before it computes.
    pub cgroup: Option<PathBuf>,
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Group, String> {
        let mut parts = text.splitn(3, ':');
        let name = parts.next().unwrap_or("");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 15 || !name.bytes().all(is_plain) {
            return Err("a group's name is 1 to 15 letters, digits, _ or -".to_owned());
        }
        let threads = parts.next().and_then(|count| count.parse().ok());
        let threads = threads.filter(|count| (1..=MAX_THREADS).contains(count));
        let threads = threads
            .ok_or_else(|| format!("a group has 1 to {MAX_THREADS} threads, as in {name}:2"))?;
        let cgroup = parts.next().map(PathBuf::from);
        if cgroup
            .as_ref()
            .is_some_and(|dir| dir.as_os_str().is_empty())
        {
            return Err("the directory of the cgroup is missing after the colon".to_owned());
        }
        Ok(Group {
            name: name.to_owned(),
            threads,
            cgroup,
        })
    }
}

/// Runs all groups at once and reports what each received.
pub fn report(run: Run, groups: &[Group]) -> Result<Report, String> {
    check(groups)?;
    let mut running = Vec::new();
    for group in groups {
        let child = child::start(Role::Group(&group.name, group.threads))?;
        enter_cgroup(group, child.0.id())?;
        running.push(child);
    }
    // All are where they belong; from here on they compete.
    let before_ns = cpu_ns(groups, &running)?;
    for (group, child) in groups.iter().zip(&mut running) {
        let stdin = child.0.stdin.as_mut();
        stdin
            .map_or(Ok(()), |stdin| stdin.write_all(b"g"))
            .map_err(|error| format!("group {} did not start ({error})", group.name))?;
    }
    run.sleep_until(run.end_ns);
    let after_ns = cpu_ns(groups, &running)?;
    for (group, child) in groups.iter().zip(&mut running) {
        if let Ok(Some(status)) = child.0.try_wait() {
            let name = &group.name;
            return Err(format!(
                "group {name} ended early ({status}); fewer threads?"
            ));
        }
    }
    let received = after_ns.iter().zip(&before_ns);
    Ok(summarise(
        groups,
        &received
            .map(|(after, before)| after.saturating_sub(*before))
            .collect::<Vec<_>>(),
    ))
}

fn check(groups: &[Group]) -> Result<(), String> {
    if groups.len() > MAX_GROUPS {
        return Err(format!("at most {MAX_GROUPS} groups can compete"));
    }
    for (index, group) in groups.iter().enumerate() {
        if groups[..index].iter().any(|other| other.name == group.name) {
            return Err(format!("two groups have the name {}", group.name));
        }
    }
    Ok(())
}

fn enter_cgroup(group: &Group, pid: u32) -> Result<(), String> {
    let Some(dir) = &group.cgroup else {
        return Ok(());
    };
    // Not created if missing: a wrong path must not leave a file behind.
    let procs = fs::OpenOptions::new()
        .write(true)
        .open(dir.join("cgroup.procs"));
    procs
        .and_then(|mut procs| procs.write_all(pid.to_string().as_bytes()))
        .map_err(|error| {
            format!(
                "group {} cannot enter {} ({error}); it must be the directory of a cgroup that this \
                 user may write to",
                group.name,
                dir.display()
            )
        })
}

/// CPU time of each group so far, ns.
fn cpu_ns(groups: &[Group], running: &[Running]) -> Result<Vec<u64>, String> {
    let each = groups.iter().zip(running).map(|(group, child)| {
        sys::process_cpu_ns(child.0.id())
            .map_err(|error| format!("group {} cannot be measured ({error})", group.name))
    });
    each.collect()
}

fn summarise(groups: &[Group], received_ns: &[u64]) -> Report {
    let total_ns: u64 = received_ns.iter().sum();
    let each = groups.iter().zip(received_ns).map(|(group, ns)| {
        let threads = if group.threads == 1 {
            "thread"
        } else {
            "threads"
        };
        format!(
            "{} ({} {threads}) {}.{:03} s = {}",
            group.name,
            group.threads,
            ns / 1_000_000_000,
            ns / 1_000_000 % 1000,
            percent(*ns, total_ns)
        )
    });
    let text = each.collect::<Vec<_>>().join(", ");
    let report = Report::new("share", text)
        .with("groups", groups.len() as u64)
        .with("cpu_ms", total_ns / 1_000_000);
    let fields = groups.iter().zip(received_ns);
    fields.fold(report, |report, (group, ns)| {
        let permille = (u128::from(*ns) * 1000)
            .checked_div(u128::from(total_ns))
            .unwrap_or(0) as u64;
        let name = &group.name;
        report
            .with(&format!("{name}_threads"), group.threads as u64)
            .with(&format!("{name}_cpu_ms"), ns / 1_000_000)
            .with(&format!("{name}_share_permille"), permille)
    })
}

/// The process of a group: waits for its byte, then computes until it is killed.
pub fn serve(name: &str, threads: usize) -> io::Result<()> {
    sys::ignore_signals();
    let name = CString::new(name)?;
    sys::set_name(&name);
    io::stdin().read_exact(&mut [0])?;
    let never = AtomicBool::new(false);
    // Whoever starts thousands of them must not have to compete with those that run already.
    let gate = RwLock::new(());
    let closed = gate.write();
    let spin = || {
        sys::set_name(&name);
        drop(gate.read());
        burn_until(&never);
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // The threads that were started never end, so neither would the scope.
            if run::thread(scope, "wl-share", spin).is_err() {
                std::process::exit(1);
            }
        }
        drop(closed);
        spin();
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn group(text: &str) -> Group {
        text.parse().unwrap()
    }

    #[test]
    fn a_group_is_a_name_a_number_and_perhaps_a_directory() {
        assert_eq!(
            group("light:3:/sys/fs/cgroup/a:b"),
            Group {
                name: "light".into(),
                threads: 3,
                cgroup: Some("/sys/fs/cgroup/a:b".into())
            }
        );
        assert_eq!(group("a:1").cgroup, None);
        for wrong in [
            "", ":1", "a", "a:", "a:0", "a:10001", "a:x", "a\":1", "a:1:",
        ] {
            assert!(wrong.parse::<Group>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_of_what_all_groups_received() {
        let groups = [group("heavy:2"), group("light:1")];
        let report = summarise(&groups, &[3_000_000_000, 1_000_000_000]);
        assert_eq!(
            report.to_line(),
            "share: heavy (2 threads) 3.000 s = 75.0 %, light (1 thread) 1.000 s = 25.0 %"
        );
        assert_eq!(
            report.to_json(),
            "{\"workload\":\"share\",\"groups\":2,\"cpu_ms\":4000,\"heavy_threads\":2,\
             \"heavy_cpu_ms\":3000,\"heavy_share_permille\":750,\"light_threads\":1,\
             \"light_cpu_ms\":1000,\"light_share_permille\":250,\"passed\":true}"
        );
        let nothing = summarise(&groups, &[0, 0]);
        assert!(nothing.to_json().contains("\"heavy_share_permille\":0"));
    }

    #[test]
    fn equal_names_are_refused() {
        assert_eq!(
            check(&[group("a:1"), group("b:1"), group("a:2")]),
            Err("two groups have the name a".to_owned())
        );
        assert!(check(&vec![group("a:1"); MAX_GROUPS + 1]).is_err());
    }

    #[test]
    fn a_directory_that_is_no_cgroup_is_one_sentence_and_gets_no_file() {
        let dir = std::env::temp_dir().join(format!("no-cgroup-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let sentence = enter_cgroup(&group(&format!("a:1:{}", dir.display())), 1).unwrap_err();
        assert!(sentence.starts_with("group a cannot enter"), "{sentence}");
        fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn a_process_is_told_its_number_through_the_cgroups_file() {
        let dir = std::env::temp_dir().join(format!("a-cgroup-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("cgroup.procs"), "").unwrap();
        enter_cgroup(&group(&format!("a:1:{}", dir.display())), 4711).unwrap();
        assert_eq!(
            fs::read_to_string(dir.join("cgroup.procs")).unwrap(),
            "4711"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
