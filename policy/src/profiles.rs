//! The bounded table of learned profiles.

use std::collections::BTreeMap;

use crate::profile::{Observation, Prediction, Profile, padded};

/// Profiles by task name. Ordered, so that everything derived from it is reproducible.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    by_comm: BTreeMap<[u8; 16], Profile>,
    launches: u64,
    generation: u64,
}

impl Profiles {
    /// Most profiles the table holds.
    pub const CAPACITY: usize = 512;

    /// An empty table.
    pub fn new() -> Profiles {
        Profiles::default()
    }

    /// A table from stored profiles. The input need not be sane: nameless and empty entries are
    /// dropped, of two with the same name the one used last stays, the excess is evicted, and no
    /// entry may claim to come from the future.
    pub fn from_stored(launches: u64, stored: Vec<Profile>) -> Profiles {
        let mut table = Profiles {
            launches,
            ..Profiles::default()
        };
        for mut profile in stored {
            profile.comm = padded(&profile.comm);
            if profile.comm[0] == 0 || profile.observations == 0 {
                continue;
            }
            profile.last_used = profile.last_used.min(launches);
            profile.first_used = profile.first_used.min(profile.last_used);
            let newer = match table.by_comm.get(&profile.comm) {
                Some(known) => full_rank(&profile) > full_rank(known),
                None => true,
            };
            if newer {
                table.by_comm.insert(profile.comm, profile);
            }
        }
        while table.by_comm.len() > Profiles::CAPACITY {
            table.evict();
        }
        table
    }

    /// Merges one observation. A name not seen before and the end of a task each count as a launch;
    /// reports from a task that is still running do not.
    pub fn learn(&mut self, o: &Observation) {
        let comm = padded(&o.comm);
        if comm[0] == 0 {
            return;
        }
        let is_new = !self.by_comm.contains_key(&comm);
        if is_new || o.exited {
            self.launches = self.launches.saturating_add(1);
        }
        if is_new && self.by_comm.len() >= Profiles::CAPACITY {
            self.evict();
        }
        let launches = self.launches;
        self.by_comm
            .entry(comm)
            .and_modify(|profile| profile.merge(o, launches))
            .or_insert_with(|| Profile::first(o, launches));
        self.generation = self.generation.saturating_add(1);
    }

    /// Launches observed so far, in this session and the stored ones.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// Number of profiles.
    pub fn len(&self) -> usize {
        self.by_comm.len()
    }

    /// Whether there are no profiles.
    pub fn is_empty(&self) -> bool {
        self.by_comm.is_empty()
    }

    /// Number of profiles that may predict.
    pub fn confident_count(&self) -> usize {
        self.iter().filter(|profile| profile.is_confident()).count()
    }

    /// What every profile that may predict says, ordered by name.
    pub fn predictions(&self) -> Vec<Prediction> {
        self.iter().filter_map(Profile::prediction).collect()
    }

    /// Grows with every change that [`Profiles::iter`] would show.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every profile, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.by_comm.values()
    }

    /// The profile of a name.
    pub fn get(&self, comm: &[u8; 16]) -> Option<&Profile> {
        self.by_comm.get(&padded(comm))
    }

    /// Drops the profile that was not used for longest; then the least observed; then by name.
    fn evict(&mut self) {
        let victim = self
            .by_comm
            .values()
            .min_by_key(|profile| eviction_rank(profile));
        if let Some(comm) = victim.map(|profile| profile.comm) {
            self.by_comm.remove(&comm);
        }
    }
}

/// The lowest is evicted first.
fn eviction_rank(profile: &Profile) -> (u64, u32, [u8; 16]) {
    (profile.last_used, profile.observations, profile.comm)
}

/// A total order of same-named profiles, so that the stored order does not matter.
fn full_rank(p: &Profile) -> (u64, u32, [u32; 3], u64, u64, u32, u32, u64) {
    (
        p.last_used,
        p.observations,
        p.votes,
        p.avg_runtime_ns,
        p.runtime_dev_ns,
        p.wakeup_freq,
        p.csw_rate,
        p.first_used,
    )
}
