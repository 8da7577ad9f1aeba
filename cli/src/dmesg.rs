//! `pandemonium dmesg`: what the kernel said about sched_ext and pandemonium.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

use crate::error::Error;
use crate::text::printable;

const KMSG: &str = "/dev/kmsg";
/// What makes a record ours, in lower case.
const WORDS: [&str; 3] = ["sched_ext", "scx_", "pandemonium"];

/// Prints the records of the kernel log that speak of sched_ext, and the new ones with `follow`.
pub fn run(follow: bool, out: &mut dyn Write) -> Result<(), Error> {
    let mut log = open()?;
    // The kernel hands out one record per read and refuses a buffer that is too small for it.
    let mut buffer = [0u8; 8192];
    let mut is_silent = true;
    loop {
        match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                if let Some(line) = relevant(&String::from_utf8_lossy(&buffer[..n])) {
                    writeln!(out, "{line}")?;
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

/// The printable line of a record about us, in the format of Documentation/ABI/testing/dev-kmsg:
/// `priority,sequence,microseconds,flags;message`, then lines of properties.
fn relevant(record: &str) -> Option<String> {
    let (header, rest) = record.split_once(';')?;
    let message = rest.lines().next().unwrap_or_default();
    let lower = message.to_lowercase();
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let at_us = header
        .split(',')
        .nth(2)
        .and_then(|us| us.parse::<u64>().ok());
    let at = match at_us {
        Some(us) => format!("[{:5}.{:06}]", us / 1_000_000, us % 1_000_000),
        None => "[    ?       ]".to_owned(),
    };
    Some(format!("{at} {}", printable(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_about_sched_ext_becomes_one_line() {
        let record = "6,1031,12345678,-;sched_ext: BPF scheduler \"pandemonium\" enabled\n \
                      SUBSYSTEM=cpu\n";
        assert_eq!(
            relevant(record).as_deref(),
            Some("[   12.345678] sched_ext: BPF scheduler \"pandemonium\" enabled")
        );
    }

    #[test]
    fn other_records_are_left_out_even_if_a_property_mentions_us() {
        assert_eq!(
            relevant("6,1,2,-;usb 1-1: new device\n DEVICE=pandemonium\n"),
            None
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let line = relevant("3,1,5,-;pandemonium\x1b[2J\n").unwrap_or_default();
        assert_eq!(line, "[    0.000005] pandemonium\\x1b[2J");
    }

    #[test]
    fn damaged_records_do_not_panic() {
        for record in ["", ";", "x;", "6,1;sched_ext", "6,1,x,-;sched_ext"] {
            let _ = relevant(record);
        }
        assert_eq!(
            relevant("6,1;sched_ext").as_deref(),
            Some("[    ?       ] sched_ext")
        );
    }
}
