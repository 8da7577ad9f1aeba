//! `pandemonium-workload`: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    pandemonium_bench::main()
}
