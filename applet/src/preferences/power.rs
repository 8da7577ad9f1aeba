//! The power map: a row for each power situation.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use adw::prelude::*;
use tokio::sync::Mutex;

use crate::asker::Asker;
use crate::choice::Choice;
use crate::model::Status;
use crate::overview::object;
use crate::words::choices::{self as words, NOT_SET, SITUATIONS};

/// The rows.
pub struct Power {
    group: adw::PreferencesGroup,
    rows: [Rc<Choice>; SITUATIONS.len()],
    /// Held from when the map is asked for until the changed one is in force: the next wish changes that.
    turn: Arc<Mutex<()>>,
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
            turn: Arc::default(),
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
    }

    fn set(&self, situation: &'static str, domain: &str) {
        let (turn, domain) = (Arc::clone(&self.turn), domain.to_owned());
        self.asker.ask(move |daemon| async move {
            let _turn = turn.lock().await;
            let mut map = daemon.scheduler.power_map().await?;
            match domain.as_str() {
                NOT_SET => map.remove(situation),
                _ => map.insert(situation.to_owned(), domain),
            };
            let map = map.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            daemon.scheduler.set_power_map(map).await
        });
    }
}
