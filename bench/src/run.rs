//! How long a workload goes on, and the threads it consists of.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::sys;

/// The time a workload may take.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Monotonic start, ns.
    pub start_ns: u64,
    /// Monotonic end, ns.
    pub end_ns: u64,
}

impl Run {
    /// A run from now on.
    pub fn starting_now(seconds: u64) -> Run {
        let start_ns = sys::now_ns();
        Run {
            start_ns,
            end_ns: start_ns.saturating_add(seconds.saturating_mul(1_000_000_000)),
        }
    }

    /// A run that begins later.
    pub fn starting_in(delay_ns: u64, length_ns: u64) -> Run {
        let start_ns = sys::now_ns().saturating_add(delay_ns);
        Run {
            start_ns,
            end_ns: start_ns.saturating_add(length_ns),
        }
    }

    /// Whether time is up or a signal asked to stop.
    pub fn is_over(&self) -> bool {
        sys::caught_signal().is_some() || sys::now_ns() >= self.end_ns
    }

    /// Sleeps until then or until the run is over; a signal need not reach this very thread.
    pub fn sleep_until(&self, at_ns: u64) {
        let at_ns = at_ns.min(self.end_ns);
        loop {
            let now_ns = sys::now_ns();
            if now_ns >= at_ns || self.is_over() {
                return;
            }
            sys::sleep_until(at_ns.min(now_ns + 50_000_000));
        }
    }
}

/// Computes for this much CPU time, however long that takes.
pub fn burn(cpu_ns: u64) {
    let end_ns = sys::thread_cpu_ns().saturating_add(cpu_ns);
    let mut state = end_ns | 1;
    while sys::thread_cpu_ns() < end_ns {
        for _ in 0..500 {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .rotate_left(17),
            );
        }
    }
}

/// Computes until told to stop, without asking the kernel for anything.
pub fn burn_until(stop: &AtomicBool) {
    let mut state = 1u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..10_000 {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ 1);
        }
    }
}

/// Starts a named thread of a workload.
pub fn thread<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, String> {
    let builder = Builder::new().name(name.to_owned()).stack_size(256 * 1024);
    builder
        .spawn_scoped(scope, body)
        .map_err(|error: io::Error| {
            format!("cannot start a thread ({error}); try fewer with --threads")
        })
}

/// Waits for a thread's result.
pub fn join<T>(handle: ScopedJoinHandle<'_, T>) -> Result<T, String> {
    handle
        .join()
        .map_err(|_| "a workload thread ended unexpectedly".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_uses_the_cpu_time_it_was_asked_for() {
        let before_ns = sys::thread_cpu_ns();
        burn(3_000_000);
        assert!(sys::thread_cpu_ns() - before_ns >= 3_000_000);
    }

    #[test]
    fn a_run_is_over_when_its_time_is_up() {
        let run = Run {
            end_ns: sys::now_ns() + 20_000_000,
            start_ns: sys::now_ns(),
        };
        assert!(!run.is_over());
        run.sleep_until(u64::MAX);
        assert!(run.is_over());
        assert!(sys::now_ns() < run.end_ns + 1_000_000_000);
    }
}
