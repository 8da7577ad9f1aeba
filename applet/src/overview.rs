//! The first page: state, mode, chart and details.

mod chart;
mod legend;
mod palette;

use std::cell::Cell;
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::glib;
use pandemonium_api::{HistoryPoint, Snapshot, mode};

use crate::clock::Clock;
use crate::model::{Presence, Status};
use crate::words;
use chart::Chart;
use legend::Legend;

/// The classes of the state's icon.
const KINDS: [&str; 4] = ["running", "starting", "off", "problem"];

/// The page and what changes on it.
pub struct Overview {
    page: adw::PreferencesPage,
    icon: gtk::Image,
    headline: gtk::Label,
    explanation: gtk::Label,
    modes: adw::PreferencesGroup,
    buttons: [(&'static str, gtk::CheckButton); 3],
    /// Set while the buttons follow the daemon, so that this is not taken for a wish.
    is_following: Cell<bool>,
    /// The chart keeps its ticks when the scheduler stops; the numbers are those of now.
    is_running: Cell<bool>,
    chart: Chart,
    legend: Legend,
    rows: Rows,
}

struct Rows {
    load: adw::ActionRow,
    domain: adw::ActionRow,
    kernel: adw::ActionRow,
    decided: adw::ActionRow,
    last_exit: adw::ActionRow,
    warnings: adw::ActionRow,
}

/// The object of this name, which the file is sure to have.
pub fn object<T: IsA<glib::Object>>(builder: &gtk::Builder, name: &str) -> T {
    match builder.object(name) {
        Some(object) => object,
        None => unreachable!("the user interface has no {name} of this type"),
    }
}

impl Overview {
    /// Builds the page. `wish` is called with the mode that a person chose.
    pub fn new(clock: Clock, wish: impl Fn(&'static str) + 'static) -> Rc<Overview> {
        Chart::ensure_type();
        let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/overview.ui");
        let row = |name| {
            let row: adw::ActionRow = object(&builder, name);
            // Others chose these words; none of them is markup.
            row.set_use_markup(false);
            row.set_subtitle_selectable(true);
            row
        };
        let chart: Chart = object(&builder, "chart");
        chart.set_clock(clock);
        chart.update_property(&[gtk::accessible::Property::Label(&gettext(
            "Chart of the waits of the last minutes",
        ))]);
        let overview = Rc::new(Overview {
            page: object(&builder, "page"),
            icon: object(&builder, "icon"),
            headline: object(&builder, "headline"),
            explanation: object(&builder, "explanation"),
            modes: object(&builder, "modes"),
            buttons: [mode::ADAPTIVE, mode::BPF, mode::OFF]
                .map(|mode| (mode, object(&builder, mode))),
            is_following: Cell::new(false),
            is_running: Cell::new(false),
            legend: Legend::new(&object(&builder, "legend")),
            chart,
            rows: Rows {
                load: row("load"),
                domain: row("domain"),
                kernel: row("kernel"),
                decided: row("decided"),
                last_exit: row("last_exit"),
                warnings: row("warnings"),
            },
        });
        overview.connect(wish);
        overview
    }

    /// The page as a widget.
    pub fn widget(&self) -> &adw::PreferencesPage {
        &self.page
    }

    fn connect(self: &Rc<Self>, wish: impl Fn(&'static str) + 'static) {
        let wish = Rc::new(wish);
        for &(mode, ref button) in &self.buttons {
            let name = words::mode_name(mode);
            button.update_property(&[gtk::accessible::Property::Label(&name)]);
            let this = Rc::downgrade(self);
            let wish = Rc::clone(&wish);
            button.connect_toggled(move |button| {
                let is_wish = this.upgrade().is_some_and(|this| !this.is_following.get());
                if button.is_active() && is_wish {
                    wish(mode);
                }
            });
        }
        let this = Rc::downgrade(self);
        adw::StyleManager::default().connect_dark_notify(move |_| {
            if let Some(this) = this.upgrade() {
                this.legend.recolor();
                this.chart.queue_draw();
            }
        });
    }

    /// Shows what the daemon says. Also undoes the choice of a mode that the daemon did not take.
    pub fn show(&self, presence: &Presence) {
        let icon = words::icon(presence);
        self.icon.set_icon_name(Some(icon));
        for kind in KINDS {
            self.icon.remove_css_class(kind);
            if icon.contains(kind) {
                self.icon.add_css_class(kind);
            }
        }
        self.headline.set_label(&words::headline(presence));
        let explanation = words::explanation(presence);
        self.explanation.set_visible(!explanation.is_empty());
        self.explanation.set_label(&explanation);
        let status = presence.status();
        self.modes.set_sensitive(status.is_some());
        self.is_following.set(true);
        let wanted = status.map_or("", |status| status.requested_mode.as_str());
        for (mode, button) in &self.buttons {
            button.set_active(*mode == wanted);
        }
        self.is_following.set(false);
        self.show_details(status.unwrap_or(&Status::default()));
        self.is_running.set(status.is_some_and(Status::is_running));
        if !self.is_running.get() {
            self.show_numbers();
        }
    }

    fn show_details(&self, status: &Status) {
        let rows = &self.rows;
        rows.load.set_subtitle(&words::load(status));
        rows.domain.set_subtitle(&words::domain(status));
        rows.kernel.set_subtitle(&words::kernel(status));
        rows.decided.set_visible(!status.mode_reason.is_empty());
        rows.decided
            .set_subtitle(&words::decided_by(&status.mode_reason));
        rows.last_exit.set_visible(status.last_exit.is_some());
        rows.last_exit.set_subtitle(&words::last_exit(status));
        rows.warnings.set_visible(!status.warnings.is_empty());
        rows.warnings.set_subtitle(&status.warnings.join("\n"));
    }

    /// Shows these ticks and no others.
    pub fn show_history(&self, points: Vec<HistoryPoint>) {
        self.chart.update(|series| series.replace(points));
        self.show_numbers();
    }

    /// Adds a tick.
    pub fn show_sample(&self, sample: &Snapshot) {
        self.chart
            .update(|series| series.push(HistoryPoint::of(sample)));
        self.show_numbers();
    }

    fn show_numbers(&self) {
        let last = self.chart.last().filter(|_| self.is_running.get());
        match &last {
            Some(_) => self.legend.show(last.as_ref(), self.chart.marks()),
            None => self.legend.clear(),
        }
        let text = last.map_or_else(String::new, |last| words::tick(&last));
        self.chart
            .update_property(&[gtk::accessible::Property::Description(&text)]);
    }
}
