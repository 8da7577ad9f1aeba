//! The run time of the program that selects a CPU, as the kernel counts it. This is the only file of
//! the command line that makes system calls by hand: bpf(2) has no safe wrapper without libbpf.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What the kernel keeps of `pandemonium_select_cpu`.
const NAME: &[u8] = b"pandemonium_sel";

// Values of include/uapi/linux/bpf.h.
const PROG_GET_NEXT_ID: libc::c_int = 11;
const PROG_GET_FD_BY_ID: libc::c_int = 13;
const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const ENABLE_STATS: libc::c_int = 32;
const STATS_RUN_TIME: u32 = 0;
const PROG_TYPE_STRUCT_OPS: u32 = 27;

/// The part of `union bpf_attr` that speaks of ids.
#[repr(C)]
#[derive(Default)]
struct IdAttr {
    /// Of a program, or the one to start after.
    id: u32,
    next_id: u32,
    open_flags: u32,
}

/// The part of `union bpf_attr` that asks for a description.
#[repr(C)]
struct InfoAttr {
    fd: u32,
    len: u32,
    info: u64,
}

/// The beginning of `struct bpf_prog_info`, up to the counters; the kernel fills in no more than this.
#[repr(C)]
#[derive(Default)]
struct ProgInfo {
    kind: u32,
    id: u32,
    tag: u64,
    lengths: [u32; 2],
    instructions: [u64; 2],
    load_time: u64,
    user: u32,
    maps: u32,
    map_ids: u64,
    name: [u8; 16],
    ifindex: u32,
    flags: u32,
    netns: [u64; 2],
    symbols: [u32; 2],
    symbol_pointers: [u64; 2],
    btf_id: u32,
    func_info_size: u32,
    func_info: u64,
    funcs: u32,
    lines: u32,
    line_info: u64,
    jited_line_info: u64,
    more_lines: [u32; 4],
    tags: u64,
    run_time_ns: u64,
    run_cnt: u64,
}

/// Runs of the program so far, and their time together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    time_ns: u64,
    count: u64,
}

impl Runs {
    /// Mean time of the runs since `before`, ns; `None` without any.
    pub fn mean_ns_since(self, before: Runs) -> Option<f64> {
        let count = self.count.saturating_sub(before.count);
        let time_ns = self.time_ns.saturating_sub(before.time_ns);
        (count > 0).then(|| time_ns as f64 / count as f64)
    }
}

/// The loaded program, whose runs are counted while this exists.
#[derive(Debug)]
pub struct Selection {
    program: OwnedFd,
    /// Closing it would stop the counting.
    _counting: OwnedFd,
}

impl Selection {
    /// Starts counting; the error is the sentence that says why that is impossible.
    pub fn count() -> Result<Selection, String> {
        let left_out = |reason: &str| format!("the cost of one selection is left out: {reason}");
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => left_out("the kernel tells it to root only"),
            _ => left_out(&format!("the kernel does not count it ({error})")),
        };
        let counting = enable_stats().map_err(refused)?;
        let program = find().map_err(refused)?;
        Ok(Selection {
            program: program.ok_or_else(|| left_out("the program that selects is not loaded"))?,
            _counting: counting,
        })
    }

    /// The counters now.
    pub fn runs(&self) -> Option<Runs> {
        let info = info(&self.program).ok()?;
        Some(Runs {
            time_ns: info.run_time_ns,
            count: info.run_cnt,
        })
    }
}

/// The program that was loaded last: one that was just replaced may still be there.
fn find() -> io::Result<Option<OwnedFd>> {
    let mut found = None;
    let mut id = 0;
    while let Some(next) = next_id(id)? {
        id = next;
        // Programs come and go while we look.
        let Ok(program) = open(id) else { continue };
        if info(&program).is_ok_and(|info| is_selection(&info)) {
            found = Some(program);
        }
    }
    Ok(found)
}

fn is_selection(info: &ProgInfo) -> bool {
    let end = info.name.iter().position(|byte| *byte == 0);
    info.kind == PROG_TYPE_STRUCT_OPS && &info.name[..end.unwrap_or(info.name.len())] == NAME
}

