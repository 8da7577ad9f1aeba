//! The programs as lists: all of them, those that are wanted, and these in the order that is wanted.
//! Both steps are done a little at a time, so that a long list does not hold up the window.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use adw::prelude::*;
use gtk::gio;

use super::entry::Entry;
use crate::programs::{self, Program};

/// Which programs are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What the printable name contains, in small letters.
    pub text: String,
    /// Of which kind.
    pub kind: Kind,
}

/// A kind of program that can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Every one.
    #[default]
    Any,
    /// Of this tier.
    Tier(&'static str),
    /// Whose tier somebody decided on.
    Pinned,
}

impl Wanted {
    /// Whether this program is.
    pub fn has(&self, program: &Program) -> bool {
        let is_kind = match self.kind {
            Kind::Any => true,
            Kind::Tier(tier) => program.row.tier == tier,
            Kind::Pinned => program.is_pinned,
        };
        is_kind && program.row.name.to_lowercase().contains(&self.text)
    }
}

/// The lists.
pub struct Table {
    all: gio::ListStore,
    filter: gtk::CustomFilter,
    filtered: gtk::FilterListModel,
    sorted: gtk::SortListModel,
    wanted: Rc<RefCell<Wanted>>,
}

impl Table {
    /// Without any program yet.
    pub fn new() -> Table {
        let wanted = Rc::new(RefCell::new(Wanted::default()));
        let asked = Rc::clone(&wanted);
        let filter = gtk::CustomFilter::new(move |item| {
            let entry = item.downcast_ref::<Entry>();
            let has = |program: &Program| asked.borrow().has(program);
            entry.and_then(|entry| entry.with(has)).unwrap_or(false)
        });
        let all = gio::ListStore::new::<Entry>();
        let filtered = gtk::FilterListModel::builder()
            .model(&all)
            .filter(&filter)
            .incremental(true)
            .build();
        let sorted = gtk::SortListModel::builder()
            .model(&filtered)
            .incremental(true)
            .build();
        Table {
            all,
            filter,
            filtered,
            sorted,
            wanted,
        }
    }

    /// Those that are wanted, in the order of this sorter.
    pub fn shown(&self) -> &gtk::SortListModel {
        &self.sorted
    }

    /// Whether some of them are yet to be looked at.
    pub fn is_filtering(&self) -> bool {
        self.filtered.pending() > 0
    }

    /// Calls this when more of them were looked at.
    pub fn connect_filtered(&self, act: impl Fn() + 'static) {
        self.filtered.connect_pending_notify(move |_| act());
    }

    /// How many programs are known, wanted or not.
    pub fn count(&self) -> u32 {
        self.all.n_items()
    }

    /// Asks for others.
    pub fn want(&self, wanted: Wanted) {
        if self.wanted.replace(wanted.clone()) != wanted {
            self.filter.changed(gtk::FilterChange::Different);
        }
    }

    /// Takes over what is known now, in the order of the names. Objects of programs that stay stay, and
    /// with them what is selected and where the list was scrolled to.
    pub fn replace(&self, programs: Vec<Program>) {
        merge(&self.all, &self.wanted.borrow(), programs);
        // Sorting anew gives rows to other programs, under the hands of whoever is there.
        if let Some(sorter) = self
            .sorted
            .sorter()
            .filter(|sorter| !self.is_sorted(sorter))
        {
            sorter.changed(gtk::SorterChange::Different);
        }
    }

    fn is_sorted(&self, sorter: &gtk::Sorter) -> bool {
        let items: Vec<_> = self.sorted.iter::<gtk::glib::Object>().flatten().collect();
        items
            .windows(2)
            .all(|pair| sorter.compare(&pair[0], &pair[1]) != gtk::Ordering::Larger)
    }
}

/// Takes these programs over into the list. Announces only what comes, goes, or is wanted from now on or no longer:
/// whoever filters looks at these anew and leaves the rest alone.
fn merge(all: &gio::ListStore, wanted: &Wanted, programs: Vec<Program>) {
    if all.n_items() == 0 {
        let entries: Vec<_> = programs.into_iter().map(Entry::new).collect();
        all.extend_from_slice(&entries);
        return;
    }
    let mut at = 0;
    for program in programs {
        while order(all, at, &program) == Some(Ordering::Less) {
            all.remove(at);
        }
        match entry(all, at) {
            Some(entry) if order(all, at, &program) == Some(Ordering::Equal) => {
                let is_wanted = wanted.has(&program);
                let was_wanted = entry.with(|known| wanted.has(known));
                entry.update(program);
                if was_wanted != Some(is_wanted) {
                    all.splice(at, 1, &[entry]);
                }
            }
            _ => all.insert(at, &Entry::new(program)),
        }
        at += 1;
    }
    all.splice(at, all.n_items() - at, &[] as &[Entry]);
}

fn entry(all: &gio::ListStore, at: u32) -> Option<Entry> {
    all.item(at).and_downcast()
}

fn order(all: &gio::ListStore, at: u32, program: &Program) -> Option<Ordering> {
    entry(all, at)?.with(|known| programs::key(&known.row).cmp(&programs::key(&program.row)))
}

/// What a column is sorted by. Programs that are alike in it stay in the order that they had.
pub fn sorter<K: Ord>(key: impl Fn(&Program) -> K + 'static) -> gtk::CustomSorter {
    gtk::CustomSorter::new(move |a, b| {
        let key = |item: &gtk::glib::Object| item.downcast_ref::<Entry>()?.with(&key);
        key(a).cmp(&key(b)).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::tests::program;

    #[test]
    fn programs_are_wanted_by_name_and_kind() {
        let firefox = program("Firefox");
        let has = |text: &str, kind| {
            let text = text.to_owned();
            Wanted { text, kind }.has(&firefox)
        };
        assert!(has("", Kind::Any));
        assert!(has("fire", Kind::Tier("interactive")));
        assert!(!has("fire", Kind::Tier("batch")));
        assert!(!has("chrome", Kind::Any));
        assert!(!has("", Kind::Pinned));
        let pinned = Program {
            is_pinned: true,
            ..program("x")
        };
        let wanted = Wanted {
            kind: Kind::Pinned,
            ..Wanted::default()
        };
        assert!(wanted.has(&pinned));
    }

    #[test]
    fn a_program_of_another_tier_is_looked_at_anew_and_the_others_are_left_alone() {
        Entry::ensure_type();
        let wanted = Wanted {
            kind: Kind::Tier("batch"),
            ..Wanted::default()
        };
        let of = |name: &str, tier: &str| {
            let mut program = program(name);
            program.row.tier = tier.to_owned();
            program
        };
        let all = gio::ListStore::new::<Entry>();
        let before = ["a", "b", "c"].map(|name| of(name, "batch"));
        merge(&all, &wanted, before.to_vec());
        let kept = entry(&all, 1);
        let told = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&told);
        all.connect_items_changed(move |_, at, gone, come| {
            if (gone, come) != (0, 0) {
                seen.borrow_mut().push((at, gone, come));
            }
        });
        let now = vec![of("a", "batch"), of("b", "interactive"), of("c", "batch")];
        merge(&all, &wanted, now);
        assert_eq!(*told.borrow(), [(1, 1, 1)]);
        assert_eq!(entry(&all, 1), kept);
    }
}
