//! What a person asks of the daemon, from any page.

use std::future::Future;
use std::rc::Rc;

use gtk::glib;

use crate::link::{Daemon, Link, Trouble};

/// Asks, and tells the person if it was not done. Cheap to clone.
#[derive(Clone)]
pub struct Asker {
    link: Link,
    tell: Rc<dyn Fn(&Trouble)>,
}

impl Asker {
    /// `tell` is called with why something was not done.
    pub fn new(link: Link, tell: impl Fn(&Trouble) + 'static) -> Asker {
        let tell = Rc::new(tell);
        Asker { link, tell }
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
                Err(trouble) => (this.tell)(&trouble),
            }
        });
    }

    /// Asks the bus to start the daemon.
    pub fn start_service(&self) {
        let this = self.clone();
        glib::spawn_future_local(async move {
            if let Err(trouble) = this.link.start_service().await {
                (this.tell)(&trouble);
            }
        });
    }
}
