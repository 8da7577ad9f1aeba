//! The terminal of the live view: keys in, frames out, and everything as it was at the end.

use std::io::{self, BufWriter, IsTerminal, Stdout};
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use pandemonium_api::mode;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::{cursor, execute, terminal};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::glyphs::Glyphs;
use super::model::Model;
use super::view;
use super::worker::{Happening, Worker};
use crate::error::Error;

/// How long to wait for a key before looking at the news.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// How often to draw even if nothing happened: what is on the screen may have aged.
const REDRAW: Duration = Duration::from_secs(2);
/// The size of a terminal that does not know its own: that of the terminals of old.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Shows the live view until somebody quits or `count` samples were seen.
pub fn run(count: Option<u64>) -> Result<(), Error> {
    // The bus comes first: without one there is a sentence to read and no screen to clean up.
    let worker = Worker::start()?;
    let quit = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&quit))
            .map_err(|error| Error::Failed(format!("signals cannot be watched: {error}")))?;
    }
    let mut screen = Screen::open()?;
    show(&mut screen, &worker, count.unwrap_or(u64::MAX), &quit)
}

fn show(screen: &mut Screen, worker: &Worker, count: u64, quit: &AtomicBool) -> Result<(), Error> {
    let glyphs = Glyphs::detect();
    let mut model = Model::default();
    let mut left = count;
    let mut drawn: Option<Instant> = None;
    while left > 0 && !quit.load(Ordering::Relaxed) {
        let has_size_changed = screen.fit()?;
        // A slow line should not be kept busy with frames in which nothing changed.
        if has_size_changed || drawn.is_none_or(|at| at.elapsed() >= REDRAW) {
            screen
                .terminal
                .draw(|frame| view::draw(frame, &model, &glyphs))?;
            drawn = Some(Instant::now());
        }
        if is_hung_up()? {
            return Ok(());
        }
        while event::poll(Duration::ZERO)? {
            match pressed(&event::read()?) {
                Some(Key::Quit) => return Ok(()),
                Some(Key::Mode(mode)) => {
                    model.answered(format!("switching to {mode}"));
                    worker.switch(mode);
                }
                None => {}
            }
            drawn = None;
        }
        let seen = hear(worker, &mut model)?;
        if seen.anything {
            drawn = None;
        }
        left = left.saturating_sub(seen.samples);
    }
    Ok(())
}

/// What came from the worker.
#[derive(Default)]
struct Seen {
    samples: u64,
    anything: bool,
}

fn hear(worker: &Worker, model: &mut Model) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    loop {
        match worker.news.try_recv() {
            Ok(Happening::Sampled(now)) => {
                model.sampled(*now);
                seen.samples += 1;
            }
            Ok(Happening::Lost(reason)) => model.lost(reason),
            Ok(Happening::Learned(rows)) => model.learned(rows),
            Ok(Happening::Answered(sentence)) => model.answered(sentence),
            Err(TryRecvError::Empty) => return Ok(seen),
            Err(TryRecvError::Disconnected) => {
                return Err(Error::Failed("the connection to the bus ended".to_owned()));
            }
        }
        seen.anything = true;
    }
}

/// Waits a moment for a key. A terminal that is gone is noticed here, because the event source would
/// read its end for ever.
fn is_hung_up() -> Result<bool, Error> {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut waiting, Some(&PAUSE)) {
        Ok(_) => Ok(waiting[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(Error::Output(error.into())),
    }
}

/// What a key asks for.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    Quit,
    Mode(&'static str),
}

fn pressed(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind,
        ..
    }) = event
    else {
        return None;
    };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let is_ctrl = modifiers.contains(KeyModifiers::CONTROL);
    match code {
        KeyCode::Char('c' | 'd') if is_ctrl => Some(Key::Quit),
        KeyCode::Char(_) if is_ctrl => None,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Key::Quit),
        KeyCode::Char('a' | 'A') => Some(Key::Mode(mode::ADAPTIVE)),
        KeyCode::Char('b' | 'B') => Some(Key::Mode(mode::BPF)),
        KeyCode::Char('o' | 'O') => Some(Key::Mode(mode::OFF)),
        _ => None,
    }
}

/// A terminal in raw mode on its alternate screen; dropping it puts everything back.
struct Screen {
    /// Never dropped while the terminal may be gone: it would complain to a standard error that is
    /// gone as well, and panic over that.
    terminal: ManuallyDrop<Canvas>,
    size: (u16, u16),
}

type Canvas = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

impl Screen {
    fn open() -> Result<Screen, Error> {
        let no_terminal =
            || Error::Usage("the live view needs a terminal; try `--plain`".to_owned());
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(no_terminal());
        }
        terminal::enable_raw_mode().map_err(|_| no_terminal())?;
        let size = size();
        match enter().and_then(|()| canvas(size)) {
            Ok(canvas) => Ok(Screen {
                terminal: ManuallyDrop::new(canvas),
                size,
            }),
            Err(error) => {
                restore();
                Err(error.into())
            }
        }
    }

    /// Follows the size of the window; whether it changed.
    fn fit(&mut self) -> io::Result<bool> {
        let size = size();
        let has_changed = size != self.size;
        if has_changed {
            let new = ManuallyDrop::new(canvas(size)?);
            drop(ManuallyDrop::into_inner(mem::replace(
                &mut self.terminal,
                new,
            )));
            self.size = size;
        }
        Ok(has_changed)
    }
}

/// An empty canvas of this size.
///
/// It is made anew for each size and the window is cleared by hand: the library's own ways to clear
/// and to resize ask the terminal where its cursor is, and a serial console does not answer.
fn canvas((columns, rows): (u16, u16)) -> io::Result<Canvas> {
    let mut out = BufWriter::new(io::stdout());
    execute!(out, terminal::Clear(terminal::ClearType::All))?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    Terminal::with_options(CrosstermBackend::new(out), TerminalOptions { viewport })
}

fn enter() -> io::Result<()> {
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // The terminal may be gone already; there is nobody left to tell.
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => DEFAULT_SIZE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        pressed(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(Key::Quit));
        assert_eq!(
            key(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Key::Quit)
        );
        assert_eq!(
            key(KeyCode::Char('a'), KeyModifiers::NONE),
            Some(Key::Mode("adaptive"))
        );
        assert_eq!(
            key(KeyCode::Char('o'), KeyModifiers::NONE),
            Some(Key::Mode("off"))
        );
    }

    #[test]
    fn a_key_with_control_is_not_that_key() {
        assert_eq!(key(KeyCode::Char('b'), KeyModifiers::CONTROL), None);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), None);
    }
}
