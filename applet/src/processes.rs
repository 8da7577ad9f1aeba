//! The page of programs: what was learned about them, found, sorted and changed. The list is fetched when
//! the page is first seen, and again when the daemon says that it changed, but only while it is seen.

mod details;
mod entry;
mod exchange;
mod pin;
mod table;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gio, glib};

use crate::asker::Asker;
use crate::confirmation;
use crate::link::Trouble;
use crate::menu;
use crate::model::Presence;
use crate::overview::object;
use crate::programs::{self, Program};
use crate::words::programs as words;
use details::Details;
use entry::Entry;
use table::{Kind, Table, Wanted, sorter};

/// The kinds of the drop-down list, in its order.
const KINDS: [Kind; 5] = [
    Kind::Any,
    Kind::Tier("lat_critical"),
    Kind::Tier("interactive"),
    Kind::Tier("batch"),
    Kind::Pinned,
];

/// The page and what changes on it.
pub struct Processes {
    page: adw::BreakpointBin,
    tools: gtk::Box,
    search: gtk::SearchEntry,
    kinds: gtk::DropDown,
    stack: gtk::Stack,
    nothing: adw::StatusPage,
    again: gtk::Button,
    actions: gio::SimpleActionGroup,
    table: Table,
    presence: RefCell<Presence>,
    fetching: Cell<Fetching>,
    /// Why the list could not be fetched last.
    trouble: RefCell<Option<Trouble>>,
    details: RefCell<Option<Rc<Details>>>,
    asker: Asker,
}

/// Whether the list is being fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fetching {
    /// It never was.
    #[default]
    Never,
    /// It is.
    Now,
    /// It is, and will be again afterwards, because it changed meanwhile.
    Twice,
    /// It is there.
    Done,
}

/// Whether a list is on its way. One that failed is not, until somebody asks for it again.
fn is_waiting(fetching: Fetching, trouble: Option<&Trouble>) -> bool {
    fetching != Fetching::Done && trouble.is_none()
}

/// What decides which page of the stack shows.
struct View {
    known: u32,
    shown: u32,
    is_filtering: bool,
    is_waiting: bool,
}

impl View {
    /// The page; none while it is not known yet whether anything matches.
    fn page(&self) -> Option<&'static str> {
        match (self.known, self.shown) {
            (0, _) if self.is_waiting => Some("loading"),
            (0, _) => Some("nothing"),
            (_, 0) if self.is_filtering => None,
            (_, 0) => Some("no-match"),
            _ => Some("list"),
        }
    }
}

impl Processes {
    /// Builds the page; nothing is fetched yet.
    pub fn new(asker: Asker) -> Rc<Processes> {
        Entry::ensure_type();
        let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/processes.ui");
        let this = Rc::new(Processes {
            page: object(&builder, "page"),
            tools: object(&builder, "tools"),
            search: object(&builder, "search"),
            kinds: object(&builder, "kinds"),
            stack: object(&builder, "stack"),
            nothing: object(&builder, "nothing"),
            again: object(&builder, "again"),
            actions: gio::SimpleActionGroup::new(),
            table: Table::new(),
            presence: RefCell::default(),
            fetching: Cell::default(),
            trouble: RefCell::default(),
            details: RefCell::default(),
            asker,
        });
        let more: gtk::MenuButton = object(&builder, "more");
        menu::name(&more, &gettext("More"));
        this.fill_view(&builder);
        this.connect();
        this.add_actions();
        this
    }

    /// The page as a widget.
    pub fn widget(&self) -> &adw::BreakpointBin {
        &self.page
    }

    fn fill_view(self: &Rc<Self>, builder: &gtk::Builder) {
        let view: gtk::ColumnView = object(builder, "view");
        let column = |name, sorter: gtk::CustomSorter| {
            let column: gtk::ColumnViewColumn = object(builder, name);
            column.set_sorter(Some(&sorter));
            column
        };
        let name = column("name", sorter(|p| programs::key(&p.row)));
        column(
            "tier",
            sorter(|p| words::TIERS.iter().position(|t| *t == p.row.tier)),
        );
        column("confidence", sorter(|p| p.row.confidence_permille));
        column("run", sorter(|p| p.row.avg_runtime_ns));
        column("wakeups", sorter(|p| p.row.wakeup_freq));
        // As it reads: what was seen a moment ago comes first.
        column("seen", sorter(|p| p.launches_since));
        self.table.shown().set_sorter(view.sorter().as_ref());
        view.sort_by_column(Some(&name), gtk::SortType::Ascending);
        let selection = gtk::SingleSelection::builder()
            .model(self.table.shown())
            .autoselect(false)
            .can_unselect(true)
            .build();
        view.set_model(Some(&selection));
        let this = Rc::downgrade(self);
        view.connect_activate(move |view, at| {
            let entry = view.model().and_then(|model| model.item(at));
            if let (Some(this), Some(entry)) = (this.upgrade(), entry.and_downcast::<Entry>()) {
                this.open(&entry);
            }
        });
        self.search.set_key_capture_widget(Some(&self.page));
    }

