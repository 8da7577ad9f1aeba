//! The window: the banner above, the pages below, and what its buttons ask of the daemon.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::glib;
use pandemonium_api::{ModeOptions, mode};

use crate::asker::Asker;
use crate::clock::{Clock, real_usec};
use crate::link::{Attention, Link};
use crate::menu;
use crate::model::{Presence, Status};
use crate::overview::{Overview, object};
use crate::page::Page;
use crate::preferences::Preferences;
use crate::processes::Processes;
use crate::trial::{self, Trial};
use crate::words::{self, Remedy};

/// The window and what it shows.
pub struct Window {
    window: adw::ApplicationWindow,
    banner: adw::Banner,
    stack: adw::ViewStack,
    places: [adw::Bin; Page::ALL.len()],
    overview: Rc<Overview>,
    /// Made when they are first seen.
    processes: OnceCell<Rc<Processes>>,
    preferences: OnceCell<Rc<Preferences>>,
    asker: Asker,
    presence: RefCell<Presence>,
    /// Whether a panel shows the item, once that is known.
    has_panel: Cell<Option<bool>>,
    remedy: Cell<Option<Remedy>>,
    countdown: RefCell<Option<glib::SourceId>>,
    trial: RefCell<Option<Trial>>,
}

impl Window {
    /// Builds the window; it is not presented yet.
    pub fn new(app: &adw::Application, link: Link, clock: Clock) -> Rc<Window> {
        let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/window.ui");
        let this = Rc::new_cyclic(|weak: &std::rc::Weak<Window>| {
            let wisher = weak.clone();
            let overview = Overview::new(clock, move |mode| {
                if let Some(this) = wisher.upgrade() {
                    this.set_mode(mode);
                }
            });
            let toasts: adw::ToastOverlay = object(&builder, "toasts");
            let restorer = weak.clone();
            let asker = Asker::new(link, toasts, move || {
                if let Some(this) = restorer.upgrade() {
                    this.restore();
                }
            });
            let places = Page::ALL.map(|page| object::<adw::Bin>(&builder, page.name()));
            places[0].set_child(Some(overview.widget()));
            Window {
                window: object(&builder, "window"),
                banner: object(&builder, "banner"),
                stack: object(&builder, "stack"),
                places,
                overview,
                processes: OnceCell::new(),
                preferences: OnceCell::new(),
                asker,
                presence: RefCell::default(),
                has_panel: Cell::default(),
                remedy: Cell::new(None),
                countdown: RefCell::new(None),
                trial: RefCell::new(None),
            }
        });
        this.window.set_application(Some(app));
        let button: gtk::MenuButton = object(&builder, "menu_button");
        menu::name(&button, &gettext("Main Menu"));
        this.connect();
        this.show(Presence::Connecting);
        this
    }

    fn connect(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        self.banner.connect_button_clicked(move |_| {
            if let Some(this) = this.upgrade() {
                this.remedy();
            }
        });
        // What changes every second is asked for only while it can be seen.
        let this = Rc::downgrade(self);
        let look = move || {
            if let Some(this) = this.upgrade() {
                this.look();
            }
        };
        let (on_map, on_unmap, on_suspend) = (look.clone(), look.clone(), look.clone());
        let this = Rc::downgrade(self);
        self.window.connect_map(move |_| {
            on_map();
            // It counts seconds only while it can be seen.
            if let Some(this) = this.upgrade() {
                this.show_notice();
            }
        });
        self.window.connect_unmap(move |_| on_unmap());
        self.window.connect_suspended_notify(move |_| on_suspend());
        self.stack
            .connect_visible_child_name_notify(move |_| look());
    }

    /// Asks for what the page that can be seen shows, and for nothing else.
    fn look(&self) {
        let is_seen = self.window.is_mapped() && !self.window.is_suspended();
        let page = self.page().filter(|_| is_seen);
        match page {
            Some(Page::Processes) => self.open_processes(),
            Some(Page::Preferences) => self.open_preferences(),
            Some(Page::Overview) | None => {}
        }
        self.asker.link().watch(Attention {
            numbers: page == Some(Page::Overview),
            profiles: page == Some(Page::Processes),
        });
    }

    fn open_processes(&self) {
        self.processes.get_or_init(|| {
            let page = Processes::new(self.asker.clone());
            page.show(&self.presence.borrow());
            self.place(Page::Processes).set_child(Some(page.widget()));
            page
        });
    }

    fn open_preferences(&self) {
        self.preferences.get_or_init(|| {
            let page = Preferences::new(self.asker.clone());
            page.show(&self.presence.borrow());
            if let Some(is_there) = self.has_panel.get() {
                page.show_panel(is_there);
            }
            self.place(Page::Preferences).set_child(Some(page.widget()));
            page
        });
    }

    fn place(&self, page: Page) -> &adw::Bin {
        &self.places[page as usize]
    }

    /// The programs that were learned may be others now.
    pub fn reload_processes(&self) {
        if let Some(processes) = self.processes.get() {
            processes.reload();
        }
    }

