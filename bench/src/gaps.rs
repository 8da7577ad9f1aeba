//! The longest time a thread that wanted to run was off the CPU.

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::run::Run;
use crate::sys;

/// Shorter pauses are interrupts and the like.
const GAP_MIN_NS: u64 = 1_000_000;

/// CPU time of the calling thread, for how long it was ready and no CPU ran it, and its turns: ns, ns and a count
/// (Documentation/scheduler/sched-stats.rst).
const OWN_SCHEDSTAT: &str = "/proc/thread-self/schedstat";

/// One thread's record, readable by others while it runs.
#[derive(Debug, Default)]
pub struct Gaps {
    longest_ns: AtomicU64,
    /// When the thread was last on a CPU; lies ahead while it sleeps on purpose. 0 before its start.
    wanted_ns: AtomicU64,
    done: AtomicBool,
}

impl Gaps {
    /// Marks the thread as runnable from now on; to be called before it is started.
    pub fn begin(&self) {
        self.wanted_ns.store(sys::now_ns(), Ordering::Relaxed);
    }

    /// Forgets what was seen before `at_ns`, which is past: who has been off the CPU since before then has waited since then.
    pub fn begin_anew(&self, at_ns: u64) {
        self.longest_ns.store(0, Ordering::Relaxed);
        self.wanted_ns.store(at_ns, Ordering::Relaxed);
    }

    /// Notes that the calling thread, which does this first of all, is on a CPU now, and what it has waited for one since it was
    /// created. Where the kernel does not say that (`CONFIG_SCHED_INFO`), what its creator waited for counts as well.
    pub fn arrive(&self) {
        if let Some(waited_ns) = fs::read_to_string(OWN_SCHEDSTAT)
            .ok()
            .and_then(|text| waited_ns(&text))
        {
            let wanted_ns = sys::now_ns().saturating_sub(waited_ns);
            self.wanted_ns.fetch_max(wanted_ns, Ordering::Relaxed);
        }
        self.here();
    }

    /// Notes that the thread is on a CPU now, and what it missed since it last was; the time, ns.
    pub fn here(&self) -> u64 {
        let now_ns = sys::now_ns();
        let gap_ns = now_ns.saturating_sub(self.wanted_ns.swap(now_ns, Ordering::Relaxed));
        if gap_ns > GAP_MIN_NS {
            self.longest_ns.fetch_max(gap_ns, Ordering::Relaxed);
        }
        now_ns
    }

    /// Computes for this long or until the run is over, looking out for gaps.
    pub fn spin(&self, run: Run, wall_ns: u64) {
        let end_ns = self.here().saturating_add(wall_ns).min(run.end_ns);
        let mut state = end_ns;
        while self.here() < end_ns && sys::caught_signal().is_none() {
            for _ in 0..200 {
                state = black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ 1);
            }
        }
    }

    /// Sleeps on purpose; only a late return counts as a gap.
    pub fn sleep(&self, run: Run, ns: u64) {
        let due_ns = (self.here() + ns).min(run.end_ns);
        self.wanted_ns.store(due_ns, Ordering::Relaxed);
        sys::sleep_until(due_ns);
        self.here();
    }

    /// Notes that the thread wants nothing more.
    pub fn finish(&self) {
        self.here();
        self.done.store(true, Ordering::Release);
    }

    /// Whether the thread has finished.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// The longest gap, ns; one that still goes on counts up to now.
    pub fn longest_ns(&self) -> u64 {
        let longest_ns = self.longest_ns.load(Ordering::Relaxed);
        let wanted_ns = self.wanted_ns.load(Ordering::Relaxed);
        if self.is_done() || wanted_ns == 0 {
            return longest_ns;
        }
        longest_ns.max(sys::now_ns().saturating_sub(wanted_ns))
    }
}

fn waited_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_thread_that_arrives_has_not_waited_since_before_it_was_created() {
        assert_eq!(waited_ns("1066232 7649446 2\n"), Some(7_649_446));
        assert_eq!(waited_ns("1066232\n"), None);
        let gaps = Gaps::default();
        gaps.begin();
        let created_ns = sys::now_ns();
        gaps.arrive();
        let arrived_ns = sys::now_ns();
        assert!(gaps.wanted_ns.load(Ordering::Relaxed) >= created_ns);
        assert!(gaps.longest_ns() <= arrived_ns - created_ns + GAP_MIN_NS);
    }

    #[test]
    fn a_pause_while_runnable_is_a_gap_and_a_sleep_is_not() {
        let run = Run::starting_now(60);
        let gaps = Gaps::default();
        gaps.begin();
        gaps.here();
        let before_ns = sys::now_ns();
        gaps.sleep(run, 300_000_000);
        let late_ns = sys::now_ns() - before_ns - 300_000_000;
        assert!(gaps.longest_ns() <= late_ns, "{gaps:?}, {late_ns} ns late");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(gaps.longest_ns() >= 300_000_000, "it still goes on");
        gaps.finish();
        assert!(gaps.longest_ns() >= 300_000_000);
    }

    #[test]
    fn a_gap_that_began_before_all_was_forgotten_counts_from_then_on() {
        let gaps = Gaps::default();
        let now_ns = sys::now_ns();
        gaps.wanted_ns
            .store(now_ns - 900_000_000, Ordering::Relaxed);
        gaps.here();
        gaps.begin_anew(now_ns - 300_000_000);
        gaps.here();
        gaps.finish();
        let taken_ns = sys::now_ns() - now_ns;
        let longest_ns = gaps.longest_ns();
        assert!((300_000_000..=300_000_000 + taken_ns).contains(&longest_ns));
    }

    #[test]
    fn a_thread_that_was_never_started_waited_for_nothing() {
        assert_eq!(Gaps::default().longest_ns(), 0);
    }

    #[test]
    fn spinning_ends_in_time() {
        let run = Run::starting_now(60);
        let gaps = Gaps::default();
        let start_ns = sys::now_ns();
        gaps.spin(run, 5_000_000);
        assert!(sys::now_ns() - start_ns >= 5_000_000);
    }
}
