//! The thread that talks to the daemon, so that keys and drawing never wait for it.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use pandemonium_api::{MAX_ROWS, ProfileFilter, ProfileRow};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zbus::proxy::MethodFlags;

use super::feed::{Feed, News, Now};
use crate::connection::{Daemon, answer, block_on, system_bus};
use crate::error::Error;

/// How often the list of profiles may be asked for: each time the daemon asks polkit.
const LIST_PAUSE: Duration = Duration::from_secs(5);

/// What the thread tells the view.
pub enum Happening {
    /// A new sample.
    Sampled(Box<Now>),
    /// The daemon or the bus is not there.
    Lost(String),
    /// The learned profiles, or why they cannot be shown.
    Learned(Result<Vec<ProfileRow>, String>),
    /// What became of a request to switch the mode.
    Answered(String),
}

/// The view's end of the thread. It ends when this is dropped.
pub struct Worker {
    /// What happened, in order.
    pub news: Receiver<Happening>,
    orders: UnboundedSender<&'static str>,
}

impl Worker {
    /// Connects to the bus, which must be there, and starts the thread. The daemon may come later.
    pub fn start() -> Result<Worker, Error> {
        let (to_view, news) = mpsc::channel();
        let (orders, from_view) = unbounded_channel();
        let (connected, is_connected) = mpsc::channel();
        std::thread::spawn(move || {
            // Errors before the first sample go through `connected`, later ones through the news.
            let _ = block_on(async {
                let feed = match system_bus().await {
                    Ok(bus) => Feed::on(bus),
                    Err(error) => {
                        let _ = connected.send(Err(error));
                        return Ok(());
                    }
                };
                let _ = connected.send(Ok(()));
                work(feed, from_view, to_view).await;
                Ok(())
            });
        });
        is_connected
            .recv()
            .unwrap_or_else(|_| Err(Error::Failed("the event loop cannot start".to_owned())))?;
        Ok(Worker { news, orders })
    }

    /// Asks for another mode; the answer is news.
    pub fn switch(&self, mode: &'static str) {
        // A thread that ended is noticed where the news is read.
        let _ = self.orders.send(mode);
    }
}

async fn work(
    mut feed: Feed,
    mut orders: UnboundedReceiver<&'static str>,
    view: Sender<Happening>,
) {
    let mut list = List::default();
    loop {
        let happening = tokio::select! {
            order = orders.recv() => {
                let Some(mode) = order else { return };
                // A password dialog may be open for minutes; samples go on meanwhile.
                match feed.daemon().await {
                    Ok(daemon) => {
                        tokio::spawn(switch(daemon, mode, view.clone()));
                        continue;
                    }
                    Err(error) => Happening::Answered(error.to_string()),
                }
            }
            news = feed.next() => match news {
                News::Sample(now) => {
                    if list.is_due(now.generation)
                        && let Ok(daemon) = feed.daemon().await
                    {
                        let rows = list.fetch(&daemon, now.generation).await;
                        if view.send(Happening::Learned(rows)).is_err() {
                            return;
                        }
                    }
                    Happening::Sampled(now)
                }
                News::Asking(reason) => Happening::Answered(reason),
                News::Gone(error) => {
                    list = List::default();
                    Happening::Lost(error.to_string())
                }
            },
        };
        if view.send(happening).is_err() {
            return;
        }
    }
}

async fn switch(daemon: Daemon, mode: &'static str, view: Sender<Happening>) {
    let sentence = match daemon.set_mode(mode).await {
        Ok(()) => format!("the mode is {mode} now"),
        Err(error) => error.to_string(),
    };
    let _ = view.send(Happening::Answered(sentence));
}

/// Which profiles were fetched last.
#[derive(Default)]
struct List {
    fetched: Option<(u64, Instant)>,
    is_denied: bool,
}

impl List {
    fn is_due(&self, generation: u64) -> bool {
        match self.fetched {
            None => true,
            Some((fetched, at)) => {
                !self.is_denied && fetched != generation && at.elapsed() >= LIST_PAUSE
            }
        }
    }

    /// Asks without allowing a dialog: looking at a monitor should not demand a password.
    async fn fetch(&mut self, daemon: &Daemon, generation: u64) -> Result<Vec<ProfileRow>, String> {
        self.fetched = Some((generation, Instant::now()));
        let everything = ProfileFilter::default();
        let arguments = (0u32, MAX_ROWS, everything.to_options());
        let call = daemon
            .processes
            .inner()
            .call_with_flags::<_, _, (Vec<ProfileRow>, u32, u64)>(
                "List",
                MethodFlags::NO_AUTO_START,
                &arguments,
            );
        let reply = answer(async { call.await?.ok_or(zbus::Error::InvalidReply) }).await;
        self.is_denied = matches!(reply, Err(Error::Denied(_)));
        match reply {
            Ok((rows, ..)) => Ok(rows),
            Err(Error::Denied(_)) => {
                Err("not shown without permission; `pandemonium profiles` asks for it".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_asked_for_once_per_change_and_not_in_a_rush() {
        let mut list = List::default();
        assert!(list.is_due(1));
        list.fetched = Some((1, Instant::now()));
        assert!(!list.is_due(1), "nothing changed");
        assert!(!list.is_due(2), "too soon");
        let Some(earlier) = Instant::now().checked_sub(LIST_PAUSE) else {
            return;
        };
        list.fetched = Some((1, earlier));
        assert!(list.is_due(2));
        list.is_denied = true;
        assert!(!list.is_due(2), "no is no");
    }
}
