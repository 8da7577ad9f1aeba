//! What the kernel half was told about programs: only what is news about those that changed is worked out.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{Prediction, Profile};
use crate::profiles::Profiles;

/// What makes one set of predictions another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Names without a prediction from now on.
    pub gone: Vec<[u8; 16]>,
    /// Predictions that are new or differ.
    pub new: Vec<Prediction>,
}

impl Changes {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }
}

/// The predictions that were told, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predictions {
    by_comm: BTreeMap<[u8; 16], Prediction>,
}

impl Predictions {
    /// These and no others.
    pub fn of(predictions: &[Prediction]) -> Predictions {
        Predictions {
            by_comm: predictions.iter().map(|p| (p.comm, *p)).collect(),
        }
    }

    /// What these profiles say now about these names, where it is not what was told.
    pub fn news(&self, profiles: &Profiles, names: &BTreeSet<[u8; 16]>) -> Changes {
        let mut news = Changes::default();
        for comm in names {
            let now = profiles.get(comm).and_then(Profile::prediction);
            if now.as_ref() == self.by_comm.get(comm) {
                continue;
            }
            match now {
                Some(prediction) => news.new.push(prediction),
                None => news.gone.push(*comm),
            }
        }
        news
    }

    /// The news was told.
    pub fn take(&mut self, news: &Changes) {
        for comm in &news.gone {
            self.by_comm.remove(comm);
        }
        for prediction in &news.new {
            self.by_comm.insert(prediction.comm, *prediction);
        }
    }

    /// Whether anything was told about a name.
    pub fn has(&self, comm: &[u8; 16]) -> bool {
        self.by_comm.contains_key(comm)
    }

    /// Everything that was told, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Prediction> {
        self.by_comm.values()
    }
}
