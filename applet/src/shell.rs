//! What the applet is beside its window: the item in the panel, notifications, and what becomes of it all when the
//! window is closed.

use std::cell::{Cell, RefCell};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gio, glib};
use pandemonium_api::{ModeOptions, Snapshot};

use crate::asker::Asker;
use crate::autostart;
use crate::clock::real_usec;
use crate::model::{Presence, Revert};
use crate::notifications::{self, Occasion, Told};
use crate::tray::{Event, Face, Tray, Wait};
use crate::window::Window;

/// How long a panel may take to come, or to come back, before a hidden window is shown instead of its item.
const GRACE: Duration = Duration::from_secs(10);
/// How old the wait in the tooltip gets before a newer one that comes takes its place, microseconds.
const STALE_USEC: u64 = 5_000_000;

/// Everything but the window, which it holds.
pub struct Shell {
    app: adw::Application,
    window: Rc<Window>,
    asker: Asker,
    tray: Tray,
    is_in_panel: Cell<bool>,
    grace: RefCell<Option<glib::SourceId>>,
    presence: RefCell<Presence>,
    wait: RefCell<Option<Wait>>,
    waited_usec: Cell<u64>,
    told: RefCell<Told>,
}

impl Shell {
    /// Puts the item into the panel, if there is one.
    pub fn new(app: &adw::Application, window: Rc<Window>) -> Rc<Shell> {
        let (tray, mut events) = Tray::start(window.asker().link());
        // Nothing that is hidden can say what went wrong.
        let teller = Rc::downgrade(&window);
        let asker = window.asker().or_else(move || {
            if let Some(window) = teller.upgrade() {
                window.present(None);
            }
        });
        let this = Rc::new(Shell {
            app: app.clone(),
            window,
            asker,
            tray,
            is_in_panel: Cell::new(false),
            grace: RefCell::default(),
            presence: RefCell::default(),
            wait: RefCell::default(),
            waited_usec: Cell::new(0),
            told: RefCell::default(),
        });
        let receiver = Rc::downgrade(&this);
        glib::spawn_future_local(async move {
            while let Some(event) = events.recv().await {
                let Some(this) = receiver.upgrade() else {
                    return;
                };
                this.obey(event);
            }
        });
        this
    }

    /// The window.
    pub fn window(&self) -> &Rc<Window> {
        &self.window
    }

    /// Begins without the window. Where no panel shows the item it comes all the same, a little later.
    pub fn begin_hidden(self: &Rc<Self>) {
        self.mind_the_panel();
    }

    /// Shows what is known now, and tells what is worth telling.
    pub fn show(self: &Rc<Self>, presence: &Presence) {
        let news = self.told.borrow_mut().news(presence);
        if let Some(occasion) = news {
            self.notify(&occasion);
        }
        let is_running = presence.status().is_some_and(|status| status.is_running());
        if is_running {
            self.app.withdraw_notification(notifications::EJECTED);
            self.app.withdraw_notification(notifications::CONFLICT);
        } else {
            self.wait.take();
        }
        self.presence.replace(presence.clone());
        self.show_face();
        if is_running && self.is_stale() {
            self.look();
        }
    }

    /// Tells of a mode that went back.
    pub fn reverted(&self, revert: &Revert) {
        if let Some(occasion) = notifications::reverted(revert) {
            self.notify(&occasion);
        }
    }

    /// Takes the wait of a tick.
    pub fn show_sample(&self, sample: &Snapshot) {
        if self.is_stale() {
            self.show_wait(sample.p99_nsec.unwrap_or(0));
        }
    }

    /// Loads the scheduler, as whoever read that it was ended may want.
    pub fn load_again(&self) {
        self.asker
            .ask(|daemon| async move { daemon.scheduler.start().await });
    }

