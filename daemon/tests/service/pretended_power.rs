//! A power-profiles-daemon for what python-dbusmock cannot play: one that never answers, and one that says that
//! something has changed, but not what.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use zbus::{Connection, Variant, connection, interface};

use crate::harness::World;

const NAME: &str = "org.freedesktop.UPower.PowerProfiles";
const PATH: &str = "/org/freedesktop/UPower/PowerProfiles";
const PROPERTY: &str = "ActiveProfile";

/// What it answers when it is asked; never, if it is nothing.
type Answer = Arc<Mutex<Option<String>>>;

struct Profiles(Answer);

#[interface(name = "org.freedesktop.UPower.PowerProfiles")]
impl Profiles {
    #[zbus(property)]
    async fn active_profile(&self) -> String {
        let text = self.0.lock().unwrap().clone();
        match text {
            Some(text) => text,
            None => std::future::pending().await,
        }
    }
}

/// The service on the bus; it is gone when this is dropped.
pub struct Pretended {
    answer: Answer,
    connection: Connection,
}

impl Pretended {
    pub async fn start(world: &World, answer: Option<&str>) -> Pretended {
        let answer = Arc::new(Mutex::new(answer.map(str::to_owned)));
        let builder = connection::Builder::address(world.bus.address.as_str());
        let builder = builder.serve_at(PATH, Profiles(answer.clone())).name(NAME);
        Pretended {
            answer,
            connection: builder.build().await.unwrap(),
        }
    }

    /// Answers differently from now on, and tells nobody.
    pub fn answer(&self, text: &str) {
        *self.answer.lock().unwrap() = Some(text.to_owned());
    }

    /// Announces this value.
    pub async fn announce(&self, value: &str) {
        let changed = HashMap::from([(PROPERTY, Variant::from(value))]);
        self.emit(changed, &[]).await;
    }

    /// Announces that the value is another one, but not which.
    pub async fn invalidate(&self) {
        self.emit(HashMap::new(), &[PROPERTY]).await;
    }

    async fn emit(&self, changed: HashMap<&str, Variant<'_>>, invalidated: &[&str]) {
        let arguments = (NAME, changed, invalidated);
        let interface = "org.freedesktop.DBus.Properties";
        let sent = self.connection.emit_signal(
            None::<&str>,
            PATH,
            interface,
            "PropertiesChanged",
            &arguments,
        );
        sent.await.unwrap();
    }
}