    fn connect(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        let want = move || {
            if let Some(this) = this.upgrade() {
                this.want();
            }
        };
        let on_kind = want.clone();
        self.search.connect_search_changed(move |_| want());
        self.kinds.connect_selected_notify(move |_| on_kind());
        let this = Rc::downgrade(self);
        self.table.shown().connect_items_changed(move |_, _, _, _| {
            if let Some(this) = this.upgrade() {
                this.show_page();
            }
        });
        let this = Rc::downgrade(self);
        self.table.connect_filtered(move || {
            if let Some(this) = this.upgrade() {
                this.show_page();
            }
        });
        let this = Rc::downgrade(self);
        self.again.connect_clicked(move |_| {
            if let Some(this) = this.upgrade() {
                this.trouble.take();
                this.reload();
            }
        });
    }

    fn add_actions(self: &Rc<Self>) {
        let add = |name: &str, act: fn(&Rc<Processes>)| {
            let this = Rc::downgrade(self);
            let action = gio::SimpleAction::new(name, None);
            action.connect_activate(move |_, _| {
                if let Some(this) = this.upgrade() {
                    act(&this);
                }
            });
            self.actions.add_action(&action);
        };
        add("pin", Processes::pin_another);
        add("export", Processes::export);
        add("import", Processes::import);
        add("forget-all", Processes::forget_all);
        self.page
            .insert_action_group("programs", Some(&self.actions));
    }

    /// Shows whether the daemon is there.
    pub fn show(self: &Rc<Self>, presence: &Presence) {
        let is_here = presence.status().is_some();
        let was_here = self.presence.replace(presence.clone()).status().is_some();
        for name in self.actions.list_actions() {
            let action = self.actions.lookup_action(&name);
            if let Some(action) = action.and_downcast::<gio::SimpleAction>() {
                action.set_enabled(is_here);
            }
        }
        if was_here && !is_here {
            // Whoever comes back may have learned something else.
            self.table.replace(Vec::new());
            self.fetching.set(Fetching::Never);
            self.trouble.take();
        }
        self.show_page();
    }

    /// Shows what the daemon said last, because it did not take a wish.
    pub fn restore(&self) {
        if let Some(details) = self.open_details() {
            details.show();
        }
    }

    /// Fetches the list, because it is seen and may be another one now.
    pub fn reload(self: &Rc<Self>) {
        // A list that nobody may see is not asked for again and again, each time with a dialog.
        let is_refused = *self.trouble.borrow() == Some(Trouble::Refused);
        if is_refused || self.presence.borrow().status().is_none() {
            return;
        }
        match self.fetching.get() {
            Fetching::Now | Fetching::Twice => return self.fetching.set(Fetching::Twice),
            Fetching::Never | Fetching::Done => self.fetching.set(Fetching::Now),
        }
        self.show_page();
        let this = Rc::downgrade(self);
        let link = self.asker.link().clone();
        glib::spawn_future_local(async move {
            let fetched = link.call(programs::fetch).await;
            if let Some(this) = this.upgrade() {
                this.take(fetched);
            }
        });
    }

    fn take(self: &Rc<Self>, fetched: Result<Vec<Program>, Trouble>) {
        let is_stale = self.fetching.get() == Fetching::Twice;
        match fetched {
            Ok(programs) => {
                self.table.replace(programs);
                self.trouble.take();
                self.fetching.set(Fetching::Done);
            }
            Err(trouble) => {
                let is_refused = trouble == Trouble::Refused;
                // Whoever comes back after it left is asked anew.
                let is_here = self.presence.borrow().status().is_some();
                let before = self.trouble.replace(is_here.then(|| trouble.clone()));
                if is_refused {
                    self.table.replace(Vec::new());
                } else if trouble != Trouble::NoDaemon
                    && self.table.count() > 0
                    && before.as_ref() != Some(&trouble)
                {
                    // What was learned before still shows, which hides why it is not what is known now.
                    self.asker.say(&crate::words::trouble(&trouble));
                }
                self.fetching.set(Fetching::Never);
            }
        }
        self.show_page();
        if let Some(details) = self.open_details() {
            details.refresh();
        }
        if is_stale {
            self.reload();
        }
    }

