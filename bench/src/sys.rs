//! Every system call that the standard library does not offer.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    CAUGHT.store(signal, Ordering::Relaxed);
}

/// Makes SIGINT, SIGTERM and SIGHUP end the run in good order.
pub fn catch_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the action is fully initialised, and the handler only stores to an atomic.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The signal that asked to stop, if one came.
pub fn caught_signal() -> Option<u8> {
    u8::try_from(CAUGHT.load(Ordering::Relaxed))
        .ok()
        .filter(|signal| *signal != 0)
}

/// Leaves SIGINT, SIGTERM and SIGHUP to the parent: whoever presses Ctrl-C means the workload, which
/// ends its children itself after it has looked at them.
pub fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: takes plain numbers, and no handler of ours is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The monotonic clock, ns; the same in every process.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of a process so far, ns.
pub fn process_cpu_ns(pid: u32) -> io::Result<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the result.
    let error = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &mut clock) };
    if error == 0 {
        Ok(clock_ns(clock))
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// Sleeps until the monotonic clock shows `at_ns`, or until a signal asks to stop.
pub fn sleep_until(at_ns: u64) {
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    loop {
        // SAFETY: `at` is valid, and an absolute sleep does not report the remaining time.
        let error = unsafe {
            let clock = libc::CLOCK_MONOTONIC;
            libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &at, std::ptr::null_mut())
        };
        if error != libc::EINTR || caught_signal().is_some() {
            return;
        }
    }
}

/// Waits until there is something to read or nobody can write any more, but no longer than this, ms, because a signal that
/// comes before the waiting begins does not end it. Whether a read would return.
pub fn wait_for_input(file: BorrowedFd<'_>, at_most_ms: u16) -> bool {
    let mut waiting = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one valid entry is passed, and the borrow keeps its descriptor open.
    unsafe { libc::poll(&mut waiting, 1, libc::c_int::from(at_most_ms)) > 0 }
}

/// Lets timers of the calling thread fire when due: the default slack of 50 us would be measured
/// as latency.
pub fn disable_timer_slack() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// The CPUs this process may use; at least one.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: an all-zero set is valid, and its size is passed along.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: every index is below CPU_SETSIZE.
    let cpus: Vec<usize> = all
        .filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
        .collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Restricts the calling thread to these CPUs.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    set_affinity_of(0, cpus)
}

/// Restricts the main thread of a process to these CPUs; 0 is the calling thread.
pub fn set_affinity_of(pid: u32, cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero set is valid, every index is checked, and its size is passed along.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(*cpu, &mut set);
        }
        libc::sched_setaffinity(pid.cast_signed(), size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sets the nice value of the calling thread.
pub fn set_nice(nice: i32) -> Result<(), String> {
    // SAFETY: takes plain numbers; 0 means the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(format!(
        "cannot set nice {nice} ({error}); negative values need root"
    ))
}

/// Makes the kernel kill the child when the thread that starts it ends for whatever reason.
pub fn tie_to_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// Asks a process to end.
pub fn terminate(pid: u32) {
    // SAFETY: takes plain numbers; the caller has not reaped the process, so the number is still its own.
    unsafe { libc::kill(pid.cast_signed(), libc::SIGTERM) };
}

/// Names the calling process in `ps`, at most 15 bytes.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the name ends with a zero byte, and the kernel copies at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// A counter that a thread can block on until another one adds to it.
pub fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes room for this many open files, as far as the hard limit of the process goes. What is missing
/// is noticed where a file is opened.
pub fn allow_files(count: u64) {
    // SAFETY: an all-zero limit is valid, and both calls get a valid place.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < count {
            limit.rlim_cur = count.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
