//! Processes that compute and tell afterwards how long each waited for a CPU, and what it had.

use std::io::{self, Read, Write};

use super::Scene;
use crate::child::{self, Role, Running};
use crate::gaps::Gaps;
use crate::run::Run;
use crate::sys;

/// Processes that compute until a run is over. They are killed if they are dropped before.
#[derive(Debug)]
pub struct Rivals(Vec<Running>);

/// What they saw from the start of the run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The longest wait of any, ns.
    pub longest_ns: u64,
    /// CPU time of each, ns.
    pub used_ns: Vec<u64>,
}

impl Rivals {
    /// So many begin now, one after the other. What they see before the start of the run does not count.
    pub fn begin(count: usize, run: Run) -> Result<Rivals, String> {
        let each = (0..count).map(|_| child::start(Role::Rival(run.start_ns, run.end_ns)));
        Ok(Rivals(each.collect::<Result<_, _>>()?))
    }

    /// Process ids, in the order of their start.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|process| process.0.id())
    }

    /// Waits for the end of the run, and for what they tell.
    pub fn finish(mut self) -> Result<Record, String> {
        let mut record = Record::default();
        for process in &mut self.0 {
            let mut told = [0; 16];
            let stdout = process.0.stdout.as_mut();
            let stdout = stdout.ok_or("a child has no output")?;
            stdout
                .read_exact(&mut told)
                .map_err(|error| format!("what kept the machine busy has ended ({error})"))?;
            let (numbers, _) = told.as_chunks();
            let [longest_ns, used_ns] = [0, 1].map(|index| u64::from_ne_bytes(numbers[index]));
            record.longest_ns = record.longest_ns.max(longest_ns);
            record.used_ns.push(used_ns);
        }
        Ok(record)
    }
}

impl Record {
    /// The longest wait, us.
    pub fn longest_us(&self) -> f64 {
        self.longest_ns as f64 / 1000.0
    }

    /// What all had together, as a part of what this many CPUs have in the run.
    pub fn part_of(&self, cpus: usize, scene: &Scene) -> f64 {
        let had_ns: u64 = self.used_ns.iter().sum();
        had_ns as f64 / (cpus as u64 * scene.length_ns).max(1) as f64
    }
}

fn until(end_ns: u64) -> Run {
    Run {
        start_ns: 0,
        end_ns,
    }
}

/// The process: computes, and at the end tells its longest wait and its CPU time, both ns.
pub fn serve(run: Run) -> io::Result<()> {
    sys::set_name(c"wl-rival");
    let gaps = Gaps::default();
    let mut before_ns = 0;
    if sys::now_ns() < run.start_ns {
        gaps.begin();
        gaps.spin(until(run.start_ns), u64::MAX);
        before_ns = sys::thread_cpu_ns();
        gaps.begin_anew(run.start_ns);
    } else {
        // Whoever comes later has waited since it was created.
        gaps.arrive();
    }
    gaps.spin(run, u64::MAX);
    gaps.finish();
    let used_ns = sys::thread_cpu_ns().saturating_sub(before_ns);
    let mut stdout = io::stdout().lock();
    for number in [gaps.longest_ns(), used_ns] {
        stdout.write_all(&number.to_ne_bytes())?;
    }
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_had_is_a_part_of_what_all_cpus_have() {
        let scene = Scene {
            cpus: vec![0, 1],
            length_ns: 1_000,
        };
        let record = Record {
            longest_ns: 1_500,
            used_ns: vec![300, 200],
        };
        assert_eq!(record.part_of(2, &scene), 0.25);
        assert_eq!(record.part_of(1, &scene), 0.5);
        assert_eq!(record.longest_us(), 1.5);
    }
}
