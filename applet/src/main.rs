//! pandemonium-applet: the window and the tray item of PANDEMONIUM.

mod application;
mod arguments;
mod asker;
mod autostart;
mod choice;
mod clock;
mod confirmation;
mod demo;
mod drawing;
mod link;
mod menu;
mod model;
mod notifications;
mod overview;
mod page;
mod preferences;
mod processes;
mod programs;
mod shell;
mod translation;
mod tray;
mod trial;
mod validity;
mod window;
mod words;

use std::process::ExitCode;

use arguments::Arguments;
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    drawing::choose();
    translation::start();
    match application::run(arguments) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("pandemonium-applet: {sentence}");
            ExitCode::FAILURE
        }
    }
}
