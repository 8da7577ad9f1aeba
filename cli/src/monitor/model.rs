//! Everything the live view shows, as plain values.

use std::time::{Duration, Instant};

use pandemonium_api::ProfileRow;

use super::feed::Now;
use super::history::History;
use crate::arguments::Sort;
use crate::profiles;

/// How long the answer to a key stays on the screen.
const ANSWER_SHOWN: Duration = Duration::from_secs(8);

/// The state of the live view.
#[derive(Default)]
pub struct Model {
    /// The last thing the daemon said.
    pub now: Option<Now>,
    /// Why there is nothing newer, while that is so.
    pub gone: Option<String>,
    /// The last minutes.
    pub history: History,
    /// Learned profiles, or why they cannot be shown.
    pub profiles: Option<Result<Vec<ProfileRow>, String>>,
    answer: Option<(String, Instant)>,
}

impl Model {
    /// Takes in a sample.
    pub fn sampled(&mut self, now: Now) {
        self.history.push(Some(&now.snapshot));
        self.now = Some(now);
        self.gone = None;
    }

    /// Takes in that the daemon is not there. What it said last is kept, but not as the present.
    pub fn lost(&mut self, reason: String) {
        self.history.push(None);
        self.gone = Some(reason);
        self.profiles = None;
    }

    /// Takes in the learned profiles.
    pub fn learned(&mut self, rows: Result<Vec<ProfileRow>, String>) {
        self.profiles = Some(rows.map(|mut rows| {
            profiles::sort(&mut rows, Sort::Observations);
            rows
        }));
    }

    /// Takes in what became of a key press.
    pub fn answered(&mut self, sentence: String) {
        self.answer = Some((sentence, Instant::now()));
    }

    /// The answer to the last key press, while it is fresh.
    pub fn answer(&self) -> Option<&str> {
        let (sentence, at) = self.answer.as_ref()?;
        (at.elapsed() < ANSWER_SHOWN).then_some(sentence)
    }
}
