//! `pandemonium`: everything is in the library, so that meson can generate completions and manual
//! pages from the same definition.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Workloads of `bench` start this program again as their child.
    if let Some(code) = pandemonium_bench::serve_role() {
        return code;
    }
    pandemonium_cli::main(std::env::args_os())
}
