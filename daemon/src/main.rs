//! pandemoniumd: the PANDEMONIUM scheduler service.

mod args;
mod backoff;
mod bus;
mod choices;
mod clock;
mod config;
mod daemon;
mod diagnostics;
mod engine;
mod failure;
mod history;
mod kernel;
mod log;
mod memory;
mod notify;
mod power;
mod power_profile;
mod profile_store;
mod profile_text;
mod state_file;
mod status;
mod ticker;
// Without the kernel half only its tests need it.
#[cfg(any(feature = "bpf", test))]
mod topology;
mod wanted;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::log::error;
use clap::Parser;
use tokio::sync::{mpsc, watch};

use args::Args;
use bus::{Bus, Requests};
use config::Config;
use daemon::{Daemon, Pace, Setup};
use failure::{Failure, exit_code};
use kernel::Kernel;
use kernel::fake::ScriptedKernel;
use memory::MemoryStore;
use power::Told;
use profile_store::ProfileStore;
use status::Status;

/// What the daemon runs on.
struct Machine {
    kernel: Box<dyn Kernel>,
    pace: Pace,
    /// Where the power profile is read if no service says it.
    sysfs: Option<PathBuf>,
}

/// Requests that may wait for the loop; more are refused as busy.
const MAX_REQUESTS: usize = 16;

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(path) = &args.check_profiles {
        return check_profiles(path);
    }
    if let Err(sentence) = log::start(args.verbose) {
        eprintln!("pandemoniumd: {sentence}");
        return ExitCode::from(exit_code::USAGE);
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(sentence) = &failure.sentence {
                error!("{sentence}");
            }
            ExitCode::from(failure.code)
        }
    }
}

fn check_profiles(path: &Path) -> ExitCode {
    match profile_store::check(path) {
        Ok(sentence) => {
            println!("{sentence}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            println!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let source = args.config_source();
    let config = config::load(&source)
        .map_err(|error| Failure::new(exit_code::USAGE, format!("{error}; correct that file.")))?;
    let setup = setup(args, source, config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(exit_code::OTHER, format!("Cannot start: {error}.")))?;
    let ended = runtime.block_on(serve(args, setup));
    // A save that hangs on a dead disk must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &Args, setup: Setup) -> Result<(), Failure> {
    let (published, status) = watch::channel(Status::default());
    let (requests, waiting) = mpsc::channel(MAX_REQUESTS);
    let (told, hearing) = watch::channel(Told::default());
    let daemon = Daemon::new(setup, published, waiting, hearing);
    if let Some(at) = args.bus() {
        let bus = Bus::new(at, status, Requests(requests), told);
        let presence = bus.connect().await?;
        tokio::spawn(bus.keep(presence));
    }
    daemon.run().await
}

fn setup(args: &Args, source: config::Source, config: Config) -> Result<Setup, Failure> {
    let configured = Config {
        choices: args.overrides.on(config.choices),
        ..config
    };
    configured
        .choices
        .check()
        .map_err(|sentence| Failure::new(exit_code::USAGE, sentence))?;
    let machine = machine(args)?;
    let online = machine.kernel.topology().nr_online();
    Ok(Setup {
        kernel: machine.kernel,
        nr_cpus: args.nr_cpus.unwrap_or(online),
        is_cpu_count_fixed: args.nr_cpus.is_some(),
        mode: args.mode(),
        pace: machine.pace,
        store: ProfileStore::new(&args.state_dir()),
        memory: MemoryStore::new(&args.state_dir()),
        config: source,
        configured,
        overrides: args.overrides.clone(),
        sysfs: machine.sysfs,
        has_telemetry: args.telemetry,
        is_alone: args.no_bus,
    })
}

fn machine(args: &Args) -> Result<Machine, Failure> {
    let Some(path) = &args.scripted else {
        return real_machine();
    };
    let scripted = ScriptedKernel::open(path)
        .map_err(|error| Failure::new(exit_code::USAGE, format!("{error:#}.")))?;
    let (tick, second) = scripted.pace();
    Ok(Machine {
        sysfs: scripted.sysfs(),
        kernel: Box::new(scripted),
        pace: Pace { tick, second },
    })
}

#[cfg(feature = "bpf")]
fn real_machine() -> Result<Machine, Failure> {
    let sysfs = Path::new("/sys");
    let topology = topology::read(sysfs).map_err(|error| {
        Failure::new(
            exit_code::OTHER,
            format!("Cannot read the CPU topology: {error:#}."),
        )
    })?;
    Ok(Machine {
        kernel: Box::new(kernel::bpf::BpfKernel::new(topology)),
        pace: Pace::default(),
        sysfs: Some(sysfs.to_owned()),
    })
}

#[cfg(not(feature = "bpf"))]
fn real_machine() -> Result<Machine, Failure> {
    Err(Failure::new(
        exit_code::UNSUPPORTED,
        "This pandemoniumd was built without its kernel half; build it with the feature \"bpf\", or \
         use --scripted.",
    ))
}