    /// The page that is on top.
    pub fn page(&self) -> Option<Page> {
        Page::named(&self.stack.visible_child_name()?)
    }

    /// Turns to this page.
    pub fn turn_to(&self, page: Page) {
        self.stack.set_visible_child_name(page.name());
    }

    /// Shows the window, or brings it to the front, which some desktops permit only to those that they told so.
    pub fn present(&self, permission: Option<&str>) {
        if let Some(permission) = permission {
            self.window.set_startup_id(permission);
        }
        self.window.present();
    }

    /// Whether it shows anywhere, or would if its workspace did.
    pub fn is_visible(&self) -> bool {
        self.window.is_visible()
    }

    /// Asks for a person, and tells in the window what was not done.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Takes whether a panel shows the item, which stays there when the window is closed.
    pub fn show_panel(&self, is_there: bool) {
        self.window.set_hide_on_close(is_there);
        self.has_panel.set(Some(is_there));
        if let Some(preferences) = self.preferences.get() {
            preferences.show_panel(is_there);
        }
    }

    /// The first page.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }

    /// Shows what is known now.
    pub fn show(self: &Rc<Self>, presence: Presence) {
        self.overview.show(&presence);
        if let Some(processes) = self.processes.get() {
            processes.show(&presence);
        }
        if let Some(preferences) = self.preferences.get() {
            preferences.show(&presence);
        }
        self.presence.replace(presence);
        self.show_notice();
        self.follow_trial();
    }

    fn show_notice(self: &Rc<Self>) {
        let presence = self.presence.borrow();
        let notice = words::notice(&presence, real_usec());
        self.banner.set_revealed(notice.is_some());
        self.remedy
            .set(notice.as_ref().map(|notice| notice.remedy.1));
        if let Some(notice) = notice {
            self.banner.set_title(&notice.text);
            self.banner.set_button_label(Some(&notice.remedy.0));
        }
        let retry = presence.status().map_or(0, |status| status.next_retry_usec);
        if let Some(source) = self.countdown.take() {
            source.remove();
        }
        if retry > real_usec() && self.window.is_mapped() {
            let this = Rc::downgrade(self);
            let source = glib::timeout_add_seconds_local_once(1, move || {
                if let Some(this) = this.upgrade() {
                    this.countdown.take();
                    this.show_notice();
                }
            });
            self.countdown.replace(Some(source));
        }
    }

    /// A mode that waits to be kept has a dialog, whoever asked for it.
    fn follow_trial(self: &Rc<Self>) {
        let status = self.presence.borrow().status().cloned();
        let status = status.filter(|status| status.confirm_usec != 0);
        let Some(status) = status else {
            if let Some(trial) = self.trial.take() {
                trial.end();
            }
            return;
        };
        let open = self.trial.take().filter(|trial| trial.is_about(&status));
        if let Some(trial) = open {
            trial.show(&status);
            self.trial.replace(Some(trial));
            return;
        }
        let this = Rc::downgrade(self);
        let trial = Trial::begin(&self.window, &status, move |is_kept| {
            if let Some(this) = this.upgrade() {
                this.decide(is_kept);
            }
        });
        self.trial.replace(Some(trial));
    }

    fn decide(self: &Rc<Self>, is_kept: bool) {
        // What was not done can be answered again while the mode still waits.
        let this = Rc::downgrade(self);
        let asker = self.asker.or_else(move || {
            if let Some(this) = this.upgrade() {
                this.trial.take();
                this.follow_trial();
            }
        });
        asker.ask(move |daemon| async move {
            match is_kept {
                true => daemon.scheduler.confirm().await,
                false => daemon.scheduler.revert().await,
            }
        });
    }

    fn remedy(&self) {
        match self.remedy.get() {
            Some(Remedy::StartService) => self.asker.start_service(),
            Some(Remedy::Start) => self
                .asker
                .ask(|daemon| async move { daemon.scheduler.start().await }),
            Some(Remedy::SwitchOn) => self.set_mode(mode::ADAPTIVE),
            Some(Remedy::Explain) => self.explain(),
            None => {}
        }
    }

    fn set_mode(&self, mode: &'static str) {
        let options = ModeOptions {
            persist: false,
            confirm_seconds: trial::seconds(mode),
        };
        self.asker.ask(move |daemon| async move {
            daemon.scheduler.set_mode(mode, options.to_options()).await
        });
    }

    /// Shows what is in force, because a wish did not come true.
    fn restore(&self) {
        self.overview.show(&self.presence.borrow());
        if let Some(processes) = self.processes.get() {
            processes.restore();
        }
        if let Some(preferences) = self.preferences.get() {
            preferences.restore();
        }
    }

    fn explain(&self) {
        let presence = self.presence.borrow();
        let reason = presence
            .status()
            .map_or("", |status: &Status| &status.state_reason);
        let dialog = adw::AlertDialog::builder()
            .heading(words::headline(&presence))
            .body(reason)
            .build();
        dialog.add_response("close", &gettext("_Close"));
        dialog.present(Some(&self.window));
    }
}
