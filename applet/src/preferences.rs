//! The page of what holds for every user of the machine. Each row shows what the daemon says; what a person
//! chooses is asked of the daemon, and goes back if that refuses. Only the item in the panel is the person's own.

mod chooser;
mod compositors;
mod holds;
mod power;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use pandemonium_api::ModeOptions;

use crate::asker::Asker;
use crate::choice::Choice;
use crate::confirmation;
use crate::model::{Presence, Status};
use crate::overview::object;
use crate::trial;
use crate::words::choices as words;
use compositors::Compositors;
use holds::Holds;
use power::Power;

/// The groups that nobody can use without the daemon.
const OF_THE_DAEMON: [&str; 6] = [
    "starting",
    "compositing",
    "cpus",
    "power",
    "holding",
    "resetting",
];

/// The page and what changes on it.
pub struct Preferences {
    page: adw::PreferencesPage,
    of_the_daemon: [adw::PreferencesGroup; OF_THE_DAEMON.len()],
    panel: adw::PreferencesGroup,
    boot: Rc<Choice>,
    domain: Rc<Choice>,
    mask: adw::EntryRow,
    idle: adw::SwitchRow,
    compositors: Rc<Compositors>,
    power: Rc<Power>,
    holds: Holds,
    /// What is shown; the daemon announces much else every second.
    shown: RefCell<Option<Status>>,
    is_following: Cell<bool>,
    asker: Asker,
}

impl Preferences {
    /// Builds the page.
    pub fn new(asker: Asker) -> Rc<Preferences> {
        let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/preferences.ui");
        let this = Rc::new_cyclic(|weak: &std::rc::Weak<Preferences>| {
            let choice = |name, act: fn(&Preferences, &str)| {
                let weak = weak.clone();
                Choice::new(object(&builder, name), move |value| {
                    if let Some(this) = weak.upgrade() {
                        act(&this, value);
                    }
                })
            };
            Preferences {
                page: object(&builder, "page"),
                of_the_daemon: OF_THE_DAEMON.map(|name| object(&builder, name)),
                panel: object(&builder, "panel"),
                boot: choice("boot", Preferences::start_in),
                domain: choice("domain", Preferences::choose_domain),
                mask: object(&builder, "mask"),
                idle: object(&builder, "idle"),
                compositors: Compositors::new(&builder, &asker),
                power: Power::new(&builder, &asker),
                holds: Holds::new(&builder),
                shown: RefCell::default(),
                is_following: Cell::new(false),
                asker,
            }
        });
        this.connect(&object(&builder, "reset"));
        this
    }

    /// The page as a widget.
    pub fn widget(&self) -> &adw::PreferencesPage {
        &self.page
    }

    fn connect(self: &Rc<Self>, reset: &gtk::Button) {
        let this = Rc::downgrade(self);
        self.idle.connect_active_notify(move |row| {
            let on = row.is_active();
            if let Some(this) = this.upgrade().filter(|this| !this.is_following.get()) {
                this.asker
                    .ask(move |daemon| async move { daemon.scheduler.set_idle_selector(on).await });
            }
        });
        let this = Rc::downgrade(self);
        self.mask.connect_apply(move |row| {
            if let Some(this) = this.upgrade() {
                this.set_domain(row.text().trim().to_owned());
            }
        });
        let this = Rc::downgrade(self);
        reset.connect_clicked(move |button| {
            let this = this.clone();
            let heading = gettext("Reset Choices?");
            let body = gettext(
                "Compositors, CPUs and the power map go back to what the configuration files say.",
            );
            confirmation::ask(button, &heading, &body, &gettext("_Reset"), move || {
                if let Some(this) = this.upgrade() {
                    this.asker
                        .ask(|daemon| async move { daemon.scheduler.reset_choices(&[]).await });
                }
            });
        });
    }

    /// Shows what the daemon says.
    pub fn show(&self, presence: &Presence) {
        let status = presence.status();
        for group in &self.of_the_daemon {
            group.set_sensitive(status.is_some());
        }
        if let Some(status) = status {
            let before = self.shown.replace(Some(status.clone()));
            self.follow(before.as_ref(), status);
        }
    }

    /// Shows whether any panel shows the item.
    pub fn show_panel(&self, is_there: bool) {
        self.panel.set_description(Some(&words::panel(is_there)));
    }

    /// Shows what the daemon said last, because it did not take a wish.
    pub fn restore(&self) {
        let shown = self.shown.borrow().clone();
        if let Some(status) = shown {
            // CPUs that the daemon did not take can be mended where they were typed.
            if self.domain.selected().as_deref() != Some(words::OWN) {
                self.show_domain(&status.primary_domain);
            }
            self.follow_others(None, &status);
        }
    }

    /// Shows what is no longer as before. The rest may show a wish that the daemon has not answered yet.
    fn follow(&self, before: Option<&Status>, now: &Status) {
        if before.is_none_or(|before| before.primary_domain != now.primary_domain) {
            self.show_domain(&now.primary_domain);
        }
        self.follow_others(before, now);
    }

    /// The same for all but the CPUs.
    fn follow_others(&self, before: Option<&Status>, now: &Status) {
        let is_new = |is_alike: fn(&Status, &Status) -> bool| {
            before.is_none_or(|before| !is_alike(before, now))
        };
        // A mode that was tried for every start goes back with the one for now.
        if is_new(|a, b| a.boot_mode == b.boot_mode && a.requested_mode == b.requested_mode) {
            self.boot.show(words::modes(), &now.boot_mode);
        }
        if is_new(|a, b| a.idle_selector == b.idle_selector) {
            self.is_following.set(true);
            self.idle.set_active(now.idle_selector);
            self.is_following.set(false);
        }
        if is_new(|a, b| a.compositors == b.compositors) {
            self.compositors.show(&now.compositors);
        }
        if is_new(|a, b| a.power_map == b.power_map) {
            self.power.show(&now.power_map);
        }
        if is_new(|a, b| words::power_explained(a) == words::power_explained(b)) {
            self.power.explain(now);
        }
        if is_new(|a, b| a.holds == b.holds) {
            self.holds.show(&now.holds);
        }
    }

    fn show_domain(&self, chosen: &str) {
        let is_mask = words::is_mask(chosen);
        let domain = if is_mask { words::OWN } else { chosen };
        self.domain.show(words::domains(), domain);
        self.mask.set_visible(is_mask);
        self.mask.set_text(if is_mask { chosen } else { "" });
    }

    /// A mode for every start is one for now as well, and goes back unless it is kept.
    fn start_in(&self, mode: &str) {
        let mode = mode.to_owned();
        let now = self.shown.borrow();
        let is_new = now
            .as_ref()
            .is_none_or(|status| status.requested_mode != mode);
        let options = ModeOptions {
            persist: true,
            confirm_seconds: trial::seconds(&mode).filter(|_| is_new),
        };
        self.asker.ask(move |daemon| async move {
            let options = options.to_options();
            daemon.scheduler.set_mode(&mode, options).await
        });
    }

    fn choose_domain(&self, domain: &str) {
        let is_own = domain == words::OWN;
        self.mask.set_visible(is_own);
        if is_own {
            self.mask.grab_focus();
        } else {
            self.set_domain(domain.to_owned());
        }
    }

    fn set_domain(&self, domain: String) {
        self.asker
            .ask(move |daemon| async move { daemon.scheduler.set_primary_domain(&domain).await });
    }
}
