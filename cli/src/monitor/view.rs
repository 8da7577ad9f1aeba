//! One frame of the live view. What does not fit is left out from the bottom up, and nothing here
//! minds how small the window is.

mod words;

use pandemonium_api::{Snapshot, state};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::glyphs::Glyphs;
use super::history::Regime;
use super::model::Model;
use crate::text::{latency, pad, plural, printable};
use words::{counters, flowed, notices, profile_line, regime_tags};

/// Tiers from the most to the least urgent: index into per-tier values, and their names in a wide and
/// a narrow window.
const TIERS: [(usize, &str, &str); 3] = [
    (2, "latency-critical", "LC"),
    (1, "interactive", "I"),
    (0, "batch", "B"),
];
/// Columns left of the charts in a wide and in a narrow window.
const LABEL: (u16, u16) = (28, 13);
/// A window narrower than this gets short labels.
const NARROW: u16 = 60;

/// Draws everything.
pub fn draw(frame: &mut Frame, model: &Model, glyphs: &Glyphs) {
    let mut page = Page {
        frame,
        rest: Rect::default(),
        glyphs,
    };
    page.rest = page.frame.area();
    page.header(model);
    page.notices(model);
    if page.rest.height > 8 {
        page.rule("wake-up latency, P99 of each second");
    }
    page.charts(model);
    page.regimes(model);
    if page.rest.height > 4 {
        page.rule("this second");
    }
    page.counters(model);
    page.footer(model);
    if page.rest.height > 2 {
        page.profiles(model);
    }
}

/// The part of the window that is still empty, filled from the top.
struct Page<'f, 'b> {
    frame: &'f mut Frame<'b>,
    rest: Rect,
    glyphs: &'f Glyphs,
}

impl Page<'_, '_> {
    /// Takes up to `rows` rows from the top of what is left.
    fn take(&mut self, rows: u16) -> Rect {
        let rows = rows.min(self.rest.height);
        let taken = Rect {
            height: rows,
            ..self.rest
        };
        self.rest.y += rows;
        self.rest.height -= rows;
        taken
    }

    fn line(&mut self, line: Line<'_>) {
        let area = self.take(1);
        self.frame.render_widget(Paragraph::new(line), area);
    }

    fn rule(&mut self, title: &str) {
        let width = self.rest.width as usize;
        let tail = self
            .glyphs
            .rule
            .repeat(width.saturating_sub(title.len() + 4));
        let text = format!("{0}{0} {title} {tail}", self.glyphs.rule);
        self.line(Line::styled(text, Style::new().add_modifier(Modifier::DIM)));
    }

