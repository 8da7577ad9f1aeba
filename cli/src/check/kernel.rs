//! Questions to the kernel: its version, how it was built, and which scheduler it runs.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::GzDecoder;

use pandemonium_api::NEEDED_KFUNCS;

use super::root::{Look, Root};
use super::{Finding, Verdict};
use crate::text::printable;

/// sched_ext came with this version.
const OLDEST: (u32, u32) = (6, 12);
/// What the kernel must have been built with, and the name of the question.
const OPTIONS: [&str; 4] = [
    "CONFIG_SCHED_CLASS_EXT",
    "CONFIG_BPF_SYSCALL",
    "CONFIG_BPF_JIT",
    "CONFIG_DEBUG_INFO_BTF",
];
/// An unpacked configuration is a few hundred KiB; this only stops a decompression bomb.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// Every finding about the kernel, in the order of their importance.
pub(super) fn findings(root: &Root) -> Vec<Finding> {
    let release = root.text("proc/sys/kernel/osrelease");
    let mut findings = vec![version(&release), sched_ext(root)];
    findings.extend(configuration(root, &release));
    findings.push(btf(root));
    findings.extend(kfuncs(root));
    findings.extend(isolation(root));
    findings.push(scheduler(root));
    findings
}

fn version(release: &Look<String>) -> Finding {
    const NAME: &str = "kernel version";
    let release = match release {
        Look::Found(release) => release,
        Look::Absent => {
            let todo = "mount /proc";
            return Finding::new(NAME, Verdict::Unknown, "/proc is not there", todo);
        }
        Look::Unreadable(why) => return Finding::new(NAME, Verdict::Unknown, why, ""),
    };
    match major_minor(release) {
        Some(version) if version >= OLDEST => Finding::ok(NAME, printable(release)),
        Some(_) => Finding::new(
            NAME,
            Verdict::Problem,
            format!(
                "{} is older than {}.{}",
                printable(release),
                OLDEST.0,
                OLDEST.1
            ),
            "install kernel 6.12 or newer and start it",
        ),
        None => {
            let found = format!("{:?} is not a version this program understands", release);
            Finding::new(NAME, Verdict::Unknown, found, "")
        }
    }
}

