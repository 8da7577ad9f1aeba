//! The item in the panel, of the kind that panels call StatusNotifierItem, and whether any panel shows it.
//!
//! It lives on the thread of the link and wakes nobody: what it shows is pushed into it, and panels are told only
//! of what has changed.

use std::time::Duration;

use futures_util::StreamExt;
use gettextrs::gettext;
use ksni::menu::{RadioGroup, RadioItem, StandardItem};
use ksni::{MenuItem, TextDirection, ToolTip, TrayMethods};
use pandemonium_api::mode;
use tokio::sync::{mpsc, watch};
use zbus::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::proxy::CacheProperties;
use zbus::{Connection, proxy};

use crate::link::Link;
use crate::model::{Presence, Status};
use crate::translation::fill;
use crate::words;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// The order of the menu.
const MODES: [&str; 3] = [mode::ADAPTIVE, mode::BPF, mode::OFF];
/// How long after a loss the session bus is tried again; twice as long each time, up to the second one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Whoever knows the items, and the panels that show them.
#[proxy(
    interface = "org.kde.StatusNotifierWatcher",
    default_service = "org.kde.StatusNotifierWatcher",
    default_path = "/StatusNotifierWatcher"
)]
trait Watcher {
    #[zbus(property(emits_changed_signal = "false"))]
    fn is_status_notifier_host_registered(&self) -> zbus::Result<bool>;
    #[zbus(signal)]
    fn status_notifier_host_registered(&self) -> zbus::Result<()>;
    #[zbus(signal)]
    fn status_notifier_host_unregistered(&self) -> zbus::Result<()>;
}

/// What comes from the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Whether a panel shows the item, from now on.
    Shown(bool),
    /// A person wants the window; with the permission to come to the front, where the desktop gives one.
    Open(Option<String>),
    /// A person wants this mode.
    Mode(&'static str),
    /// A person looks at the menu.
    Look,
    /// A person wants no applet any more.
    Quit,
    /// The session bus is another one than before.
    Anew,
}

/// What the item shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Face {
    icon: &'static str,
    text: String,
    /// Which of `MODES` is wanted; `None` while nobody can be asked for another.
    mode: Option<usize>,
}

/// The 99th percentile of the waits, and when that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Nanoseconds.
    pub nsec: u64,
    /// The time of day, in the words of the person.
    pub time: String,
}

impl Face {
    /// Says what there is to say, in as many lines as that takes.
    pub fn new(presence: &Presence, wait: Option<&Wait>) -> Face {
        let mut lines = vec![words::headline(presence)];
        let running = presence.status().filter(|status| status.is_running());
        if let Some(status) = running {
            lines.push(format!(
                "{} · {}",
                words::mode_name(&status.mode),
                words::regime_name(&status.regime)
            ));
            lines.extend(wait.map(|wait| {
                let sentence = gettext("99 of 100 wake-ups waited no longer than {span} ({time})");
                let span = words::span(wait.nsec);
                fill(&sentence, &[("span", &span), ("time", &wait.time)])
            }));
        }
        Face {
            icon: words::icon(presence),
            text: lines.join("\n"),
            mode: presence.status().map(Face::place_in_menu),
        }
    }

    /// One that is in none of the places of a newer daemon's mode is in none of ours.
    fn place_in_menu(status: &Status) -> usize {
        let place = MODES.iter().position(|mode| *mode == status.requested_mode);
        place.unwrap_or(MODES.len())
    }
}

/// A handle of the item.
pub struct Tray {
    face: watch::Sender<Face>,
}

impl Tray {
    /// Puts the item on the session bus as soon as there is anybody to show it. What comes of it is received from
    /// the second value.
    pub fn start(link: &Link) -> (Tray, mpsc::UnboundedReceiver<Event>) {
        let (face, faces) = watch::channel(Face::new(&Presence::Connecting, None));
        let (events, receiver) = mpsc::unbounded_channel();
        let is_rtl = gtk::Widget::default_direction() == gtk::TextDirection::Rtl;
        link.spawn(
            Keeper {
                faces,
                events,
                is_rtl,
            }
            .keep(),
        );
        (Tray { face }, receiver)
    }

    /// Shows this from now on.
    pub fn show(&self, face: Face) {
        self.face
            .send_if_modified(|before| std::mem::replace(before, face.clone()) != face);
    }
}

/// What keeps the item on the bus.
struct Keeper {
    faces: watch::Receiver<Face>,
    events: mpsc::UnboundedSender<Event>,
    is_rtl: bool,
}

