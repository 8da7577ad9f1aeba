//! `pandemonium monitor`: a live view on a terminal, one line per second elsewhere.

mod feed;
mod glyphs;
mod history;
mod model;
mod screen;
mod view;
mod worker;

use std::io::{IsTerminal, Write};

use pandemonium_api::telemetry_line;

use crate::connection::block_on;
use crate::error::Error;
use crate::status::json;
use feed::{Feed, News};

/// How to show what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The full-screen view.
    Full,
    /// The telemetry line of the specification.
    Lines,
    /// One JSON object per line.
    Json,
}

impl Form {
    /// The form that was asked for, or the one that suits where the output goes.
    pub fn chosen(json: bool, full: bool, plain: bool) -> Form {
        let can_draw = || {
            let term = std::env::var("TERM").unwrap_or_default();
            std::io::stdin().is_terminal()
                && std::io::stdout().is_terminal()
                && !term.is_empty()
                && term != "dumb"
        };
        match (json, full, plain) {
            (true, ..) => Form::Json,
            (_, true, _) => Form::Full,
            (_, _, true) => Form::Lines,
            _ if can_draw() => Form::Full,
            _ => Form::Lines,
        }
    }
}

/// Shows samples until `count` of them were seen, the output is closed, or somebody quits.
pub fn run(form: Form, count: Option<u64>, out: &mut dyn Write) -> Result<(), Error> {
    match form {
        Form::Full => screen::run(count),
        Form::Lines | Form::Json => block_on(lines(form, count, out)),
    }
}

async fn lines(form: Form, count: Option<u64>, out: &mut dyn Write) -> Result<(), Error> {
    let mut feed = Feed::connect().await?;
    let mut left = count.unwrap_or(u64::MAX);
    let mut is_waiting = false;
    while left > 0 {
        match feed.next().await {
            News::Sample(now) => {
                match form {
                    Form::Json => writeln!(out, "{}", json::sample(&now.snapshot))?,
                    Form::Lines | Form::Full => {
                        writeln!(out, "{}", telemetry_line(&now.snapshot))?;
                    }
                }
                // Whoever reads this through a pipe wants each line when it is true.
                out.flush()?;
                left -= 1;
                is_waiting = false;
            }
            News::Asking(reason) => {
                // Not part of the output, which stays one line per sample.
                let _ = writeln!(std::io::stderr(), "pandemonium: {reason}");
            }
            News::Gone(reason) if !is_waiting => {
                let _ = writeln!(std::io::stderr(), "pandemonium: {reason}; waiting for it");
                is_waiting = true;
            }
            News::Gone(_) => {}
        }
    }
    Ok(())
}
