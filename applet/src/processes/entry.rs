//! A program as an object, whose properties the cells of the list are bound to.

use std::cell::RefCell;

use adw::prelude::*;
use adw::subclass::prelude::*;
use gtk::glib;

use crate::programs::Program;
use crate::words::programs as words;

mod imp {
    use super::*;

    #[derive(Default, glib::Properties)]
    #[properties(wrapper_type = super::Entry)]
    pub struct Entry {
        #[property(name = "name", type = String, get = |this: &Self| this.text(words::name))]
        #[property(name = "tier", type = String, get = |this: &Self| this.text(words::tier))]
        #[property(name = "confidence", type = String, get = |this: &Self| this.text(words::confidence))]
        #[property(name = "run", type = String, get = |this: &Self| this.text(words::run))]
        #[property(name = "wakeups", type = String, get = |this: &Self| this.text(words::wakeups))]
        #[property(name = "seen", type = String, get = |this: &Self| this.text(words::seen))]
        #[property(name = "summary", type = String, get = |this: &Self| this.text(words::summary))]
        #[property(name = "is-pinned", type = bool, get = |this: &Self| this.with(|p| p.is_pinned).unwrap_or(false))]
        pub program: RefCell<Option<Program>>,
    }

    impl Entry {
        pub fn with<T>(&self, of: impl FnOnce(&Program) -> T) -> Option<T> {
            self.program.borrow().as_ref().map(of)
        }

        fn text(&self, of: fn(&Program) -> String) -> String {
            self.with(of).unwrap_or_default()
        }
    }

    #[glib::object_subclass]
    impl ObjectSubclass for Entry {
        const NAME: &'static str = "PandemoniumProgram";
        type Type = super::Entry;
    }

    #[glib::derived_properties]
    impl ObjectImpl for Entry {}
}

glib::wrapper! {
    /// A program.
    pub struct Entry(ObjectSubclass<imp::Entry>);
}

/// The properties that a cell shows.
const SHOWN: [&str; 8] = [
    "name",
    "tier",
    "confidence",
    "run",
    "wakeups",
    "seen",
    "summary",
    "is-pinned",
];

impl Entry {
    /// The object of a program.
    pub fn new(program: Program) -> Entry {
        let entry: Entry = glib::Object::new();
        entry.imp().program.replace(Some(program));
        entry
    }

    /// Something of the program; nothing while there is none.
    pub fn with<T>(&self, of: impl FnOnce(&Program) -> T) -> Option<T> {
        self.imp().with(of)
    }

    /// Takes what is known now. Only what differs is announced.
    pub fn update(&self, program: Program) {
        if self.with(|known| *known == program).unwrap_or(false) {
            return;
        }
        let before = SHOWN.map(|name| self.shown(name));
        self.imp().program.replace(Some(program));
        for (name, before) in SHOWN.into_iter().zip(before) {
            if self.shown(name) != before {
                self.notify(name);
            }
        }
    }

    fn shown(&self, property: &str) -> Option<String> {
        let value = self.property_value(property);
        value.transform::<String>().ok()?.get().ok()
    }
}
