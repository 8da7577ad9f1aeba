//! `pandemonium hold`: a mode for as long as a command runs.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal as SignalNumber, getpgrp, kill_process};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::arguments::HoldArguments;
use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;

/// What a shell says about a command that is not there, and about one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;
/// A command that a signal ended has this status plus the signal, as in a shell.
const SIGNALLED: i32 = 128;

/// What is passed on to the command.
const PASSED_ON: [SignalNumber; 6] = [
    SignalNumber::TERM,
    SignalNumber::HUP,
    SignalNumber::INT,
    SignalNumber::QUIT,
    SignalNumber::USR1,
    SignalNumber::USR2,
];

/// Runs the command with the hold, and returns the status of the command.
pub fn run(arguments: &HoldArguments) -> Result<u8, Error> {
    block_on(async {
        let hold = match take(arguments).await {
            Ok(hold) => Some(hold),
            Err(error) if arguments.optional => {
                say(&format!("{error}; the command runs without a hold"));
                None
            }
            Err(error) => return Err(error),
        };
        let signals = listen()?;
        match spawn(arguments) {
            Ok(mut child) => {
                pass_on(signals, &child);
                let status = wait(&mut child, hold).await?;
                Ok(code(status))
            }
            Err(error) => {
                let command = arguments.command[0].to_string_lossy();
                say(&format!(
                    "{} cannot be run: {error}",
                    crate::text::printable(&command)
                ));
                let is_missing = error.kind() == io::ErrorKind::NotFound;
                Ok(if is_missing { NOT_FOUND } else { NOT_RUNNABLE })
            }
        }
    })
}

/// Asks for the hold. A password dialog may come first, so this waits as long as it takes.
async fn take(arguments: &HoldArguments) -> Result<Receiver, Error> {
    let daemon = Daemon::connect().await?;
    let command = Path::new(&arguments.command[0]);
    let application = command.file_name().unwrap_or(OsStr::new("command"));
    let application = application.to_string_lossy();
    let held = daemon
        .scheduler
        .hold(&arguments.mode, &arguments.reason, &application)
        .await
        .map_err(explain)?;
    Receiver::from_owned_fd(OwnedFd::from(held))
        .map_err(|error| Error::Failed(format!("the hold cannot be kept: {error}")))
}

fn spawn(arguments: &HoldArguments) -> io::Result<Child> {
    // The descriptor of the hold is not inherited: what the command leaves behind holds nothing.
    Command::new(&arguments.command[0])
        .args(&arguments.command[1..])
        .spawn()
}

/// Waits for the end of the command, and says so if the hold ends before.
async fn wait(child: &mut Child, mut hold: Option<Receiver>) -> Result<ExitStatus, Error> {
    loop {
        tokio::select! {
            status = child.wait() => {
                return status.map_err(|error| Error::Failed(format!("the command is lost: {error}")));
            }
            () = cancelled(hold.as_ref()) => {
                hold = None;
                say("somebody asked for another mode, which ended the hold; the command goes on");
            }
        }
    }
}

/// The daemon never writes: all that can be read is the end.
async fn cancelled(hold: Option<&Receiver>) {
    match hold {
        Some(hold) => drop(hold.readable().await),
        None => std::future::pending().await,
    }
}

/// From here on these signals do not end this process, so that the hold lasts as long as the command. What is
/// ignored stays so, or the command would not inherit that: `nohup` counts on it.
fn listen() -> Result<Vec<(SignalNumber, Signal)>, Error> {
    let listen = |number: SignalNumber| {
        let stream = signal(SignalKind::from_raw(number.as_raw()));
        stream.map(|stream| (number, stream))
    };
    let signals: io::Result<_> = PASSED_ON
        .into_iter()
        .filter(|number| !is_ignored(*number))
        .map(listen)
        .collect();
    signals.map_err(|error| Error::Failed(format!("signals cannot be passed on: {error}")))
}

/// Whether whoever started this wants the signal to be ignored.
fn is_ignored(number: SignalNumber) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action nothing changes, and the old one has room for what is written.
    let outcome =
        unsafe { libc::sigaction(number.as_raw(), std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: it was written if the call worked.
    outcome == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn pass_on(signals: Vec<(SignalNumber, Signal)>, child: &Child) {
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let Some(id) = id else { return };
    for (number, mut stream) in signals {
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                if !is_from_terminal(number) {
                    // It may have ended just now.
                    let _ = kill_process(id, number);
                }
            }
        });
    }
}

/// A key on the terminal reaches the command as well, and twice would be once too often.
fn is_from_terminal(number: SignalNumber) -> bool {
    matches!(number, SignalNumber::INT | SignalNumber::QUIT)
        && std::fs::File::open("/dev/tty")
            .is_ok_and(|tty| rustix::termios::tcgetpgrp(tty).is_ok_and(|group| group == getpgrp()))
}

fn code(status: ExitStatus) -> u8 {
    let signalled = || status.signal().map(|signal| SIGNALLED + signal);
    let code = status.code().or_else(signalled);
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::error::exit::FAILURE)
}

fn say(sentence: &str) {
    // Nothing can be done about a standard error that is closed.
    let _ = writeln!(io::stderr(), "pandemonium: {sentence}");
}