fn major_minor(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn sched_ext(root: &Root) -> Finding {
    const NAME: &str = "sched_ext";
    match root.sysfs_exists("sched_ext") {
        Look::Found(()) => Finding::ok(NAME, "/sys/kernel/sched_ext is there"),
        Look::Absent => Finding::new(
            NAME,
            Verdict::Problem,
            "the running kernel has no sched_ext",
            "start a kernel built with CONFIG_SCHED_CLASS_EXT=y",
        ),
        Look::Unreadable(why) => Finding::new(NAME, Verdict::Unknown, why, ""),
    }
}

/// One finding for each option, or a single one where the kernel does not tell how it was built.
fn configuration(root: &Root, release: &Look<String>) -> Vec<Finding> {
    let Some((path, text)) = config_text(root, release) else {
        // What the options lead to is asked directly elsewhere, so this alone stops nothing.
        let found = "neither /proc/config.gz nor a file for this kernel in /boot can be read";
        return vec![Finding::new("kernel options", Verdict::Unknown, found, "").optional()];
    };
    OPTIONS
        .iter()
        .map(|option| option_finding(option, &path, &text))
        .collect()
}

fn option_finding(option: &'static str, path: &str, config: &str) -> Finding {
    let value = config
        .lines()
        .find_map(|line| line.strip_prefix(option)?.strip_prefix('='));
    match value.map(str::trim) {
        Some("y") => Finding::ok(option, "y"),
        Some(value) => Finding::new(
            option,
            Verdict::Problem,
            format!("{} in {path}", printable(value)),
            "start a kernel built with it",
        ),
        None => Finding::new(
            option,
            Verdict::Problem,
            format!("not set in {path}"),
            "start a kernel built with it",
        ),
    }
}

/// The configuration of the running kernel and where it was found.
fn config_text(root: &Root, release: &Look<String>) -> Option<(String, String)> {
    if let Look::Found(packed) = root.bytes("proc/config.gz") {
        let mut text = String::new();
        let unpacked = GzDecoder::new(packed.as_slice())
            .take(MAX_CONFIG_BYTES)
            .read_to_string(&mut text);
        if unpacked.is_ok() {
            return Some(("/proc/config.gz".to_owned(), text));
        }
    }
    let Look::Found(release) = release else {
        return None;
    };
    if release.contains('/') {
        return None;
    }
    [
        format!("boot/config-{release}"),
        format!("lib/modules/{release}/config"),
    ]
    .into_iter()
    .find_map(|path| match root.text(&path) {
        Look::Found(text) => Some((format!("/{path}"), text)),
        _ => None,
    })
}

fn btf(root: &Root) -> Finding {
    const NAME: &str = "kernel BTF";
    match root.sysfs_exists("btf/vmlinux") {
        Look::Found(()) => Finding::ok(NAME, "/sys/kernel/btf/vmlinux is there"),
        Look::Absent => Finding::new(
            NAME,
            Verdict::Problem,
            "there is no /sys/kernel/btf/vmlinux",
            "start a kernel built with CONFIG_DEBUG_INFO_BTF=y",
        ),
        Look::Unreadable(why) => Finding::new(NAME, Verdict::Unknown, why, ""),
    }
}

/// Whether programs can call the kernel functions the scheduler needs. Since 7.0 a function with a
/// hidden argument has its full prototype under the name with `_impl`; some builds lack it.
fn kfuncs(root: &Root) -> Option<Finding> {
    const NAME: &str = "kernel functions";
    let Look::Found(btf) = root.bytes("sys/kernel/btf/vmlinux") else {
        return None;
    };
    let names: HashSet<&[u8]> = btf
        .split(|&byte| byte == 0)
        .filter(|name| name.starts_with(b"scx_bpf_") || name.starts_with(b"bpf_iter_scx_"))
        .collect();
    if names.is_empty() {
        return None;
    }
    let are_split = names.iter().any(|name| name.ends_with(b"_impl"));
    let is_callable = |name: &str| {
        names.contains(name.as_bytes())
            && (!are_split || names.contains(format!("{name}_impl").as_bytes()))
    };
    let missing = NEEDED_KFUNCS.into_iter().find(|name| !is_callable(name));
    Some(match missing {
        None => Finding::ok(NAME, "all that are needed can be called"),
        Some(name) => Finding::new(
            NAME,
            Verdict::Note,
            format!("this build may lack the full prototype of {name}"),
            "if the scheduler does not load, install another build of the kernel",
        )
        .optional(),
    })
}

/// Whether the kernel was told to keep CPUs out of its scheduling, which sched_ext refuses to work with. Control
/// groups isolate CPUs as well, and that is fine.
fn isolation(root: &Root) -> Option<Finding> {
    let (Look::Found(cpus), Look::Found(parameters)) = (
        root.text("sys/devices/system/cpu/isolated"),
        root.text("proc/cmdline"),
    ) else {
        return None;
    };
    let is_told = parameters
        .split_ascii_whitespace()
        .any(|parameter| parameter.starts_with("isolcpus="));
    (is_told && !cpus.is_empty()).then(|| {
        Finding::new(
            "isolated CPUs",
            Verdict::Problem,
            format!("isolcpus= takes CPU {} out of scheduling", printable(&cpus)),
            "start the kernel without isolcpus=",
        )
    })
}

fn scheduler(root: &Root) -> Finding {
    const NAME: &str = "scheduler";
    let ops = match root.text("sys/kernel/sched_ext/root/ops") {
        Look::Found(ops) if !ops.is_empty() => ops,
        Look::Unreadable(why) => return Finding::new(NAME, Verdict::Unknown, why, "").optional(),
        Look::Found(_) | Look::Absent => return without_ops(root),
    };
    if ops.starts_with("pandemonium") {
        return Finding::ok(NAME, format!("{} is loaded", printable(&ops)));
    }
    Finding::new(
        NAME,
        Verdict::Problem,
        format!("another sched_ext scheduler is loaded: {}", printable(&ops)),
        "stop the service that started it; the kernel takes one at a time",
    )
}

/// No scheduler is named: that is the kernel's own, unless sched_ext says it is busy.
fn without_ops(root: &Root) -> Finding {
    const NAME: &str = "scheduler";
    let unknown = |found| Finding::new(NAME, Verdict::Unknown, found, "").optional();
    match (
        root.text("sys/kernel/sched_ext/state"),
        root.sysfs_exists("sched_ext"),
    ) {
        (Look::Found(state), _) if state != "disabled" => unknown(format!(
            "sched_ext is {} and names no scheduler",
            printable(&state)
        )),
        (Look::Unreadable(why), _) | (Look::Absent, Look::Unreadable(why)) => unknown(why),
        _ => Finding::ok(NAME, "the kernel's own"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kfuncs_of(names: &str) -> Option<Finding> {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("sys/kernel/btf/vmlinux");
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        std::fs::write(file, names.replace(' ', "\0")).expect("a file");
        kfuncs(&Root::new(dir.path()).expect("a root"))
    }

    #[test]
    fn a_kernel_build_without_full_prototypes_is_noted() {
        let whole = NEEDED_KFUNCS.join(" ");
        let split = NEEDED_KFUNCS
            .map(|name| format!("{name} {name}_impl"))
            .join(" ");
        let verdict = |names: &str| kfuncs_of(names).map(|finding| finding.verdict);
        assert_eq!(verdict(&format!(" {whole} ")), Some(Verdict::Ok));
        assert_eq!(verdict(&format!(" {split} ")), Some(Verdict::Ok));
        assert_eq!(
            verdict(&format!(" {whole} scx_bpf_now_impl ")),
            Some(Verdict::Note)
        );
        assert_eq!(verdict(" scx_bpf_now "), Some(Verdict::Note));
        assert_eq!(verdict(" nothing of the kind "), None);
    }

    fn isolation_of(cpus: &str, parameters: &str) -> Option<Verdict> {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in [
            ("sys/devices/system/cpu/isolated", cpus),
            ("proc/cmdline", parameters),
        ] {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            std::fs::write(file, text).expect("a file");
        }
        let root = Root::new(dir.path()).expect("a root");
        isolation(&root).map(|finding| finding.verdict)
    }

    #[test]
    fn cpus_that_the_kernel_was_told_to_isolate_are_a_problem() {
        let told = Some(Verdict::Problem);
        assert_eq!(isolation_of("1-3\n", "quiet isolcpus=1-3 ro\n"), told);
        assert_eq!(isolation_of("\n", "quiet isolcpus=nohz,1\n"), None);
        assert_eq!(isolation_of("1-3\n", "quiet noisolcpus=1\n"), None);
        assert_eq!(isolation_of("\n", "quiet\n"), None);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(major_minor("6.12.107-scx"), Some((6, 12)));
        assert_eq!(major_minor("7.2+debug"), Some((7, 2)));
        assert_eq!(major_minor("six"), None);
        assert_eq!(major_minor(""), None);
        let old = version(&Look::Found("6.9.1".to_owned()));
        assert_eq!(old.verdict, Verdict::Problem);
        let new = version(&Look::Found("10.0.0".to_owned()));
        assert_eq!(new.verdict, Verdict::Ok);
    }

    #[test]
    fn an_option_is_its_whole_name() {
        let config = "CONFIG_BPF_JIT_ALWAYS_ON=y\n# CONFIG_BPF_JIT is not set\n";
        assert_eq!(
            option_finding("CONFIG_BPF_JIT", "x", config).verdict,
            Verdict::Problem
        );
        assert_eq!(
            option_finding("CONFIG_BPF_JIT", "x", "CONFIG_BPF_JIT=y\n").verdict,
            Verdict::Ok
        );
    }
}
