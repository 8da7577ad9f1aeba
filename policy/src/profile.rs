//! One learned profile: what a program name has behaved like so far.

use serde::{Deserialize, Serialize};

use crate::tier::Tier;

/// Observations a profile needs before it may predict.
const MIN_OBSERVATIONS: u32 = 3;
/// Confidence a profile needs before it may predict, permille.
const MIN_CONFIDENCE_PERMILLE: u32 = 600;
/// So many first observations count alike, whichever came last; later ones count an eighth.
const AVERAGED_OBSERVATIONS: u32 = 8;
/// What the kernel half takes a task for before it has shown anything; `INITIAL_RUNTIME_NS` and
/// `INITIAL_WAKEUP_FREQ` in `bpf/classify.bpf.h`.
const INITIAL_RUNTIME_NS: u64 = 100_000;
const INITIAL_WAKEUP_FREQ: u32 = 20;
/// The highest score.
const MAX_SCORE: u64 = 255;
/// Votes are halved at this total, so that a program that changes is believed in the end.
const MAX_VOTES: u32 = 64;

/// What the BPF half saw of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Task name, padded with zero bytes.
    pub comm: [u8; 16],
    /// Its tier at the time.
    pub tier: Tier,
    /// Smoothed run length, ns.
    pub avg_runtime_ns: u64,
    /// Smoothed deviation of the run length, ns.
    pub runtime_dev_ns: u64,
    /// Wake-ups per 100 ms.
    pub wakeup_freq: u32,
    /// Context switches per 100 ms.
    pub csw_rate: u32,
    /// Latency-criticality score, 0..=255.
    pub lat_cri: u32,
    /// Whether the task has ended; otherwise it is still running.
    pub exited: bool,
}

/// What is known about one task name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Task name, padded with zero bytes.
    pub comm: [u8; 16],
    /// How often each tier was seen lately.
    pub votes: [u32; Tier::COUNT],
    /// How many observations there were in all.
    pub observations: u32,
    /// Smoothed run length, ns.
    pub avg_runtime_ns: u64,
    /// Smoothed deviation of the run length, within tasks and between them, ns.
    pub runtime_dev_ns: u64,
    /// Smoothed wake-ups per 100 ms.
    pub wakeup_freq: u32,
    /// Smoothed context switches per 100 ms.
    pub csw_rate: u32,
    /// Launch counter at the last observation. Launches, not wall time: a week without the computer
    /// says nothing about a program.
    pub last_used: u64,
    /// Launch counter at the first observation.
    pub first_used: u64,
    /// The tier that somebody decided on, whatever the program does.
    #[serde(default)]
    pub pinned: Option<Tier>,
}

/// What a new task of this name starts with instead of knowing nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Task name, padded with zero bytes.
    pub comm: [u8; 16],
    /// The tier it is expected to be in.
    pub tier: Tier,
    /// Expected run length, ns.
    pub avg_runtime_ns: u64,
    /// Expected deviation of the run length, ns.
    pub runtime_dev_ns: u64,
    /// Expected wake-ups per 100 ms.
    pub wakeup_freq: u32,
    /// Expected context switches per 100 ms.
    pub csw_rate: u32,
    /// The tier is decided and not only expected: it stays, whatever the task does.
    pub is_pinned: bool,
}

impl Profile {
    /// A profile of which nothing but the decision is known.
    pub fn of_pin(comm: &[u8; 16], tier: Tier, launches: u64) -> Profile {
        Profile {
            comm: padded(comm),
            votes: [0; Tier::COUNT],
            observations: 0,
            avg_runtime_ns: INITIAL_RUNTIME_NS,
            runtime_dev_ns: 0,
            wakeup_freq: INITIAL_WAKEUP_FREQ,
            csw_rate: 0,
            last_used: launches,
            first_used: launches,
            pinned: Some(tier),
        }
    }

    /// A profile from its first observation.
    pub fn first(o: &Observation, launches: u64) -> Profile {
        let mut votes = [0; Tier::COUNT];
        votes[o.tier.index()] = 1;
        Profile {
            comm: padded(&o.comm),
            votes,
            observations: 1,
            avg_runtime_ns: o.avg_runtime_ns,
            runtime_dev_ns: o.runtime_dev_ns,
            wakeup_freq: o.wakeup_freq,
            csw_rate: o.csw_rate,
            last_used: launches,
            first_used: launches,
            pinned: None,
        }
    }

