//! The chart of the last minutes: one line for each tier on a logarithmic scale, the load below, bursts
//! and long waits behind. It moves only while it is mapped.

use adw::prelude::*;
use adw::subclass::prelude::*;
use gtk::{gdk, glib, graphene, gsk, pango};

use crate::clock::Clock;
use crate::model::{SPAN_USEC, Series, decades, p99_by_tier};
use crate::overview::palette::Palette;
use crate::words;
use pandemonium_api::HistoryPoint;

/// Room for what is written beside the plot, pixels at the usual size of text.
const BELOW: f32 = 34.0;
const STRIP: f32 = 6.0;
/// Ticks that may be missing before a line has a gap.
const GAP_TICKS: u64 = 2;
/// The shift that is worth another frame, pixels.
const VISIBLE_SHIFT: f32 = 0.1;

mod imp {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[derive(Default)]
    pub struct Chart {
        pub series: RefCell<Series>,
        pub clock: Cell<Option<Clock>>,
        pub drawn_at: Cell<u64>,
        tick: RefCell<Option<gtk::TickCallbackId>>,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for Chart {
        const NAME: &'static str = "PandemoniumChart";
        type Type = super::Chart;
        type ParentType = gtk::Widget;

        fn class_init(class: &mut Self::Class) {
            class.set_accessible_role(gtk::AccessibleRole::Img);
            class.set_css_name("chart");
        }
    }

    impl ObjectImpl for Chart {}

    impl WidgetImpl for Chart {
        fn map(&self) {
            self.parent_map();
            let tick = self.obj().add_tick_callback(|chart, _| {
                chart.advance();
                glib::ControlFlow::Continue
            });
            self.tick.replace(Some(tick));
        }

        fn unmap(&self) {
            if let Some(tick) = self.tick.take() {
                tick.remove();
            }
            self.parent_unmap();
        }

        fn snapshot(&self, snapshot: &gtk::Snapshot) {
            let now = self.obj().clock().now();
            self.drawn_at.set(now);
            self.obj().draw(snapshot, now);
        }
    }
}

glib::wrapper! {
    /// A chart of ticks.
    pub struct Chart(ObjectSubclass<imp::Chart>)
        @extends gtk::Widget,
        @implements gtk::Accessible, gtk::Buildable, gtk::ConstraintTarget;
}

/// Where the plot is and how its values become places.
struct Plot {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
    low: u32,
    high: u32,
    now: u64,
    /// Two ticks further apart than this have a gap between them, microseconds.
    reach: u64,
}

impl Plot {
    fn x(&self, usec: u64) -> f32 {
        let age = self.now as f64 - usec as f64;
        self.right - (age / SPAN_USEC as f64) as f32 * (self.right - self.left)
    }

    fn y(&self, nsec: u32) -> f32 {
        let decade = f64::from(nsec.max(1)).log10() as f32;
        let share = (decade - self.low as f32) / (self.high - self.low) as f32;
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    fn area(&self) -> graphene::Rect {
        graphene::Rect::new(
            self.left,
            self.top,
            self.right - self.left,
            self.bottom - self.top,
        )
    }
}

impl Chart {
    /// Which time is shown.
    pub fn set_clock(&self, clock: Clock) {
        self.imp().clock.set(Some(clock));
        self.imp().series.borrow_mut().set_clock(clock);
    }

    /// Changes what is shown.
    pub fn update(&self, change: impl FnOnce(&mut Series)) {
        change(&mut self.imp().series.borrow_mut());
        self.queue_draw();
    }

    /// The latest tick.
    pub fn last(&self) -> Option<HistoryPoint> {
        self.imp().series.borrow().last().copied()
    }

    /// Whether a burst, and whether a long wait, is among what is shown.
    pub fn marks(&self) -> (bool, bool) {
        let series = self.imp().series.borrow();
        let points = series.points();
        (
            points.iter().any(HistoryPoint::is_burst),
            points.iter().any(HistoryPoint::is_longrun),
        )
    }

    fn clock(&self) -> Clock {
        self.imp().clock.get().unwrap_or(Clock::REAL)
    }

    /// Draws anew if it has moved enough to be seen.
    fn advance(&self) {
        let imp = self.imp();
        let is_still =
            imp.series.borrow().points().is_empty() || !self.settings().is_gtk_enable_animations();
        if is_still {
            return;
        }
        let now = self.clock().now();
        let moved = now.saturating_sub(imp.drawn_at.get()) as f32 / SPAN_USEC as f32;
        if moved * self.width() as f32 >= VISIBLE_SHIFT {
            self.queue_draw();
        }
    }

    fn draw(&self, snapshot: &gtk::Snapshot, now: u64) {
        let series = self.imp().series.borrow();
        let (low, high) = decades(series.points());
        let palette = Palette::current();
        let foreground = self.color();
        let labels: Vec<_> = (low..=high)
            .map(|decade| {
                let layout = self.text(&words::span(10u64.pow(decade)));
                (decade, layout)
            })
            .collect();
        let widest = labels.iter().map(|(_, layout)| layout.pixel_size().0);
        let plot = Plot {
            left: widest.max().unwrap_or(0) as f32 + 8.0,
            right: self.width() as f32 - 1.0,
            top: 8.0,
            bottom: self.height() as f32 - BELOW,
            low,
            high,
            now,
            reach: self.clock().longest_tick() * GAP_TICKS,
        };
        if plot.right <= plot.left || plot.bottom <= plot.top {
            return;
        }
        self.draw_grid(snapshot, &plot, &labels, &foreground);
        snapshot.push_clip(&graphene::Rect::new(
            plot.left,
            0.0,
            plot.right - plot.left,
            self.height() as f32,
        ));
        draw_marks(snapshot, &plot, &series, &palette);
        draw_load(snapshot, &plot, &series, &foreground);
        for tier in 0..3 {
            let stroke = gsk::Stroke::new(2.0);
            stroke.set_line_join(gsk::LineJoin::Round);
            stroke.set_dash(palette.dashes(tier));
            let path = line(&plot, &series, tier);
            snapshot.append_stroke(&path, &stroke, &palette.tier(tier));
        }
        snapshot.pop();
    }