    /// Shows the list, or why there is none.
    fn show_page(&self) {
        let presence = self.presence.borrow();
        let is_here = presence.status().is_some();
        let trouble = self.trouble.borrow();
        let view = View {
            known: self.table.count(),
            shown: self.table.shown().n_items(),
            is_filtering: self.table.is_filtering(),
            is_waiting: is_here && is_waiting(self.fetching.get(), trouble.as_ref()),
        };
        self.tools.set_sensitive(is_here);
        let Some(page) = view.page() else { return };
        if page == "nothing" {
            let (title, text) = words::nothing_to_list(&presence, trouble.as_ref());
            self.nothing.set_title(&title);
            // The reason is the daemon's, and no markup.
            let text = glib::markup_escape_text(&text);
            self.nothing.set_description(Some(&text));
            self.again.set_visible(trouble.is_some());
        }
        self.stack.set_visible_child_name(page);
    }

    fn want(&self) {
        self.table.want(Wanted {
            text: self.search.text().to_lowercase(),
            kind: KINDS
                .get(self.kinds.selected() as usize)
                .copied()
                .unwrap_or_default(),
        });
        self.show_page();
    }

    fn open(self: &Rc<Self>, entry: &Entry) {
        let known = entry.with(|program| (program.row.comm.clone(), program.row.name.clone()));
        if let Some((comm, name)) = known {
            self.open_named(comm, &name);
        }
    }

    fn open_named(self: &Rc<Self>, comm: Vec<u8>, name: &str) {
        let this = Rc::downgrade(self);
        let details = Details::open(&self.page, comm, name, &self.asker, move || {
            if let Some(this) = this.upgrade() {
                this.reload();
            }
        });
        self.details.replace(Some(details));
    }

    fn open_details(&self) -> Option<Rc<Details>> {
        let mut details = self.details.borrow_mut();
        if details.as_ref().is_some_and(|details| !details.is_open()) {
            *details = None;
        }
        details.clone()
    }

    fn pin_another(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        pin::open(&self.page, move |comm, tier| {
            let Some(this) = this.upgrade() else { return };
            let again = Rc::downgrade(&this);
            this.asker.ask_then(
                move |daemon| async move { daemon.processes.pin(&comm, tier).await },
                move |()| {
                    if let Some(this) = again.upgrade() {
                        this.reload();
                    }
                },
            );
        });
    }

    fn forget_all(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        let heading = gettext("Forget All Programs?");
        let body = gettext("All of them are learned anew when they run. Pins stay.");
        confirmation::ask(
            &self.page,
            &heading,
            &body,
            &gettext("_Forget All"),
            move || {
                let Some(this) = this.upgrade() else { return };
                let again = Rc::downgrade(&this);
                this.asker.ask_then(
                    |daemon| async move { daemon.processes.forget_all().await },
                    move |count| {
                        if let Some(this) = again.upgrade() {
                            this.asker.say(&words::forgotten(count));
                            this.reload();
                        }
                    },
                );
            },
        );
    }

    fn export(self: &Rc<Self>) {
        exchange::export(&self.page, &self.asker);
    }

    fn import(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        exchange::import(&self.page, &self.asker, move || {
            if let Some(this) = this.upgrade() {
                this.reload();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_failed_is_not_waited_for() {
        let failed = Trouble::Failed("no memory".to_owned());
        assert!(is_waiting(Fetching::Now, None));
        assert!(is_waiting(Fetching::Never, None));
        assert!(!is_waiting(Fetching::Done, None));
        assert!(!is_waiting(Fetching::Never, Some(&failed)));
        assert!(!is_waiting(Fetching::Never, Some(&Trouble::Refused)));
    }

    #[test]
    fn nothing_matches_only_once_all_were_looked_at() {
        let page = |known, shown, is_filtering| {
            let view = View {
                known,
                shown,
                is_filtering,
                is_waiting: false,
            };
            view.page()
        };
        assert_eq!(page(9, 0, true), None);
        assert_eq!(page(9, 0, false), Some("no-match"));
        assert_eq!(page(9, 1, true), Some("list"));
        assert_eq!(page(0, 0, false), Some("nothing"));
    }
}