    /// Adds an observation of the same name.
    pub fn merge(&mut self, o: &Observation, launches: u64) {
        if self.observations == 0 {
            let pinned = self.pinned;
            *self = Profile {
                pinned,
                ..Profile::first(o, launches)
            };
            return;
        }
        if self
            .votes
            .iter()
            .fold(0u32, |sum, n| sum.saturating_add(*n))
            >= MAX_VOTES
        {
            self.votes.iter_mut().for_each(|n| *n /= 2);
        }
        let vote = &mut self.votes[o.tier.index()];
        *vote = vote.saturating_add(1);
        // One name often stands for unlike programs ("python3"): the distance between their averages
        // has to lower the confidence as much as restlessness within one of them.
        let spread_ns = o.avg_runtime_ns.abs_diff(self.avg_runtime_ns);
        self.observations = self.observations.saturating_add(1);
        let count = self.observations.min(AVERAGED_OBSERVATIONS);
        let dev_ns = o.runtime_dev_ns.max(spread_ns);
        self.runtime_dev_ns = average(self.runtime_dev_ns, dev_ns, count);
        self.avg_runtime_ns = average(self.avg_runtime_ns, o.avg_runtime_ns, count);
        self.wakeup_freq = average_u32(self.wakeup_freq, o.wakeup_freq, count);
        self.csw_rate = average_u32(self.csw_rate, o.csw_rate, count);
        self.last_used = self.last_used.max(launches);
    }

    /// The tier that counts: the decided one, or else the learned one.
    pub fn tier(&self) -> Tier {
        self.pinned.unwrap_or(self.learned_tier())
    }

    /// The tier seen most often lately; on a tie the less privileged one.
    pub fn learned_tier(&self) -> Tier {
        let mut best = Tier::Batch;
        for tier in Tier::ALL {
            if self.votes[tier.index()] > self.votes[best.index()] {
                best = tier;
            }
        }
        best
    }

    /// `votes_max / votes * (1/2 + 1/2 * (1 - min(dev / avg, 1)))`, 0..=1000.
    pub fn confidence_permille(&self) -> u32 {
        let votes: u64 = self.votes.iter().map(|n| u64::from(*n)).sum();
        let most = u64::from(self.votes[self.learned_tier().index()]);
        let agreement = (most * 1000).checked_div(votes).unwrap_or(0);
        let restlessness =
            u128::from(self.runtime_dev_ns) * 1000 / u128::from(self.avg_runtime_ns.max(1));
        let steadiness = 1000 - restlessness.min(1000) as u64;
        (agreement * (500 + steadiness / 2) / 1000) as u32
    }

    /// Whether the profile may predict: at least 3 observations and 600 permille of confidence.
    pub fn is_confident(&self) -> bool {
        self.observations >= MIN_OBSERVATIONS
            && self.confidence_permille() >= MIN_CONFIDENCE_PERMILLE
    }

    /// The latency-criticality score of such a task, 0..=255, as `lat_cri_score` in `bpf/formulas.h` has it.
    pub fn score(&self) -> u32 {
        let effective = self.avg_runtime_ns.wrapping_add(self.runtime_dev_ns >> 1) >> 20;
        let score =
            u64::from(self.wakeup_freq).wrapping_mul(self.csw_rate.into()) / effective.max(1);
        score.min(MAX_SCORE) as u32
    }

    /// What to start a task of this name with, once the profile may predict or somebody decided.
    pub fn prediction(&self) -> Option<Prediction> {
        let is_pinned = self.pinned.is_some();
        (is_pinned || self.is_confident()).then(|| Prediction {
            comm: self.comm,
            tier: self.tier(),
            avg_runtime_ns: self.avg_runtime_ns,
            runtime_dev_ns: self.runtime_dev_ns,
            wakeup_freq: self.wakeup_freq,
            csw_rate: self.csw_rate,
            is_pinned,
        })
    }

    /// The name for people: bytes that are not text and characters that would disturb a terminal
    /// or the reading order are escaped.
    pub fn display_name(&self) -> String {
        let end = self
            .comm
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(self.comm.len());
        let mut name = String::new();
        for chunk in self.comm[..end].utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => name.push_str("\\\\"),
                    c if c.is_control() || is_invisible(c) => name.extend(c.escape_unicode()),
                    c => name.push(c),
                }
            }
            for byte in chunk.invalid() {
                name.push_str(&format!("\\x{byte:02x}"));
            }
        }
        name
    }
}

/// The name with everything after its first zero byte cleared, so that it compares by its text.
pub(crate) fn padded(comm: &[u8; 16]) -> [u8; 16] {
    let end = comm
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(comm.len());
    std::array::from_fn(|i| if i < end { comm[i] } else { 0 })
}

/// Separators, zero-width characters and overrides of the reading direction.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `old` moved towards `new` by one `count`-th of the way, which makes it the mean of `count` values if it was that of the
/// others; never outside of the two. `count` is at least 1.
fn average(old: u64, new: u64, count: u32) -> u64 {
    if new >= old {
        old + (new - old) / u64::from(count)
    } else {
        old - (old - new) / u64::from(count)
    }
}

fn average_u32(old: u32, new: u32, count: u32) -> u32 {
    // Between two values of 32 bits, so nothing is cut off.
    average(u64::from(old), u64::from(new), count) as u32
}