    fn draw_grid(
        &self,
        snapshot: &gtk::Snapshot,
        plot: &Plot,
        labels: &[(u32, pango::Layout)],
        foreground: &gdk::RGBA,
    ) {
        let faint = foreground.with_alpha(0.13);
        let dim = foreground.with_alpha(0.7);
        for (decade, layout) in labels {
            let y = plot.y(10u32.saturating_pow(*decade)).round();
            let rule = graphene::Rect::new(plot.left, y, plot.right - plot.left, 1.0);
            snapshot.append_color(&faint, &rule);
            let (width, height) = layout.pixel_size();
            let x = plot.left - 8.0 - width as f32;
            let y = (y - height as f32 / 2.0).max(0.0);
            write(snapshot, layout, x, y, &dim);
        }
        let minutes = (SPAN_USEC / 60_000_000) as u32;
        let mut free_from = plot.left - 4.0;
        for age in (0..=minutes).rev() {
            let share = age as f32 / minutes as f32;
            let x = plot.right - share * (plot.right - plot.left);
            let layout = self.text(&words::minutes_ago(age));
            let width = layout.pixel_size().0 as f32;
            let place = (x - width / 2.0).clamp(plot.left - 4.0, plot.right - width);
            // The present is always written; what would touch it is not.
            let end = if age == 0 {
                f32::MAX
            } else {
                plot.right - self.text(&words::minutes_ago(0)).pixel_size().0 as f32 - 8.0
            };
            if place >= free_from && (age == 0 || place + width <= end) {
                write(snapshot, &layout, place, plot.bottom + STRIP + 6.0, &dim);
                free_from = place + width + 8.0;
            }
        }
    }

    fn text(&self, text: &str) -> pango::Layout {
        let layout = self.create_pango_layout(Some(text));
        let attributes = pango::AttrList::new();
        attributes.insert(pango::AttrFloat::new_scale(0.82));
        layout.set_attributes(Some(&attributes));
        layout
    }
}

fn write(snapshot: &gtk::Snapshot, layout: &pango::Layout, x: f32, y: f32, color: &gdk::RGBA) {
    snapshot.save();
    snapshot.translate(&graphene::Point::new(x, y));
    snapshot.append_layout(layout, color);
    snapshot.restore();
}

/// The line of a tier, with gaps where nothing is known.
fn line(plot: &Plot, series: &Series, tier: usize) -> gsk::Path {
    let path = gsk::PathBuilder::new();
    let mut before: Option<u64> = None;
    for point in series.points() {
        let Some(nsec) = p99_by_tier(point)[tier] else {
            before = None;
            continue;
        };
        let (x, y) = (plot.x(point.usec), plot.y(nsec));
        match before {
            Some(usec) if point.usec - usec <= plot.reach => path.line_to(x, y),
            _ => path.move_to(x, y),
        }
        before = Some(point.usec);
    }
    path.to_path()
}

/// The stretches of time during which something holds, as places on the axis.
fn stretches<K: PartialEq + Copy>(
    plot: &Plot,
    series: &Series,
    of: impl Fn(&HistoryPoint) -> Option<K>,
) -> Vec<(f32, f32, K)> {
    let mut found: Vec<(f32, f32, K)> = Vec::new();
    let mut before: Option<u64> = None;
    for point in series.points() {
        // A tick tells what was since the one before it.
        let is_next = before.filter(|usec| point.usec - usec <= plot.reach);
        let start = is_next.unwrap_or(point.usec.saturating_sub(1_000_000));
        before = Some(point.usec);
        let Some(kind) = of(point) else { continue };
        let (start, end) = (plot.x(start), plot.x(point.usec));
        match found.last_mut() {
            Some((_, last, same)) if *same == kind && start <= *last + 0.5 => *last = end,
            _ => found.push((start, end, kind)),
        }
    }
    found
}

fn draw_marks(snapshot: &gtk::Snapshot, plot: &Plot, series: &Series, palette: &Palette) {
    let area = plot.area();
    for (start, end, ()) in stretches(plot, series, |point| point.is_longrun().then_some(())) {
        let band = graphene::Rect::new(start, area.y(), (end - start).max(2.0), area.height());
        snapshot.append_color(&palette.longrun().with_alpha(0.16), &band);
    }
    for (start, end, ()) in stretches(plot, series, |point| point.is_burst().then_some(())) {
        let width = (end - start).max(2.0);
        let band = graphene::Rect::new(start, area.y(), width, area.height());
        snapshot.append_color(&palette.burst().with_alpha(0.22), &band);
        let cap = graphene::Rect::new(start, area.y(), width, 3.0);
        snapshot.append_color(&palette.burst(), &cap);
    }
}

fn draw_load(snapshot: &gtk::Snapshot, plot: &Plot, series: &Series, foreground: &gdk::RGBA) {
    for (start, end, regime) in stretches(plot, series, |point| Some(point.regime)) {
        let alpha = match regime {
            0 => 0.12,
            1 => 0.35,
            2 => 0.75,
            _ => continue,
        };
        let band = graphene::Rect::new(start, plot.bottom + 4.0, (end - start).max(1.0), STRIP);
        snapshot.append_color(&foreground.with_alpha(alpha), &band);
    }
}
