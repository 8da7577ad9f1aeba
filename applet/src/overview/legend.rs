//! What the lines and marks of the chart are, and the latest number of each line.

use adw::prelude::*;
use gettextrs::gettext;
use gtk::gdk::RGBA;
use pandemonium_api::HistoryPoint;

use super::palette::{Palette, markup};
use crate::model::p99_by_tier;
use crate::words;

/// How the lines of the tiers look.
const STROKES: [&str; 3] = ["┈┈", "╌╌", "━━"];

struct Entry {
    item: gtk::FlowBoxChild,
    swatch: gtk::Label,
    stroke: &'static str,
    color: fn(Palette) -> RGBA,
    value: gtk::Label,
}

/// The entries: latency-critical first, as it matters most.
pub struct Legend {
    tiers: [Entry; 3],
    burst: Entry,
    longrun: Entry,
}

impl Legend {
    /// Fills the box.
    pub fn new(place: &gtk::FlowBox) -> Legend {
        let [batch, interactive, critical] = words::tier_names();
        let critical = entry(place, STROKES[2], |palette| palette.tier(2), &critical);
        let interactive = entry(place, STROKES[1], |palette| palette.tier(1), &interactive);
        let batch = entry(place, STROKES[0], |palette| palette.tier(0), &batch);
        let legend = Legend {
            tiers: [batch, interactive, critical],
            burst: entry(
                place,
                "▮",
                Palette::burst,
                &gettext("Many programs started"),
            ),
            longrun: entry(
                place,
                "▮",
                Palette::longrun,
                &gettext("Background had to wait"),
            ),
        };
        legend.recolor();
        legend.clear();
        legend
    }

    /// Takes the colours of the style.
    pub fn recolor(&self) {
        let palette = Palette::current();
        for entry in self.tiers.iter().chain([&self.burst, &self.longrun]) {
            let color = markup(&(entry.color)(palette));
            let stroke = entry.stroke;
            entry
                .swatch
                .set_markup(&format!("<span foreground=\"{color}\">{stroke}</span>"));
        }
    }

    /// Shows the latest numbers, and the marks that are among what is shown: a burst, a long wait.
    pub fn show(&self, last: Option<&HistoryPoint>, marks: (bool, bool)) {
        let values = last.map_or([None; 3], p99_by_tier);
        for (entry, value) in self.tiers.iter().zip(values) {
            let text = value.map_or_else(|| "–".to_owned(), |nsec| words::span(nsec.into()));
            entry.value.set_label(&text);
        }
        self.burst.item.set_visible(marks.0);
        self.longrun.item.set_visible(marks.1);
    }

    /// Nothing is known now.
    pub fn clear(&self) {
        self.show(None, (false, false));
    }
}

fn entry(
    place: &gtk::FlowBox,
    stroke: &'static str,
    color: fn(Palette) -> RGBA,
    name: &str,
) -> Entry {
    let swatch = gtk::Label::builder()
        .accessible_role(gtk::AccessibleRole::Presentation)
        .build();
    let value = gtk::Label::builder()
        .css_classes(["legend-value", "heading"])
        .build();
    let row = gtk::Box::new(gtk::Orientation::Horizontal, 6);
    row.append(&swatch);
    row.append(
        &gtk::Label::builder()
            .label(name)
            .wrap(true)
            .xalign(0.0)
            .build(),
    );
    row.append(&value);
    let item = gtk::FlowBoxChild::builder()
        .child(&row)
        .focusable(false)
        .build();
    place.append(&item);
    Entry {
        item,
        swatch,
        stroke,
        color,
        value,
    }
}
