//! Ping-pong between two processes.

use std::io::{Read, Write};

use crate::child::{self, Role};
use crate::report::{Report, latencies};
use crate::run::Run;
use crate::stats::Samples;
use crate::sys;

/// Round trips that there is room for from the start.
const ROOM: usize = 1 << 16;

/// One byte there and back, again and again until the run is over.
pub fn round_trips(run: Run) -> Result<Samples, String> {
    let mut echo = child::start(Role::Echo)?;
    let (mut to, mut from) = match (echo.0.stdin.take(), echo.0.stdout.take()) {
        (Some(to), Some(from)) => (to, from),
        _ => return Err("a child has no pipes".to_owned()),
    };
    let mut samples = Samples::with_room(ROOM);
    let mut byte = [0];
    while !run.is_over() {
        let sent_ns = sys::now_ns();
        to.write_all(&byte)
            .and_then(|()| from.read_exact(&mut byte))
            .map_err(|error| format!("the other end of the pipe failed ({error})"))?;
        samples.push(sys::now_ns().saturating_sub(sent_ns));
    }
    Ok(samples)
}

/// The round trips alone.
pub fn report(run: Run) -> Result<Report, String> {
    sys::set_name(c"wl-pipe");
    let summary = round_trips(run)?.summary();
    let text = format!("{} round trips, {}", summary.count, latencies(&summary));
    Ok(Report::new("pipe", text).with_summary("round_trip", &summary))
}
