//! pandemoniumd: the PANDEMONIUM scheduler service.

mod args;
mod backoff;
mod bus;
mod clock;
mod config;
mod daemon;
mod engine;
mod failure;
mod kernel;
mod log;
mod notify;
mod profile_store;
mod status;
// Without the kernel half only its tests need it.
#[cfg(any(feature = "bpf", test))]
mod topology;

use std::path::Path;
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
use profile_store::ProfileStore;
use status::Status;

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
            error!("{failure}");
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
    let tick = setup.pace.tick;
    let daemon = Daemon::new(setup, published, waiting);
    if let Some(at) = args.bus() {
        let bus = Bus::new(at, status, Requests(requests));
        let connection = bus.connect().await?;
        tokio::spawn(bus.keep(connection));
    }
    daemon.run(tick).await
}

fn setup(args: &Args, source: config::Source, config: Config) -> Result<Setup, Failure> {
    let (kernel, online, pace) = kernel(args)?;
    Ok(Setup {
        kernel,
        nr_cpus: args.nr_cpus.unwrap_or(online),
        is_cpu_count_fixed: args.nr_cpus.is_some(),
        mode: args.mode().unwrap_or(config.mode),
        pace,
        store: ProfileStore::new(&args.state_dir()),
        config: source,
        configured_mode: config.mode,
        has_telemetry: args.telemetry,
        is_alone: args.no_bus,
    })
}

/// The kernel half, the number of online CPUs, and how fast time passes.
fn kernel(args: &Args) -> Result<(Box<dyn Kernel>, u32, Pace), Failure> {
    let Some(path) = &args.scripted else {
        return real_kernel();
    };
    let scripted = ScriptedKernel::open(path)
        .map_err(|error| Failure::new(exit_code::USAGE, format!("{error:#}.")))?;
    let (tick, backoff_second) = scripted.pace();
    let nr_cpus = scripted.nr_cpus();
    Ok((
        Box::new(scripted),
        nr_cpus,
        Pace {
            tick,
            backoff_second,
        },
    ))
}

#[cfg(feature = "bpf")]
fn real_kernel() -> Result<(Box<dyn Kernel>, u32, Pace), Failure> {
    let topology = topology::read(Path::new("/sys")).map_err(|error| {
        Failure::new(
            exit_code::OTHER,
            format!("Cannot read the CPU topology: {error:#}."),
        )
    })?;
    let online = topology.nr_online();
    Ok((
        Box::new(kernel::bpf::BpfKernel::new(topology)),
        online,
        Pace::default(),
    ))
}

#[cfg(not(feature = "bpf"))]
fn real_kernel() -> Result<(Box<dyn Kernel>, u32, Pace), Failure> {
    Err(Failure::new(
        exit_code::UNSUPPORTED,
        "This pandemoniumd was built without its kernel half; build it with the feature \"bpf\", or \
         use --scripted.",
    ))
}
