//! The power map: a row for each power situation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use adw::prelude::*;

use crate::asker::Asker;
use crate::choice::Choice;
use crate::model::Status;
use crate::overview::object;
use crate::words::choices::{self as words, NOT_SET, SITUATIONS};

/// The rows.
pub struct Power {
    group: adw::PreferencesGroup,
    rows: [Rc<Choice>; SITUATIONS.len()],
    /// The map that is in force, or that was wished for last.
    map: RefCell<BTreeMap<String, String>>,
    asker: Asker,
}

impl Power {
    /// Nothing is known yet.
    pub fn new(builder: &gtk::Builder, asker: &Asker) -> Rc<Power> {
        Rc::new_cyclic(|weak: &Weak<Power>| Power {
            group: object(builder, "power"),
            rows: SITUATIONS.map(|situation| {
                let weak = weak.clone();
                Choice::new(object(builder, situation), move |domain| {
                    if let Some(this) = weak.upgrade() {
                        this.set(situation, domain);
                    }
                })
            }),
            map: RefCell::default(),
            asker: asker.clone(),
        })
    }

    /// Shows what of the map counts now.
    pub fn explain(&self, status: &Status) {
        self.group
            .set_description(Some(&words::power_explained(status)));
    }

    /// Shows the map.
    pub fn show(&self, map: &BTreeMap<String, String>) {
        for (row, situation) in self.rows.iter().zip(SITUATIONS) {
            let domain = map.get(situation);
            let domain = domain.map_or(NOT_SET, String::as_str);
            row.show(words::situation_domains(domain), domain);
        }
        self.map.replace(map.clone());
    }

    fn set(&self, situation: &str, domain: &str) {
        let mut map = self.map.borrow().clone();
        match domain {
            NOT_SET => drop(map.remove(situation)),
            domain => drop(map.insert(situation.to_owned(), domain.to_owned())),
        }
        // The next wish builds on this one, also if the daemon has not answered yet.
        self.map.replace(map.clone());
        self.asker.ask(move |daemon| async move {
            let map = map.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            daemon.scheduler.set_power_map(map).await
        });
    }
}
