//! `pandemonium diagnostics`: the daemon's report, to attach to a question or a bug.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::error::Error;
use crate::text::print_json;
use crate::transfer;

/// Writes it into the file, or prints it.
pub fn run(json: bool, file: Option<&Path>, out: &mut dyn Write) -> Result<(), Error> {
    let mut report =
        transfer::fetch(async |daemon, fd| daemon.scheduler.write_diagnostics(fd.into()).await)?;
    if json {
        let text = String::from_utf8_lossy(&report);
        let lines: Vec<_> = text.lines().collect();
        let mut answer = Vec::new();
        print_json(&json!({ "report": lines }), &mut answer)?;
        report = answer;
    }
    transfer::put(file, &report, out)
}
