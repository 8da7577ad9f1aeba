//! How many of something each user may have at a time, and all users together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places there are, and who has how many of them.
#[derive(Debug)]
pub struct Places {
    per_user: usize,
    all: usize,
    taken: Mutex<HashMap<u32, usize>>,
}

/// One of them, given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    uid: u32,
}

impl Places {
    /// So many for each user, and no more than that in all.
    pub fn new(per_user: usize, all: usize) -> Arc<Places> {
        Arc::new(Places {
            per_user,
            all,
            taken: Mutex::default(),
        })
    }

    /// A place for this user, if there is one.
    pub fn enter(self: &Arc<Self>, uid: u32) -> Option<Place> {
        let mut taken = self.lock();
        let all: usize = taken.values().sum();
        let own = taken.get(&uid).copied().unwrap_or_default();
        if own >= self.per_user || all >= self.all {
            return None;
        }
        taken.insert(uid, own + 1);
        Some(Place {
            places: Arc::clone(self),
            uid,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        // Only counted in here, so a panic elsewhere cannot leave it half changed.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(own) = taken.get_mut(&self.uid) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_few_and_all_together_have_not_many_more() {
        let places = Places::new(2, 5);
        let mut held: Vec<_> = [1, 1, 2, 2].map(|uid| places.enter(uid)).into();
        assert!(held.iter().all(Option::is_some));
        assert!(places.enter(1).is_none(), "his own limit");
        held.push(places.enter(3));
        assert!(held[4].is_some(), "another user is not affected");
        assert!(places.enter(3).is_none(), "the limit of all");
        drop(held.swap_remove(0));
        assert!(places.enter(3).is_some());
        held.clear();
        assert!(places.lock().is_empty(), "nobody has one, nothing is kept");
    }

    #[test]
    fn whoever_is_refused_leaves_nothing_behind() {
        let places = Places::new(1, 1);
        let _held = places.enter(1);
        for uid in 2..100 {
            assert!(places.enter(uid).is_none());
        }
        assert_eq!(places.lock().len(), 1);
    }
}
