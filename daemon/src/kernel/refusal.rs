//! Why the kernel does not take the scheduler: what can be seen before, and what its errors mean.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{ErrorKind, PrintLevel};
use pandemonium_api::escape;
use thiserror::Error;

use super::AttachError;
use super::bpf::{KERNEL_TYPES, SCHED_EXT};

/// What libbpf complained about since the last attempt: its error codes alone rarely say what is wrong.
static COMPLAINT: Mutex<Complaint> = Mutex::new(Complaint {
    first: String::new(),
    has_verdict: false,
});

struct Complaint {
    /// The first one names the cause; those after it only pass it on.
    first: String,
    /// The verifier read a program and did not like it.
    has_verdict: bool,
}

fn complaint() -> MutexGuard<'static, Complaint> {
    COMPLAINT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_complaint(_: PrintLevel, text: String) {
    let mut complaint = complaint();
    complaint.has_verdict |= text.contains("BEGIN PROG LOAD LOG");
    if complaint.first.is_empty() {
        let first = text.lines().find(|line| !line.trim().is_empty());
        complaint.first = escape(first.unwrap_or_default().trim().as_bytes(), 512);
    }
}

/// Hears what libbpf complains about from now on.
pub(super) fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep_complaint)));
}

/// Why loading need not be tried, if that can be seen. Begins a new attempt.
pub(super) fn foreseen() -> Result<(), AttachError> {
    *complaint() = Complaint {
        first: String::new(),
        has_verdict: false,
    };
    if !Path::new(SCHED_EXT).exists() {
        return Err(AttachError::without_sched_ext());
    }
    if !Path::new(KERNEL_TYPES).exists() {
        return Err(AttachError::Unsupported(
            "it has no type information; boot one with CONFIG_DEBUG_INFO_BTF=y".to_owned(),
        ));
    }
    match foreign_ops() {
        Some(ops) => Err(AttachError::Foreign(ops)),
        None => Ok(()),
    }
}

/// Every program was accepted, but not the scheduler that they make up.
#[derive(Debug, Error)]
#[error("it was loaded, but not taken")]
pub(super) struct NotTaken;

/// What an error of the attempt means.
pub(super) fn explained(error: anyhow::Error) -> AttachError {
    if let Some(ops) = foreign_ops() {
        return AttachError::Foreign(ops);
    }
    let Complaint { first, has_verdict } = &*complaint();
    let kind = error.downcast_ref::<libbpf_rs::Error>().map(|e| e.kind());
    if error.is::<NotTaken>()
        && kind == Some(ErrorKind::InvalidInput)
        && let Some(cpus) = isolated_cpus()
    {
        // The kernel itself says this only in its own log.
        return AttachError::Unsupported(format!(
            "isolcpus= takes CPU {cpus} out of its scheduling; boot without that"
        ));
    }
    // The verifier says the same to programs that it does not like, whoever loads them.
    if kind == Some(ErrorKind::PermissionDenied) && !has_verdict {
        return AttachError::without_capabilities(first);
    }
    let file = error.downcast_ref::<io::Error>();
    if file.is_some_and(|e| e.kind() == io::ErrorKind::PermissionDenied) {
        return AttachError::Permission(format!(
            "read what loading takes ({error:#}); let the user of pandemoniumd read it"
        ));
    }
    AttachError::Load(if first.is_empty() {
        format!("{error:#}")
    } else {
        format!("{error:#} ({first})")
    })
}

/// The scheduler that is loaded already, if any.
fn foreign_ops() -> Option<String> {
    let ops = fs::read_to_string(Path::new(SCHED_EXT).join("root/ops")).ok()?;
    let ops = ops.trim();
    (!ops.is_empty()).then(|| escape(ops.as_bytes(), 128))
}

/// The CPUs that the kernel keeps out of its scheduling domains, if any.
fn isolated_cpus() -> Option<String> {
    let cpus = fs::read_to_string("/sys/devices/system/cpu/isolated").ok()?;
    let cpus = cpus.trim();
    (!cpus.is_empty()).then(|| cpus.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_says_is_capped_and_escaped() {
        keep_complaint(
            PrintLevel::Warn,
            format!("\n evil\x1b[2J{} \nnext", "x".repeat(999)),
        );
        let first = complaint().first.clone();
        assert!(first.starts_with(r"evil\x1b[2Jxxx"), "{first}");
        assert_eq!(first.len(), 512 + r"\x1b".len() - 1);
    }
}
