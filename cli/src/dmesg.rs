//! `pandemonium dmesg`: what the kernel said about sched_ext and pandemonium.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use serde::Serialize;

use crate::error::Error;
use crate::text::printable;

const KMSG: &str = "/dev/kmsg";
/// What makes a record ours, in lower case.
const WORDS: [&str; 3] = ["sched_ext", "scx_", "pandemonium"];

/// Prints the records of the kernel log that speak of sched_ext, and the new ones with `follow`.
pub fn run(json: bool, follow: bool, out: &mut dyn Write) -> Result<(), Error> {
    let mut log = open()?;
    // The kernel hands out one record per read and refuses a buffer that is too small for it.
    let mut buffer = [0u8; 8192];
    let mut is_silent = true;
    loop {
        match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                if let Some(record) = relevant(&String::from_utf8_lossy(&buffer[..n])) {
                    writeln!(out, "{}", record.line(json))?;
                    out.flush()?;
                    is_silent = false;
                }
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock if !follow => break,
                io::ErrorKind::WouldBlock => wait(&log)?,
                // Records were overwritten before they were read; the next read goes on after them.
                io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted => {}
                _ => return Err(unreadable(&error)),
            },
        }
    }
    if is_silent {
        // For a person; the output itself stays empty.
        let _ = writeln!(
            io::stderr(),
            "pandemonium: the kernel log says nothing about sched_ext"
        );
    }
    Ok(())
}

fn open() -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(KMSG)
        .map_err(|error| unreadable(&error))
}

fn unreadable(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        Error::Denied(
            "reading the kernel log needs root on this system; try `sudo pandemonium dmesg`"
                .to_owned(),
        )
    } else {
        Error::Failed(format!("{KMSG} cannot be read: {error}"))
    }
}

fn wait(log: &File) -> Result<(), Error> {
    match poll(&mut [PollFd::new(log, PollFlags::IN)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Error::Failed(format!("{KMSG} cannot be read: {error}"))),
    }
}

/// A record about us.
#[derive(Serialize)]
struct Record {
    /// Time since the machine started, microseconds.
    usec: Option<u64>,
    /// What was said, printable.
    message: String,
}

impl Record {
    fn line(&self, json: bool) -> String {
        if json {
            return serde_json::json!(self).to_string();
        }
        let at = match self.usec {
            Some(us) => format!("[{:5}.{:06}]", us / 1_000_000, us % 1_000_000),
            None => "[    ?       ]".to_owned(),
        };
        format!("{at} {}", self.message)
    }
}

/// What a record says if it is about us, in the format of Documentation/ABI/testing/dev-kmsg:
/// `priority,sequence,microseconds,flags;message`, then lines of properties.
fn relevant(record: &str) -> Option<Record> {
    let (header, rest) = record.split_once(';')?;
    let message = rest.lines().next().unwrap_or_default();
    let lower = message.to_lowercase();
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    Some(Record {
        usec: header.split(',').nth(2).and_then(|us| us.parse().ok()),
        message: printable(message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(record: &str, json: bool) -> Option<String> {
        relevant(record).map(|record| record.line(json))
    }

    #[test]
    fn a_record_about_sched_ext_becomes_one_line() {
        let record = "6,1031,12345678,-;sched_ext: BPF scheduler \"pandemonium\" enabled\n \
                      SUBSYSTEM=cpu\n";
        assert_eq!(
            line(record, false).as_deref(),
            Some("[   12.345678] sched_ext: BPF scheduler \"pandemonium\" enabled")
        );
        assert_eq!(
            line(record, true).as_deref(),
            Some(
                r#"{"message":"sched_ext: BPF scheduler \"pandemonium\" enabled","usec":12345678}"#
            )
        );
    }

    #[test]
    fn other_records_are_left_out_even_if_a_property_mentions_us() {
        let record = "6,1,2,-;usb 1-1: new device\n DEVICE=pandemonium\n";
        assert_eq!(line(record, false), None);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let record = "3,1,5,-;pandemonium\x1b[2J\n";
        assert_eq!(
            line(record, false).as_deref(),
            Some("[    0.000005] pandemonium\\x1b[2J")
        );
    }

    #[test]
    fn damaged_records_do_not_panic() {
        for record in ["", ";", "x;", "6,1;sched_ext", "6,1,x,-;sched_ext"] {
            let _ = line(record, false);
        }
        assert_eq!(
            line("6,1;sched_ext", false).as_deref(),
            Some("[    ?       ] sched_ext")
        );
        assert_eq!(
            line("6,1;sched_ext", true).as_deref(),
            Some(r#"{"message":"sched_ext","usec":null}"#)
        );
    }
}
