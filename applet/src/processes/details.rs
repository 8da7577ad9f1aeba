//! The dialog of one program: its tier, why it has it, and what can be done about it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use adw::prelude::*;
use gettextrs::gettext;
use gtk::glib;
use pandemonium_api::{ProfileDetails, ProfileRow};

use crate::asker::Asker;
use crate::choice::Choice;
use crate::confirmation;
use crate::link::Trouble;
use crate::overview::object;
use crate::translation::fill;
use crate::words::programs as words;

/// An open dialog.
pub struct Details {
    dialog: adw::Dialog,
    tier: Rc<Choice>,
    why: gtk::Label,
    learned: adw::PreferencesGroup,
    forgetting: adw::PreferencesGroup,
    rows: [adw::ActionRow; 7],
    comm: Vec<u8>,
    known: RefCell<Option<(ProfileRow, ProfileDetails)>>,
    asker: Asker,
    changed: Box<dyn Fn()>,
}

impl Details {
    /// Opens the dialog. `changed` is called after something was done about the program.
    pub fn open(
        parent: &impl IsA<gtk::Widget>,
        comm: Vec<u8>,
        name: &str,
        asker: &Asker,
        changed: impl Fn() + 'static,
    ) -> Rc<Details> {
        let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/program.ui");
        let row = |name| {
            let row: adw::ActionRow = object(&builder, name);
            row.set_use_markup(false);
            row
        };
        let details = Rc::new_cyclic(|weak: &Weak<Details>| Details {
            dialog: object(&builder, "dialog"),
            tier: Choice::new(object(&builder, "tier"), {
                let weak = weak.clone();
                move |tier| {
                    if let Some(this) = weak.upgrade() {
                        this.decide(tier);
                    }
                }
            }),
            why: object(&builder, "why"),
            learned: object(&builder, "learned"),
            forgetting: object(&builder, "forgetting"),
            rows: [
                "certainty",
                "votes",
                "runs",
                "switches",
                "observations",
                "first",
                "last",
            ]
            .map(row),
            comm,
            known: RefCell::default(),
            asker: asker.over(object(&builder, "toasts")),
            changed: Box::new(changed),
        });
        details.dialog.set_title(name);
        details.connect(&object(&builder, "forget"), name);
        details.refresh();
        details.dialog.present(Some(parent));
        details
    }

    /// Whether it shows.
    pub fn is_open(&self) -> bool {
        self.dialog.parent().is_some()
    }

    fn connect(self: &Rc<Self>, forget: &gtk::Button, name: &str) {
        let this = Rc::downgrade(self);
        let name = name.to_owned();
        forget.connect_clicked(move |button| {
            let this = this.clone();
            let heading = fill(&gettext("Forget {name}?"), &[("name", &name)]);
            let body = gettext("It is learned anew when it runs. If it is pinned, it stays so.");
            confirmation::ask(button, &heading, &body, &gettext("_Forget"), move || {
                if let Some(this) = this.upgrade() {
                    this.forget();
                }
            });
        });
    }

    /// Asks what is known now. A program that nothing is known of any more has no dialog.
    pub fn refresh(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        let comm = self.comm.clone();
        let link = self.asker.link().clone();
        glib::spawn_future_local(async move {
            let answer = link
                .call(move |daemon| async move { daemon.processes.get(&comm).await })
                .await;
            let Some(this) = this.upgrade() else { return };
            match answer {
                Ok(known) => {
                    this.known.replace(Some(known));
                    this.show();
                }
                Err(Trouble::Failed(_) | Trouble::NoDaemon) => this.dialog.force_close(),
                Err(Trouble::Refused) => {}
            }
        });
    }

    /// Shows what the daemon said last.
    pub fn show(&self) {
        let known = self.known.borrow();
        let Some((row, details)) = &*known else {
            return;
        };
        let pinned = if details.pinned {
            row.tier.as_str()
        } else {
            ""
        };
        self.tier.show(words::tiers(), pinned);
        self.why.set_label(&words::why(row, details));
        let is_seen = row.observations > 0;
        self.learned.set_visible(is_seen);
        self.forgetting.set_visible(is_seen);
        let texts = [
            words::certainty(row, details),
            words::votes(details),
            words::runs(row),
            words::switches(row, details),
            words::observations(row),
            words::launches_ago(details.launches_since_first),
            words::launches_ago(details.launches_since),
        ];
        for (row, text) in self.rows.iter().zip(texts) {
            row.set_subtitle(&text);
        }
    }

    /// Pins the program to a tier, or leaves it to its behaviour.
    fn decide(self: &Rc<Self>, tier: &str) {
        let (comm, tier) = (self.comm.clone(), tier.to_owned());
        self.change(move |daemon| async move {
            match tier.as_str() {
                "" => daemon.processes.unpin(&comm).await,
                tier => daemon.processes.pin(&comm, tier).await,
            }
        });
    }

    fn forget(self: &Rc<Self>) {
        let comm = self.comm.clone();
        self.change(move |daemon| async move { daemon.processes.forget(&comm).await });
    }

    fn change<F>(self: &Rc<Self>, call: impl FnOnce(crate::link::Daemon) -> F + 'static)
    where
        F: Future<Output = zbus::Result<()>> + Send + 'static,
    {
        let this = Rc::downgrade(self);
        self.asker.ask_then(call, move |()| {
            if let Some(this) = this.upgrade() {
                (this.changed)();
                this.refresh();
            }
        });
    }
}
