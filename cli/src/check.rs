//! `pandemonium check`: can the scheduler run here, and if not, what is to be done?
//!
//! Everything is read, nothing is changed, and what cannot be read is reported as unknown.

mod bus;
mod kernel;
mod neighbours;
mod root;

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::text::{Style, pad};
use root::Root;

/// The outcome of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but somebody should know.
    Note,
    /// Not as it must be.
    Problem,
    /// Could not be found out.
    Unknown,
}

/// One question and its answer.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    verdict: Verdict,
    /// What was found.
    found: String,
    /// What to do about it; empty where nothing needs doing.
    #[serde(skip_serializing_if = "str::is_empty")]
    todo: &'static str,
    /// Whether the scheduler cannot run without it.
    needed: bool,
}

impl Finding {
    fn ok(name: &'static str, found: impl Into<String>) -> Finding {
        Finding::new(name, Verdict::Ok, found, "")
    }

    fn new(
        name: &'static str,
        verdict: Verdict,
        found: impl Into<String>,
        todo: &'static str,
    ) -> Finding {
        Finding {
            name,
            verdict,
            found: found.into(),
            todo,
            needed: true,
        }
    }

    /// The scheduler also runs without this.
    fn optional(self) -> Finding {
        Finding {
            needed: false,
            ..self
        }
    }

    fn is_in_the_way(&self) -> bool {
        self.needed && matches!(self.verdict, Verdict::Problem | Verdict::Unknown)
    }
}

/// The JSON form of the answer.
#[derive(Serialize)]
struct Report {
    can_run: bool,
    findings: Vec<Finding>,
}

/// Looks around and prints one line for each question. The answer is whether it can run.
///
/// With `dir` the files are taken from below it and the bus is left alone.
pub fn run(
    dir: Option<&Path>,
    json: bool,
    style: Style,
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let root = Root::new(dir.unwrap_or(Path::new("/")))?;
    let mut findings = kernel::findings(&root);
    findings.extend(neighbours::findings(&root));
    findings.extend(match dir {
        Some(_) => bus::not_asked(),
        None => bus::findings(),
    });

    let can_run = !findings.iter().any(Finding::is_in_the_way);
    let report = Report { can_run, findings };
    if json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Error::Failed(error.to_string()))?;
        writeln!(out, "{text}")?;
    } else {
        report.print(style, out)?;
    }
    out.flush()?;
    Ok(can_run)
}

impl Report {
    fn print(&self, style: Style, out: &mut dyn Write) -> std::io::Result<()> {
        let width = self
            .findings
            .iter()
            .map(|f| f.name.len())
            .max()
            .unwrap_or(0);
        for finding in &self.findings {
            let verdict = match finding.verdict {
                Verdict::Ok => style.good("ok     "),
                Verdict::Note => style.warn("note   "),
                Verdict::Problem if finding.needed => style.bad("PROBLEM"),
                Verdict::Problem => style.warn("problem"),
                Verdict::Unknown => style.warn("unknown"),
            };
            let todo = if finding.todo.is_empty() {
                String::new()
            } else {
                format!("; {}", finding.todo)
            };
            writeln!(
                out,
                "{verdict}  {}  {}{todo}",
                pad(finding.name, width),
                finding.found
            )?;
        }
        writeln!(out)?;
        if self.can_run {
            writeln!(out, "{}", style.good("pandemonium can run here."))
        } else {
            writeln!(out, "{}", style.bad("pandemonium cannot run here yet."))
        }
    }
}
