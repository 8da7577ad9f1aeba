//! `pandemonium`: everything is in the library, so that meson can generate completions and manual
//! pages from the same definition.

use std::process::ExitCode;

fn main() -> ExitCode {
    pandemonium_cli::main(std::env::args_os())
}
