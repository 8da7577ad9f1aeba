//! The names that are compositors: the list, a new one by its name or among programs that were seen.

use std::cell::RefCell;
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;

use super::chooser;
use crate::asker::Asker;
use crate::overview::object;
use crate::translation::fill;
use crate::validity;
use crate::words::choices as words;

/// The rows.
pub struct Compositors {
    list: adw::ExpanderRow,
    pattern: adw::EntryRow,
    rows: RefCell<Vec<(String, adw::ActionRow)>>,
    asker: Asker,
}

impl Compositors {
    /// No name is there yet.
    pub fn new(builder: &gtk::Builder, asker: &Asker) -> Rc<Compositors> {
        let this = Rc::new(Compositors {
            list: object(builder, "compositors"),
            pattern: object(builder, "pattern"),
            rows: RefCell::default(),
            asker: asker.clone(),
        });
        let weak = Rc::downgrade(&this);
        this.pattern.connect_changed(move |_| {
            if let Some(this) = weak.upgrade() {
                this.check();
            }
        });
        let weak = Rc::downgrade(&this);
        this.pattern.connect_apply(move |row| {
            if let Some(this) = weak.upgrade().filter(|this| this.check()) {
                this.add(row.text().trim().to_owned());
            }
        });
        let choose: gtk::Button = object(builder, "choose");
        let weak = Rc::downgrade(&this);
        choose.connect_clicked(move |button| {
            if let Some(this) = weak.upgrade() {
                this.choose(button);
            }
        });
        this
    }

    /// Whether the name can be one; says below the entry why not.
    fn check(&self) -> bool {
        let text = self.pattern.text();
        let wrong = words::wrong_name(text.trim());
        let title = match &wrong {
            Some(sentence) => sentence.clone(),
            None => gettext("Add by name"),
        };
        self.pattern.set_title(&title);
        validity::mark(&self.pattern, wrong.is_none());
        wrong.is_none() && !text.trim().is_empty()
    }

    fn add(self: &Rc<Self>, name: String) {
        let this = Rc::downgrade(self);
        let added = name.clone();
        self.asker.ask_then(
            move |daemon| async move { daemon.scheduler.add_compositor(&name).await },
            move |()| {
                // Only what is in the list now goes; a name that was not taken can be mended.
                if let Some(this) = this.upgrade()
                    && this.pattern.text().trim() == added
                {
                    this.pattern.set_text("");
                }
            },
        );
    }

    fn remove(&self, name: String) {
        self.asker
            .ask(move |daemon| async move { daemon.scheduler.remove_compositor(&name).await });
    }

    fn choose(self: &Rc<Self>, parent: &gtk::Button) {
        let known: Vec<String> = self
            .rows
            .borrow()
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let weak = Rc::downgrade(self);
        chooser::open(parent, &self.asker, known, move |name| {
            if let Some(this) = weak.upgrade() {
                this.add(name);
            }
        });
    }

    /// Shows these names. Rows of those that stay stay; the keyboard stays in the list.
    pub fn show(self: &Rc<Self>, names: &[String]) {
        self.list.set_subtitle(&words::compositors(names.len()));
        let mut rows = self.rows.borrow_mut();
        let is_focused = rows.iter().any(|(_, row)| has_focus(row));
        rows.retain(|(name, row)| {
            let stays = names.contains(name);
            if !stays {
                self.list.remove(row);
            }
            stays
        });
        if rows.len() != names.len() {
            // A row can only be added at the end.
            for (_, row) in rows.iter() {
                self.list.remove(row);
            }
            *rows = names
                .iter()
                .map(|name| {
                    let old = rows.iter().find(|(known, _)| known == name);
                    let row = old.map_or_else(|| self.row(name), |(_, row)| row.clone());
                    self.list.add_row(&row);
                    (name.clone(), row)
                })
                .collect();
        }
        if is_focused && !rows.iter().any(|(_, row)| has_focus(row)) {
            self.list.grab_focus();
        }
    }

    fn row(self: &Rc<Self>, name: &str) -> adw::ActionRow {
        let row = adw::ActionRow::builder()
            .title(name)
            .use_markup(false)
            .build();
        let label = fill(&gettext("Remove {name}"), &[("name", name)]);
        let button = gtk::Button::builder()
            .icon_name("user-trash-symbolic")
            .valign(gtk::Align::Center)
            .css_classes(["flat"])
            .tooltip_text(&label)
            .build();
        button.update_property(&[gtk::accessible::Property::Label(&label)]);
        let weak = Rc::downgrade(self);
        let name = name.to_owned();
        button.connect_clicked(move |_| {
            if let Some(this) = weak.upgrade() {
                this.remove(name.clone());
            }
        });
        row.add_suffix(&button);
        row
    }
}

fn has_focus(row: &adw::ActionRow) -> bool {
    let focus = row.root().and_then(|root| root.focus());
    focus.is_some_and(|focus| focus.is_ancestor(row) || focus == *row)
}
