//! Runs the built binary in an environment without a system bus.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

/// A program with this environment.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// Runs `pandemonium` with these arguments.
pub fn pandemonium(arguments: &[impl AsRef<OsStr>]) -> Output {
    command(env!("CARGO_BIN_EXE_pandemonium"))
        .args(arguments)
        .output()
        .expect("it starts")
}

/// Runs a bash script in which `$0` is the binary.
pub fn bash(script: &str) -> Output {
    command("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_pandemonium")])
        .output()
        .expect("bash starts")
}

/// What it printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complained about.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
