//! What keeps the machine busy while something else is measured. All of it ends when it is dropped.

use std::io::Write;
use std::time::Duration;

use crate::child::{self, Role, Running, ScratchDir};
use crate::forks::Storms;

/// Processes that compute.
#[derive(Debug, Default)]
pub struct Load {
    processes: Vec<Running>,
    /// Where compilers keep their files; goes after them.
    scratch: Option<ScratchDir>,
}

impl Load {
    /// Processes that never stop computing.
    pub fn spinners(count: usize) -> Result<Load, String> {
        let mut load = Load::default();
        for _ in 0..count {
            load.processes
                .push(child::start(Role::Group("wl-spin", 1))?);
        }
        load.release()?;
        Ok(load)
    }

    /// One process of as many threads that compute.
    pub fn crowd(threads: usize) -> Result<Load, String> {
        let mut load = Load::default();
        load.processes
            .push(child::start(Role::Group("wl-crowd", threads))?);
        load.release()?;
        Ok(load)
    }

    /// A process that starts many programs at once, again and again. It is one of its own, because threads of a
    /// process that forks wait for its memory, whoever schedules them.
    pub fn storms(storms: Storms) -> Result<Load, String> {
        Ok(Load {
            processes: vec![child::start(Role::Storms(storms))?],
            scratch: None,
        })
    }

    /// Measures beside them. Fails if any of them has ended meanwhile: then that was beside less than was asked for.
    pub fn beside<T>(
        mut self,
        measure: impl FnOnce(&Load) -> Result<T, String>,
    ) -> Result<T, String> {
        let measured = measure(&self)?;
        let mut each = self.processes.iter_mut();
        if each.all(|process| matches!(process.0.try_wait(), Ok(None))) {
            return Ok(measured);
        }
        Err("what kept the machine busy has ended".to_owned())
    }

    /// Besides them, processes that compute, and write and read files.
    pub fn with_compilers(mut self, count: usize) -> Result<Load, String> {
        let scratch = ScratchDir::create()?;
        for seed in 0..count {
            self.processes
                .push(child::start(Role::Compile(&scratch.0, seed))?);
        }
        self.scratch = Some(scratch);
        Ok(self)
    }

    /// Process ids, in the order of their start.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.iter().map(|process| process.0.id())
    }

    /// Lets them all begin at the same time.
    fn release(&mut self) -> Result<(), String> {
        // Programs that are still being loaded would begin later than the others.
        std::thread::sleep(Duration::from_millis(50));
        for process in &mut self.processes {
            let stdin = process.0.stdin.as_mut();
            stdin
                .map_or(Ok(()), |stdin| stdin.write_all(b"g"))
                .map_err(|error| format!("a spinner did not start ({error})"))?;
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // First all are killed, then all are waited for, then the files go.
        for process in &mut self.processes {
            let _ = process.0.kill();
        }
        self.processes.clear();
        self.scratch = None;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_was_measured_beside_less_than_was_asked_for_is_no_result() {
        // This program is no workload: as a child it ends at once.
        let load = Load::storms(Storms {
            programs: 1,
            interval_ns: 1,
        });
        let measured = load.unwrap().beside(|load| {
            let stat = format!("/proc/{}/stat", load.ids().next().unwrap());
            while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
                std::thread::yield_now();
            }
            Ok(5)
        });
        assert_eq!(
            measured,
            Err("what kept the machine busy has ended".to_owned())
        );
        assert_eq!(Load::default().beside(|_| Ok(5)), Ok(5));
    }
}
