//! What a person asks of the daemon, from any page.

use std::future::Future;
use std::rc::Rc;

use gtk::glib;

use crate::link::{Daemon, Link, Trouble};
use crate::words;

/// Seconds that a sentence shows. They say what to do as well, which takes longer to read than the toolkit's 5 allow.
const SHOWN: u32 = 10;

/// Asks, and tells the person if it was not done. Cheap to clone.
#[derive(Clone)]
pub struct Asker {
    link: Link,
    toasts: adw::ToastOverlay,
    restore: Rc<dyn Fn()>,
}

impl Asker {
    /// `restore` is called when something was not done, to show what is in force instead.
    pub fn new(link: Link, toasts: adw::ToastOverlay, restore: impl Fn() + 'static) -> Asker {
        Asker {
            link,
            toasts,
            restore: Rc::new(restore),
        }
    }

    /// Says something in passing.
    pub fn say(&self, sentence: &str) {
        let toast = adw::Toast::builder()
            .use_markup(false)
            .timeout(SHOWN)
            .build();
        toast.set_title(sentence);
        self.toasts.add_toast(toast);
    }

    /// Says why something was not done, and shows what is in force instead.
    pub fn tell(&self, trouble: &Trouble) {
        self.say(&words::trouble(trouble));
        (self.restore)();
    }

    /// The same for a dialog, which would cover what is said in the window.
    pub fn over(&self, toasts: adw::ToastOverlay) -> Asker {
        Asker {
            toasts,
            ..self.clone()
        }
    }

    /// The same for who has more to do when something was not done: `restore` is called as well.
    pub fn or_else(&self, restore: impl Fn() + 'static) -> Asker {
        let before = Rc::clone(&self.restore);
        Asker {
            restore: Rc::new(move || {
                before();
                restore();
            }),
            ..self.clone()
        }
    }

    /// The way to the daemon, for what nobody asked for and whose failure is no news.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Makes a call; what it changes is shown as the daemon announces it.
    pub fn ask<F>(&self, call: impl FnOnce(Daemon) -> F + 'static)
    where
        F: Future<Output = zbus::Result<()>> + Send + 'static,
    {
        self.ask_then(call, |()| {});
    }

    /// The same, and then something with the answer.
    pub fn ask_then<T, F>(
        &self,
        call: impl FnOnce(Daemon) -> F + 'static,
        then: impl FnOnce(T) + 'static,
    ) where
        T: Send + 'static,
        F: Future<Output = zbus::Result<T>> + Send + 'static,
    {
        let this = self.clone();
        glib::spawn_future_local(async move {
            match this.link.call(call).await {
                Ok(answer) => then(answer),
                Err(trouble) => this.tell(&trouble),
            }
        });
    }

    /// Asks the bus to start the daemon.
    pub fn start_service(&self) {
        let this = self.clone();
        glib::spawn_future_local(async move {
            if let Err(trouble) = this.link.start_service().await {
                this.tell(&trouble);
            }
        });
    }
}