    fn obey(self: &Rc<Self>, event: Event) {
        match event {
            Event::Shown(is_shown) => {
                self.is_in_panel.set(is_shown);
                self.window.show_panel(is_shown);
                self.mind_the_panel();
                self.look();
            }
            Event::Open(permission) => self.window.present(permission.as_deref()),
            // What is chosen here was seen at work before, and there is nobody to ask whether it is kept.
            Event::Mode(mode) => self.asker.ask(move |daemon| async move {
                let options = ModeOptions::default().to_options();
                daemon.scheduler.set_mode(mode, options).await
            }),
            Event::Look => self.look(),
            Event::Quit => self.app.quit(),
            Event::Anew => self.begin_anew(),
        }
    }

    /// Begins as a new program in this process. The name that a desktop starts it by, and the way of its notifications,
    /// were those of the bus that is gone, and GTK takes them once in the life of a program.
    fn begin_anew(&self) {
        let is_demo = self.app.flags().contains(gio::ApplicationFlags::NON_UNIQUE);
        let Ok(program) = autostart::program() else {
            return;
        };
        if is_demo {
            return;
        }
        let mut command = Command::new(program);
        match self.window.page().filter(|_| self.window.is_visible()) {
            Some(page) => command.args(["--page", page.name()]),
            None => command.arg("--hidden"),
        };
        // It returns only if it failed; then all but these two things go on.
        let error = command.exec();
        eprintln!("pandemonium-applet: cannot begin anew: {error}");
    }

    /// Nobody can open a window that is hidden and has no item.
    fn mind_the_panel(self: &Rc<Self>) {
        if let Some(grace) = self.grace.take() {
            grace.remove();
        }
        if self.is_in_panel.get() || self.window.is_visible() {
            return;
        }
        let this = Rc::downgrade(self);
        let grace = glib::timeout_add_local_once(GRACE, move || {
            if let Some(this) = this.upgrade() {
                this.grace.take();
                this.come_unless_locked();
            }
        });
        self.grace.replace(Some(grace));
    }

    /// A desktop that locks may take its panel away until it is unlocked; then the item comes back by itself.
    fn come_unless_locked(self: &Rc<Self>) {
        let this = Rc::downgrade(self);
        let link = self.asker.link().clone();
        glib::spawn_future_local(async move {
            let is_locked = link.is_locked().await;
            let Some(this) = this.upgrade() else { return };
            // A panel may have come, or gone once more, while that was asked.
            let is_done =
                this.is_in_panel.get() || this.window.is_visible() || this.grace.borrow().is_some();
            match is_locked {
                _ if is_done => {}
                true => this.mind_the_panel(),
                false => this.window.present(None),
            }
        });
    }

    /// Asks how long programs wait just now, once.
    fn look(self: &Rc<Self>) {
        let is_running = |presence: &Presence| {
            let status = presence.status();
            status.is_some_and(|status| status.is_running())
        };
        if !self.is_in_panel.get() || !is_running(&self.presence.borrow()) {
            return;
        }
        let this = Rc::downgrade(self);
        let link = self.asker.link().clone();
        glib::spawn_future_local(async move {
            let nsec = link.call(|daemon| async move { daemon.metrics.p99_nsec().await });
            if let (Ok(nsec), Some(this)) = (nsec.await, this.upgrade()) {
                this.show_wait(nsec);
            }
        });
    }

    fn is_stale(&self) -> bool {
        real_usec().abs_diff(self.waited_usec.get()) >= STALE_USEC
    }

    fn show_wait(&self, nsec: u64) {
        self.waited_usec.set(real_usec());
        let time = glib::DateTime::now_local().and_then(|now| now.format("%H:%M"));
        let wait = time.ok().filter(|_| nsec > 0).map(|time| Wait {
            nsec,
            time: time.into(),
        });
        self.wait.replace(wait);
        self.show_face();
    }

    fn show_face(&self) {
        let face = Face::new(&self.presence.borrow(), self.wait.borrow().as_ref());
        self.tray.show(face);
    }

    fn notify(&self, occasion: &Occasion) {
        let notification = gio::Notification::new(&occasion.title);
        notification.set_body(Some(&occasion.body));
        notification.set_default_action("app.open");
        if occasion.can_load {
            notification.add_button(&gettext("Load Again"), "app.load-again");
        }
        notification.add_button(&gettext("Open"), "app.open");
        self.app.send_notification(Some(occasion.id), &notification);
    }
}