fn enable_stats() -> io::Result<OwnedFd> {
    let mut kind = STATS_RUN_TIME;
    // SAFETY: the attribute of this command is one number.
    let fd = unsafe { bpf(ENABLE_STATS, &mut kind) }?;
    // SAFETY: the command returns a new descriptor, which belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The id of the program after this one.
fn next_id(id: u32) -> io::Result<Option<u32>> {
    let mut attr = IdAttr {
        id,
        ..IdAttr::default()
    };
    // SAFETY: the attribute of this command is these three numbers.
    match unsafe { bpf(PROG_GET_NEXT_ID, &mut attr) } {
        Ok(_) => Ok(Some(attr.next_id)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(id: u32) -> io::Result<OwnedFd> {
    let mut attr = IdAttr {
        id,
        ..IdAttr::default()
    };
    // SAFETY: the attribute of this command is these three numbers.
    let fd = unsafe { bpf(PROG_GET_FD_BY_ID, &mut attr) }?;
    // SAFETY: the command returns a new descriptor, which belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn info(program: &OwnedFd) -> io::Result<ProgInfo> {
    // All pointers and lengths in it are 0, so the kernel fills in numbers and the name only.
    let mut info = ProgInfo::default();
    let mut attr = InfoAttr {
        fd: program.as_raw_fd().cast_unsigned(),
        len: size_of::<ProgInfo>() as u32,
        info: (&raw mut info) as u64,
    };
    // SAFETY: the attribute points to `info`, which is valid for writes of the length given, and any
    // bytes are a valid `ProgInfo`.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut attr) }?;
    Ok(info)
}

/// bpf(2).
///
/// # Safety
///
/// `attr` must be what `command` reads and writes, and pointers in it must be valid for that.
unsafe fn bpf<T>(command: libc::c_int, attr: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the kernel touches `size_of::<T>()` bytes of `attr`; the caller vouches for the rest.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attr),
            size_of::<T>() as libc::c_uint,
        )
    };
    match libc::c_int::try_from(result) {
        Ok(result) if result >= 0 => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn the_description_has_the_kernels_layout() {
        assert_eq!(offset_of!(ProgInfo, name), 64);
        assert_eq!(offset_of!(ProgInfo, btf_id), 128);
        assert_eq!(offset_of!(ProgInfo, tags), 184);
        assert_eq!(offset_of!(ProgInfo, run_time_ns), 192);
        assert_eq!(offset_of!(ProgInfo, run_cnt), 200);
        assert_eq!(size_of::<ProgInfo>(), 208);
    }

    #[test]
    fn only_the_selecting_program_of_this_scheduler_counts() {
        let named = |name: &[u8], kind| {
            let mut info = ProgInfo {
                kind,
                ..ProgInfo::default()
            };
            info.name[..name.len()].copy_from_slice(name);
            is_selection(&info)
        };
        assert!(named(b"pandemonium_sel", PROG_TYPE_STRUCT_OPS));
        assert!(!named(b"pandemonium_sel", 1));
        assert!(!named(b"pandemonium_enq", PROG_TYPE_STRUCT_OPS));
        assert!(!named(b"", PROG_TYPE_STRUCT_OPS));
        assert!(!named(&[b'x'; 16], PROG_TYPE_STRUCT_OPS));
    }

    #[test]
    fn the_mean_is_over_the_runs_in_between() {
        let before = Runs {
            time_ns: 1_000,
            count: 10,
        };
        let after = Runs {
            time_ns: 4_000,
            count: 20,
        };
        assert_eq!(after.mean_ns_since(before), Some(300.0));
        assert_eq!(before.mean_ns_since(before), None, "it did not run");
        assert_eq!(before.mean_ns_since(after), None, "it was loaded anew");
    }

    #[test]
    fn what_cannot_be_counted_is_one_sentence() {
        if let Err(sentence) = Selection::count() {
            assert!(sentence.starts_with("the cost of one selection is left out: "));
            assert_eq!(sentence.lines().count(), 1);
        }
    }
}
