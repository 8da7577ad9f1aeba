//! What this program does when one of its own workloads starts it.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::forks::{self, Storms};
use crate::random::Random;
use crate::run::{Run, burn};
use crate::suite::{build, rivals};
use crate::{share, sys};

/// Marks a child's command line; it is not offered to people.
const MARK: &str = "--child";

/// What a child is for.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    /// Says when it began to run, and ends.
    Launch,
    /// Sends back every byte.
    Echo,
    /// Computes and uses files in this directory until it is killed.
    Compile(&'a Path, usize),
    /// Compiles one file in this directory and ends.
    Job(&'a Path, usize),
    /// Starts so many programs at once, every so many nanoseconds, until it is killed.
    Storms(Storms),
    /// Starts one program after the other at this rate per second, for so many nanoseconds, and says how long each took.
    Launches(u64, u64),
    /// Computes until the second of these moments, and tells what it saw since the first (ns of the monotonic clock).
    Rival(u64, u64),
    /// Computes for so many nanoseconds of CPU time and ends.
    Compute(u64),
    /// Waits for a byte, then computes in this many threads of this name until it is killed.
    Group(&'a str, usize),
}

/// Acts as a child if that is what this process was started as.
pub fn serve_role() -> Option<ExitCode> {
    let started_ns = sys::now_ns();
    let args: Vec<_> = std::env::args_os().skip(1).take(4).collect();
    if args.first().is_none_or(|first| first != MARK) {
        return None;
    }
    let word = |index: usize| args.get(index).and_then(|arg| arg.to_str()).unwrap_or("");
    let number = |index: usize| word(index).parse().unwrap_or(0);
    let result = match word(1) {
        "launch" => io::stdout().write_all(&started_ns.to_ne_bytes()),
        "echo" => echo(),
        "compile" => compile(Path::new(word(2)), number(3)),
        "job" => build::compile(Path::new(word(2)), number(3) as usize),
        "storms" => storms(number(2) as usize, number(3)),
        "launches" => launches(number(2), number(3)),
        "rival" => rivals::serve(Run {
            start_ns: number(2),
            end_ns: number(3),
        }),
        "compute" => compute(number(2)),
        "group" => share::serve(word(2), number(3) as usize),
        _ => return Some(ExitCode::FAILURE),
    };
    Some(if result.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn echo() -> io::Result<()> {
    sys::set_name(c"wl-echo");
    let mut byte = [0];
    while io::stdin().read(&mut byte)? == 1 {
        let mut stdout = io::stdout();
        stdout.write_all(&byte)?;
        stdout.flush()?;
    }
    Ok(())
}

fn compile(dir: &Path, seed: u64) -> io::Result<()> {
    sys::set_name(c"wl-compile");
    let mut random = Random::new(seed + 1);
    let path = dir.join(format!("object-{seed}"));
    loop {
        burn(random.between(5, 50) * 1_000_000);
        fs::write(
            &path,
            vec![seed as u8; random.between(1, 64) as usize * 1024],
        )?;
        std::hint::black_box(fs::read(&path)?);
        fs::remove_file(&path)?;
    }
}

fn storms(programs: usize, interval_ns: u64) -> io::Result<()> {
    sys::set_name(c"wl-storms");
    let storms = Storms {
        programs,
        interval_ns,
    };
    forks::storms(Run::starting_in(0, u64::MAX), storms, |_| ()).map_err(io::Error::other)
}

fn compute(cpu_ns: u64) -> io::Result<()> {
    sys::set_name(c"wl-compute");
    burn(cpu_ns);
    Ok(())
}

fn launches(rate: u64, length_ns: u64) -> io::Result<()> {
    sys::set_name(c"wl-launches");
    let samples =
        forks::launches(Run::starting_in(0, length_ns), rate).map_err(io::Error::other)?;
    let mut stdout = io::stdout().lock();
    samples
        .values()
        .iter()
        .try_for_each(|launch_ns| stdout.write_all(&launch_ns.to_ne_bytes()))?;
    stdout.flush()
}

/// Starts a child that cannot outlive the calling thread.
pub fn start(role: Role<'_>) -> Result<Running, String> {
    let own = std::env::current_exe().map_err(|error| {
        format!("cannot find this program to start it again ({error}); is /proc mounted?")
    })?;
    let mut command = Command::new(own);
    command
        .arg(MARK)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match role {
        Role::Launch => command.arg("launch").stdout(Stdio::piped()),
        Role::Echo => command
            .arg("echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
        Role::Compile(dir, seed) => command.arg("compile").arg(dir).arg(seed.to_string()),
        Role::Job(dir, number) => command.arg("job").arg(dir).arg(number.to_string()),
        Role::Storms(storms) => command
            .arg("storms")
            .arg(storms.programs.to_string())
            .arg(storms.interval_ns.to_string()),
        Role::Launches(rate, length_ns) => command
            .arg("launches")
            .arg(rate.to_string())
            .arg(length_ns.to_string())
            .stdout(Stdio::piped()),
        Role::Rival(from_ns, end_ns) => command
            .arg("rival")
            .arg(from_ns.to_string())
            .arg(end_ns.to_string())
            .stdout(Stdio::piped()),
        Role::Compute(cpu_ns) => command.arg("compute").arg(cpu_ns.to_string()),
        Role::Group(name, threads) => command
            .arg("group")
            .arg(name)
            .arg(threads.to_string())
            .stdin(Stdio::piped()),
    };
    sys::tie_to_parent(&mut command);
    let child = command
        .spawn()
        .map_err(|error| format!("cannot start a child ({error})"))?;
    Ok(Running(child))
}

/// A child that is killed and reaped when dropped.
#[derive(Debug)]
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory for the children's files that is removed when dropped.
#[derive(Debug)]
pub struct ScratchDir(pub PathBuf);

impl ScratchDir {
    /// Creates it; it must not exist yet, so nobody else's files are ever removed.
    pub fn create() -> Result<ScratchDir, String> {
        let name = format!(
            "pandemonium-workload-{}-{}",
            std::process::id(),
            sys::now_ns()
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)
            .map_err(|error| format!("cannot create {} ({error})", path.display()))?;
        Ok(ScratchDir(path))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
