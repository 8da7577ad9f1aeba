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
    is_refused: Cell<bool>,
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
            is_refused: Cell::new(false),
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
        self.again.connect_clicked(move |_| {
            if let Some(this) = this.upgrade() {
                this.is_refused.set(false);
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
            self.is_refused.set(false);
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
        if self.is_refused.get() || self.presence.borrow().status().is_none() {
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
                self.fetching.set(Fetching::Done);
            }
            Err(trouble) => {
                // A list that nobody may see is not asked for again and again, each time with a dialog.
                self.is_refused.set(trouble == Trouble::Refused);
                self.table.replace(Vec::new());
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
        let is_empty = self.table.count() == 0;
        let is_waiting = is_here && !self.is_refused.get() && self.fetching.get() != Fetching::Done;
        let page = match (is_empty, self.table.shown().n_items()) {
            (true, _) if is_waiting => "loading",
            (true, _) => "nothing",
            (false, 0) => "no-match",
            (false, _) => "list",
        };
        if page == "nothing" {
            let (title, text) = words::nothing_to_list(&presence, self.is_refused.get());
            self.nothing.set_title(&title);
            self.nothing.set_description(Some(&text));
            self.again.set_visible(self.is_refused.get());
        }
        self.tools.set_sensitive(is_here);
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
