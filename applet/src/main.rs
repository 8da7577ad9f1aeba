//! pandemonium-applet: the window and the tray item of PANDEMONIUM.

mod application;
mod arguments;
mod asker;
mod choice;
mod clock;
mod confirmation;
mod demo;
mod link;
mod model;
mod overview;
mod page;
mod preferences;
mod processes;
mod programs;
mod translation;
mod trial;
mod validity;
mod window;
mod words;

use std::process::ExitCode;

use arguments::Arguments;
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    translation::start();
    match application::run(arguments) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("pandemonium-applet: {sentence}");
            ExitCode::FAILURE
        }
    }
}
