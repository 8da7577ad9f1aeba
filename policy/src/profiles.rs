//! The bounded table of learned profiles.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{Observation, Prediction, Profile, padded};
use crate::tier::Tier;

/// Profiles by task name. Ordered, so that everything derived from it is reproducible.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    by_comm: BTreeMap<[u8; 16], Profile>,
    launches: u64,
    generation: u64,
    /// Names with a profile that came, changed or went since [`Profiles::take_changed`].
    changed: BTreeSet<[u8; 16]>,
}

impl Profiles {
    /// Most profiles the table holds.
    pub const CAPACITY: usize = 512;
    /// Most of them that may be pinned, so that something is always left to learn with.
    pub const MAX_PINNED: usize = 128;

    /// An empty table.
    pub fn new() -> Profiles {
        Profiles::default()
    }

    /// A table from stored profiles. The input need not be sane: nameless and empty entries are
    /// dropped, pins that are too many are taken back, of two with the same name the one used last stays, the excess is evicted, and no
    /// entry may claim to come from the future.
    pub fn from_stored(launches: u64, stored: Vec<Profile>) -> Profiles {
        let mut table = Profiles {
            launches,
            ..Profiles::default()
        };
        for mut profile in stored {
            profile.comm = padded(&profile.comm);
            if profile.comm[0] == 0 || profile.observations == 0 && profile.pinned.is_none() {
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
        table.shrink();
        table
    }

    /// Takes the pins beyond the limit back, last names first, and evicts what is too much.
    fn shrink(&mut self) {
        let pinned = self.iter().filter(|p| p.pinned.is_some());
        let surplus: Vec<_> = pinned.skip(Profiles::MAX_PINNED).map(|p| p.comm).collect();
        for comm in &surplus {
            self.unpin(comm);
        }
        while self.by_comm.len() > Profiles::CAPACITY {
            self.evict();
        }
    }

    /// Decides on the tier of a name, known or not; false if too many are pinned.
    pub fn pin(&mut self, comm: &[u8; 16], tier: Tier) -> bool {
        let comm = padded(comm);
        let is_pinned = self.by_comm.get(&comm).is_some_and(|p| p.pinned.is_some());
        if comm[0] == 0 || !is_pinned && self.pinned_count() >= Profiles::MAX_PINNED {
            return false;
        }
        if !self.by_comm.contains_key(&comm) && self.by_comm.len() >= Profiles::CAPACITY {
            self.evict();
        }
        let new = || Profile::of_pin(&comm, tier, self.launches);
        self.by_comm.entry(comm).or_insert_with(new).pinned = Some(tier);
        self.note(comm);
        true
    }

    /// Takes the decision back; false if there was none. What was learned stays.
    pub fn unpin(&mut self, comm: &[u8; 16]) -> bool {
        let comm = padded(comm);
        let Some(profile) = self.by_comm.get_mut(&comm) else {
            return false;
        };
        let was_pinned = profile.pinned.take().is_some();
        if profile.observations == 0 {
            self.by_comm.remove(&comm);
        }
        if was_pinned {
            self.note(comm);
        }
        was_pinned
    }

    /// Forgets what was learned about a name; false if nothing was. A pin is a decision and stays.
    pub fn forget(&mut self, comm: &[u8; 16]) -> bool {
        let comm = padded(comm);
        let Some(profile) = self.by_comm.get_mut(&comm).filter(|p| p.observations > 0) else {
            return false;
        };
        match profile.pinned {
            Some(tier) => *profile = Profile::of_pin(&comm, tier, self.launches),
            None => drop(self.by_comm.remove(&comm)),
        }
        self.note(comm);
        true
    }

    /// Forgets all that was learned, and says of how many names.
    pub fn forget_all(&mut self) -> usize {
        let names: Vec<_> = self.by_comm.keys().copied().collect();
        names.iter().filter(|comm| self.forget(comm)).count()
    }

    /// Takes profiles over from elsewhere, whose last use is a number of launches ago: instead of all
    /// that is here, or beside it. Then the more often observed one of two with one name stays, and a pin
    /// of either; the imported one if both are pinned.
    pub fn import(&mut self, imported: Vec<Profile>, is_replacing: bool) {
        let launches = self.launches;
        let ours = |p: Profile| Profile {
            comm: padded(&p.comm),
            last_used: launches.saturating_sub(p.last_used),
            first_used: launches.saturating_sub(p.first_used),
            ..p
        };
        let mut changed = std::mem::take(&mut self.changed);
        let mut all = std::mem::take(&mut self.by_comm);
        changed.extend(all.keys());
        if is_replacing {
            all.clear();
        }
        for profile in imported.into_iter().map(ours) {
            let merged = match all.remove(&profile.comm) {
                Some(known) => {
                    let pinned = profile.pinned.or(known.pinned);
                    let better = if known.observations > profile.observations {
                        known
                    } else {
                        profile
                    };
                    Profile { pinned, ..better }
                }
                None => profile,
            };
            all.insert(merged.comm, merged);
        }
        let generation = self.generation.saturating_add(1);
        *self = Profiles::from_stored(launches, all.into_values().collect());
        changed.extend(self.by_comm.keys());
        self.changed = changed;
        self.generation = generation;
    }

    /// Number of pinned profiles.
    pub fn pinned_count(&self) -> usize {
        self.iter()
            .filter(|profile| profile.pinned.is_some())
            .count()
    }

    /// Merges one observation. A name not seen before and the end of a task each count as a launch;
    /// reports from a task that is still running do not.
    pub fn learn(&mut self, o: &Observation) {
        let comm = padded(&o.comm);
        if comm[0] == 0 {
            return;
        }
        if let Some(profile) = self.by_comm.get_mut(&comm) {
            self.launches = self.launches.saturating_add(o.exited.into());
            profile.merge(o, self.launches);
        } else {
            self.launches = self.launches.saturating_add(1);
            if self.by_comm.len() >= Profiles::CAPACITY {
                self.evict();
            }
            self.by_comm.insert(comm, Profile::first(o, self.launches));
        }
        self.note(comm);
    }

    fn note(&mut self, comm: [u8; 16]) {
        self.generation = self.generation.saturating_add(1);
        self.changed.insert(comm);
    }

    /// Names with a profile that came, changed or went since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<[u8; 16]> {
        std::mem::take(&mut self.changed)
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

    /// Number of profiles that are sure of their tier.
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
            self.changed.insert(comm);
        }
    }
}

/// The lowest is evicted first, and a pinned one last.
fn eviction_rank(profile: &Profile) -> (bool, u64, u32, [u8; 16]) {
    (
        profile.pinned.is_some(),
        profile.last_used,
        profile.observations,
        profile.comm,
    )
}

/// A total order of same-named profiles, pinned ones above others, so that the stored order does not matter.
fn full_rank(p: &Profile) -> (Option<Tier>, u64, u32, [u32; 3], u64, u64, u32, u32, u64) {
    (
        p.pinned,
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