    fn header(&mut self, model: &Model) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut spans = vec![Span::styled("PANDEMONIUM  ", bold)];
        match (&model.gone, &model.now) {
            (Some(_), _) => spans.push(Span::styled("no daemon", self.glyphs.colour(Color::Red))),
            (None, None) => spans.push(Span::raw("connecting")),
            (None, Some(now)) => {
                let s = &now.status;
                let colour = match s.state.as_str() {
                    state::RUNNING => Color::Green,
                    state::STOPPED | state::STARTING => Color::Yellow,
                    _ => Color::Red,
                };
                spans.push(Span::styled(
                    printable(&s.state),
                    self.glyphs.colour(colour),
                ));
                spans.push(Span::raw(format!(
                    "  mode {}  {}",
                    printable(&s.mode),
                    s.kernel()
                )));
            }
        }
        self.line(Line::from(spans));
    }

    /// What somebody should know, at most a quarter of the window.
    fn notices(&mut self, model: &Model) {
        let yellow = self.glyphs.colour(Color::Yellow);
        let room = usize::from(self.rest.height / 4).max(1);
        for notice in notices(model).into_iter().take(room) {
            self.line(Line::styled(notice, yellow));
        }
    }

    fn charts(&mut self, model: &Model) {
        // Counters, regimes, footer and a few profiles want room as well.
        let rows = (self.rest.height / 8).clamp(1, 5);
        for (tier, long, short) in TIERS {
            let area = self.take(rows);
            self.chart(area, model, tier, long, short);
        }
    }

    fn chart(&mut self, area: Rect, model: &Model, tier: usize, long: &str, short: &str) {
        let (left, right) = split(area);
        let values: Vec<Option<u64>> = model
            .history
            .last(right.width.into())
            .map(|point| point.and_then(|point| point.p99_ns[tier]))
            .collect();
        let most = values.iter().flatten().max().copied();
        let last = values.last().copied().flatten();

        let last = last.map_or_else(|| "-".to_owned(), latency);
        let name = if area.width < NARROW {
            pad(short, 3)
        } else {
            pad(long, 17)
        };
        let mut label = vec![Line::raw(format!("{name}{last}"))];
        if let Some(most) = most {
            let dim = Style::new().add_modifier(Modifier::DIM);
            label.push(Line::styled(format!("up to {}", latency(most)), dim));
        }
        self.frame.render_widget(Paragraph::new(label), left);

        let colour = [Color::Blue, Color::Cyan, Color::Magenta][tier];
        let chart = Sparkline::default()
            .bar_set(self.glyphs.bars.clone())
            .max(most.unwrap_or(1))
            .absent_value_symbol(" ")
            .style(self.glyphs.colour(colour))
            .data(values);
        self.frame.render_widget(chart, right);
    }

    /// The regime with burst and longrun now, and a letter for each second before.
    fn regimes(&mut self, model: &Model) {
        let area = self.take(1);
        let (left, right) = split(area);
        let name = if area.width < NARROW { "" } else { "regime " };
        let now = present(model).map_or_else(|| "-".to_owned(), regime_tags);
        self.frame
            .render_widget(Paragraph::new(format!("{name}{now}")), left);

        let spans: Vec<Span<'_>> = model
            .history
            .last(right.width.into())
            .map(|point| match point.and_then(|point| point.regime) {
                Some(regime) => {
                    let colour = match regime {
                        Regime::Light => Color::Green,
                        Regime::Mixed => Color::Yellow,
                        Regime::Heavy => Color::Red,
                    };
                    Span::styled(regime.letter().to_string(), self.glyphs.colour(colour))
                }
                None => Span::raw(" "),
            })
            .collect();
        self.frame
            .render_widget(Paragraph::new(Line::from(spans)), right);
    }

    fn counters(&mut self, model: &Model) {
        let Some(m) = present(model) else { return };
        // One row stays for the keys.
        let room = self.rest.height.saturating_sub(1);
        if m.state != state::RUNNING {
            if room > 0 {
                self.line(Line::raw(
                    "nothing to count: the kernel's own scheduler runs",
                ));
            }
            return;
        }
        for line in flowed(&counters(m), self.rest.width)
            .into_iter()
            .take(room.into())
        {
            self.line(Line::raw(line));
        }
    }

    fn profiles(&mut self, model: &Model) {
        let known = match (&model.profiles, present(model)) {
            (_, None) => return,
            (None, Some(_)) => "learned programs".to_owned(),
            (Some(_), Some(m)) => format!(
                "{}, {} sure",
                plural(m.profiles.into(), "learned program"),
                m.confident_profiles
            ),
        };
        self.rule(&known);
        match &model.profiles {
            None => self.line(Line::raw("asking")),
            Some(Err(sentence)) => self.line(Line::raw(sentence.as_str())),
            Some(Ok(rows)) => {
                for row in rows.iter().take(self.rest.height.into()) {
                    self.line(Line::raw(profile_line(row)));
                }
            }
        }
    }

    /// The last row: keys, or the answer to the last one.
    fn footer(&mut self, model: &Model) {
        if self.rest.height == 0 {
            return;
        }
        self.rest.height -= 1;
        let area = Rect {
            y: self.rest.y + self.rest.height,
            height: 1,
            ..self.rest
        };
        let keys = "q quit   a adaptive   b bpf   o off";
        let text = match model.answer().map(printable) {
            // The answer matters more than the keys, which will be back.
            Some(answer) if keys.len() + answer.len() + 3 > area.width.into() => answer,
            Some(answer) => format!("{keys}   {answer}"),
            None => keys.to_owned(),
        };
        self.frame.render_widget(Paragraph::new(text), area);
    }
}

/// The snapshot, unless it is of the past.
fn present(model: &Model) -> Option<&Snapshot> {
    match model.gone {
        Some(_) => None,
        None => model.now.as_ref().map(|now| &now.snapshot),
    }
}

fn split(area: Rect) -> (Rect, Rect) {
    let wanted = if area.width < NARROW {
        LABEL.1
    } else {
        LABEL.0
    };
    let left = wanted.min(area.width);
    let right = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    (
        Rect {
            width: left,
            ..area
        },
        right,
    )
}

#[cfg(test)]
mod tests;