impl Keeper {
    async fn keep(mut self) {
        let mut pause = FIRST_PAUSE;
        let mut is_first = true;
        while !self.events.is_closed() {
            if let Ok(bus) = Connection::session().await {
                pause = FIRST_PAUSE;
                if !std::mem::take(&mut is_first) {
                    let _ = self.events.send(Event::Anew);
                }
                let mut item = None;
                // However it ended, it starts anew.
                let _ = self.follow(&bus, &mut item).await;
                if let Some(item) = item {
                    item.shutdown().await;
                }
                let _ = self.events.send(Event::Shown(false));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Keeps the item beside whatever panels come and go, until the bus goes.
    async fn follow(
        &mut self,
        bus: &Connection,
        item: &mut Option<ksni::Handle<Item>>,
    ) -> zbus::Result<()> {
        let dbus = DBusProxy::new(bus).await?;
        let watcher = WatcherProxy::builder(bus)
            .cache_properties(CacheProperties::No)
            .build()
            .await?;
        let mut owners = dbus
            .receive_name_owner_changed_with_args(&[(0, WATCHER)])
            .await?;
        let mut comings = watcher.receive_status_notifier_host_registered().await?;
        let mut goings = watcher.receive_status_notifier_host_unregistered().await?;
        loop {
            let is_shown = dbus.name_has_owner(BusName::try_from(WATCHER)?).await?
                // One that does not say has a panel.
                && watcher.is_status_notifier_host_registered().await.unwrap_or(true);
            if is_shown && item.is_none() {
                *item = self.item().assume_sni_available(true).spawn().await.ok();
            }
            let _ = self.events.send(Event::Shown(is_shown && item.is_some()));
            loop {
                tokio::select! {
                    change = owners.next() => match change {
                        Some(_) => break,
                        None => return Ok(()),
                    },
                    Some(_) = comings.next() => break,
                    Some(_) = goings.next() => break,
                    face = self.faces.changed() => {
                        if face.is_err() {
                            return Ok(());
                        }
                        if let Some(item) = item {
                            let face = self.faces.borrow_and_update().clone();
                            item.update(|item| item.face = face).await;
                        }
                    }
                    () = bus.closed() => return Ok(()),
                }
            }
        }
    }

    fn item(&mut self) -> Item {
        Item {
            face: self.faces.borrow_and_update().clone(),
            events: self.events.clone(),
            is_rtl: self.is_rtl,
        }
    }
}

/// The item itself.
struct Item {
    face: Face,
    events: mpsc::UnboundedSender<Event>,
    is_rtl: bool,
}

impl Item {
    fn tell(&self, event: Event) {
        // Fails only when the applet is about to end.
        let _ = self.events.send(event);
    }

    fn command(label: String, event: impl Fn() -> Event + Send + 'static) -> MenuItem<Item> {
        StandardItem {
            label,
            activate: Box::new(move |item: &mut Item| item.tell(event())),
            ..StandardItem::default()
        }
        .into()
    }
}

impl ksni::Tray for Item {
    fn id(&self) -> String {
        "org.pandemonium.Applet".to_owned()
    }

    fn title(&self) -> String {
        "PANDEMONIUM".to_owned()
    }

    fn category(&self) -> ksni::Category {
        ksni::Category::Hardware
    }

    fn icon_name(&self) -> String {
        self.face.icon.to_owned()
    }

    fn tool_tip(&self) -> ToolTip {
        ToolTip {
            title: "PANDEMONIUM".to_owned(),
            description: self.face.text.clone(),
            ..ToolTip::default()
        }
    }

    fn text_direction(&self) -> TextDirection {
        match self.is_rtl {
            true => TextDirection::RightToLeft,
            false => TextDirection::LeftToRight,
        }
    }

    fn activate(&mut self, _x: i32, _y: i32) {
        self.tell(Event::Open(ksni::current_xdg_activation_token()));
    }

    fn menu_about_to_show(&mut self) {
        self.tell(Event::Look);
    }

    fn menu(&self) -> Vec<MenuItem<Self>> {
        let modes = MODES.map(|mode| RadioItem {
            label: words::mode_name(mode),
            enabled: self.face.mode.is_some(),
            ..RadioItem::default()
        });
        vec![
            RadioGroup {
                selected: self.face.mode.unwrap_or(MODES.len()),
                select: Box::new(|item: &mut Item, chosen| {
                    if let Some(mode) = MODES.get(chosen) {
                        item.tell(Event::Mode(mode));
                    }
                }),
                options: modes.into(),
            }
            .into(),
            MenuItem::Separator,
            Item::command(gettext("_Open PANDEMONIUM"), || {
                Event::Open(ksni::current_xdg_activation_token())
            }),
            Item::command(gettext("_Quit"), || Event::Quit),
        ]
    }
}

#[cfg(test)]
mod tests {
    use pandemonium_api::state;

    use super::*;

    fn running(mode: &str) -> Presence {
        Presence::Here(Box::new(Status {
            state: state::RUNNING.into(),
            mode: mode.into(),
            requested_mode: mode.into(),
            regime: "MIXED".into(),
            ..Status::default()
        }))
    }

    fn wait() -> Wait {
        Wait {
            nsec: 62_000,
            time: "14:05".into(),
        }
    }

    #[test]
    fn a_running_scheduler_tells_its_mode_load_and_waits() {
        let face = Face::new(&running(mode::BPF), Some(&wait()));
        let lines: Vec<&str> = face.text.lines().collect();
        let expected = [
            "Your system is tuned",
            "Fixed · Mixed load",
            "99 of 100 wake-ups waited no longer than 62 µs (14:05)",
        ];
        assert_eq!(lines, expected);
        assert_eq!(face.mode, Some(1));
    }

    #[test]
    fn nobody_chooses_a_mode_where_nobody_can_switch() {
        let gone = Face::new(&Presence::NoDaemon, Some(&wait()));
        assert_eq!(gone.mode, None);
        assert_eq!(gone.text, "The service is not running");
        // A mode that this program does not know is none of those in the menu.
        let face = Face::new(&running("turbo"), None);
        assert_eq!(face.mode, Some(MODES.len()));
        assert_eq!(face.text.lines().count(), 2);
    }
}
