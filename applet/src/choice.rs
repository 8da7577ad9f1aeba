//! A row that chooses one of several values, each with its words.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use adw::prelude::*;

use crate::words::choices::Labelled;

/// The row.
pub struct Choice {
    row: adw::ComboRow,
    choices: RefCell<Vec<Labelled>>,
    /// The value that is in force, or that was wished for last.
    current: RefCell<String>,
    /// Set while the row follows the daemon, so that this is not taken for a wish.
    is_following: Cell<bool>,
}

impl Choice {
    /// Nothing can be chosen yet. `chosen` is called with the value that a person chose.
    pub fn new(row: adw::ComboRow, chosen: impl Fn(&str) + 'static) -> Rc<Choice> {
        row.set_use_markup(false);
        let this = Rc::new(Choice {
            row,
            choices: RefCell::default(),
            current: RefCell::default(),
            is_following: Cell::new(false),
        });
        let weak = Rc::downgrade(&this);
        this.row.connect_selected_notify(move |_| {
            let Some(this) = weak.upgrade().filter(|this| !this.is_following.get()) else {
                return;
            };
            // What is in force already is no wish.
            let wish = this.selected();
            if let Some(value) = wish.filter(|value| *value != *this.current.borrow()) {
                this.current.replace(value.clone());
                chosen(&value);
            }
        });
        this
    }

    /// The value that is chosen now.
    pub fn selected(&self) -> Option<String> {
        let choices = self.choices.borrow();
        let chosen = choices.get(self.row.selected() as usize)?;
        Some(chosen.0.clone())
    }

    /// Shows these choices, of which this one is in force; none is selected if it is not among them.
    pub fn show(&self, choices: Vec<Labelled>, current: &str) {
        let at = choices.iter().position(|(value, _)| value == current);
        self.is_following.set(true);
        // Other choices close the list that somebody may be looking at.
        if *self.choices.borrow() != choices {
            let words: Vec<&str> = choices.iter().map(|(_, words)| words.as_str()).collect();
            self.row.set_model(Some(&gtk::StringList::new(&words)));
            self.choices.replace(choices);
        }
        let at = at.map_or(gtk::INVALID_LIST_POSITION, |at| at as u32);
        self.row.set_selected(at);
        self.current.replace(current.to_owned());
        self.is_following.set(false);
    }
}
