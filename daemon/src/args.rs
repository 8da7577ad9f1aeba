//! The command line.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use pandemonium_policy::Mode;

use crate::bus::Where;
use crate::choices::Overrides;
use crate::config::Source;

const DEFAULT_STATE_DIR: &str = "/var/lib/pandemonium";

const AFTER_HELP: &str = "\
Modes:
  adaptive  the scheduler is loaded, and its knobs follow the workload every second
  bpf       the scheduler is loaded, and its knobs stay at their defaults
  off       nothing is loaded: the kernel's own scheduler runs

The mode after start is, the first that is given: --mode, one that was chosen to be remembered while the
configuration said the same, the configuration, adaptive. It is switched at
run time with `pandemonium mode MODE`, or with any D-Bus client: method SetMode of the interface
org.pandemonium.Scheduler1.

Compositors, primary domain and idle selector are chosen at run time with `pandemonium compositor`,
`pandemonium domain`, `pandemonium power` and `pandemonium idle-selector`. Such a choice is remembered while the
configuration says the same; an option of this command line wins over it at the start.

Configuration, the later ones on top:
  /usr/lib/pandemonium/config.toml
  /etc/pandemonium/config.toml
  /etc/pandemonium/config.d/*.toml
SIGHUP reads it again.

Environment:
  PANDEMONIUM_LOG   off, error, warn, info, debug or trace
  STATE_DIRECTORY   where learned profiles, remembered modes and choices are kept, set by systemd

Exit codes:
  0  it was asked to leave
  1  it failed for another reason than those below
  2  the command line or the configuration is wrong
  3  the kernel takes no scheduler (with --no-bus; on a bus it stays and says so there)
  4  another sched_ext scheduler is loaded (with --no-bus, likewise)
  5  the bus is missing, or the name on it is taken
  6  a permission is missing

Examples:
  pandemoniumd                                  as the service does
  pandemoniumd --no-bus --telemetry             on a bare system: one line a second
  pandemoniumd --compositor mywm --compositor 'shell*'
                                                these are compositors besides the built-in ones
  pandemoniumd --primary-domain performance     fast CPUs first; or powersave, auto, 0xff
  pandemoniumd --no-idle-selector --slice-lag-us -5000
                                                the kernel's idle masks, less credit for sleepers
  pandemoniumd --session-bus --scripted FILE    a demo that touches nothing";

/// The PANDEMONIUM scheduler service: loads a sched_ext CPU scheduler, tunes it once a second, and
/// says on D-Bus how it is doing.
#[derive(Debug, Parser)]
#[command(name = "pandemoniumd", version, after_long_help = AFTER_HELP)]
pub struct Args {
    /// Mode after start, whatever the configuration says
    #[arg(long, value_name = "MODE", value_parser = mode_parser())]
    mode: Option<Mode>,

    /// The same as --mode bpf
    #[arg(long, conflicts_with = "mode")]
    no_adaptive: bool,

    /// What is chosen about the kernel half.
    #[command(flatten)]
    pub overrides: Overrides,

    /// Compute what scales with the number of CPUs for N of them instead of those online
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub nr_cpus: Option<u32>,

    /// Run without D-Bus: for bare systems and tests. Leaves when nothing is left to do
    #[arg(long, conflicts_with_all = ["session_bus", "bus_address"])]
    pub no_bus: bool,

    /// Use the session bus instead of the system bus
    #[arg(long, conflicts_with = "bus_address")]
    session_bus: bool,

    /// Use the bus at this address, such as unix:path=/tmp/bus
    #[arg(long, value_name = "ADDRESS")]
    bus_address: Option<String>,

    /// Pretend the kernel of this script instead of using the real one
    #[arg(long, value_name = "FILE")]
    pub scripted: Option<PathBuf>,

    /// Read only this configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where learned profiles are kept [default: $STATE_DIRECTORY or /var/lib/pandemonium]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Print a line of numbers to standard output every second, and all counters at the end
    #[arg(long)]
    pub telemetry: bool,

    /// Say in one sentence whether FILE is a valid profile file, and leave with 0 or 1
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub check_profiles: Option<PathBuf>,

    /// Log decisions; twice: every tick
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Args {
    /// The mode the command line asks for.
    pub fn mode(&self) -> Option<Mode> {
        if self.no_adaptive {
            Some(Mode::Bpf)
        } else {
            self.mode
        }
    }

    /// The bus to be on, if any.
    pub fn bus(&self) -> Option<Where> {
        match &self.bus_address {
            _ if self.no_bus => None,
            Some(address) => Some(Where::Address(address.clone())),
            None if self.session_bus => Some(Where::Session),
            None => Some(Where::System),
        }
    }

    /// Where the configuration comes from.
    pub fn config_source(&self) -> Source {
        let system = || Source::System("/".into());
        self.config.clone().map_or_else(system, Source::File)
    }

    /// Where profiles are kept.
    pub fn state_dir(&self) -> PathBuf {
        // systemd separates several directories with colons; the unit asks for one.
        let from_systemd = || std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
        let chosen = self.state_dir.clone().or_else(from_systemd);
        chosen.unwrap_or_else(|| PathBuf::from(DEFAULT_STATE_DIR))
    }
}

fn mode_parser() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::name)).try_map(|name| name.parse::<Mode>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::choices::Choices;

    fn parsed(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("pandemoniumd").chain(args.iter().copied()))
    }

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn modes_are_parsed() {
        let mode = |args: &[&str]| parsed(args).map(|args| args.mode()).ok();
        assert_eq!(mode(&[]), Some(None));
        assert_eq!(mode(&["--mode", "off"]), Some(Some(Mode::Off)));
        assert_eq!(mode(&["--no-adaptive"]), Some(Some(Mode::Bpf)));
        assert_eq!(mode(&["--no-adaptive", "--mode", "bpf"]), None);
        assert_eq!(mode(&["--mode", "fast"]), None);
    }

    #[test]
    fn choices_are_parsed() {
        let args = parsed(&[
            "--compositor",
            "mywm",
            "--compositor=shell*",
            "--primary-domain",
            "0x0f",
            "--no-idle-selector",
            "--local-kthreads",
            "--slice-lag-us",
            "-20000",
        ]);
        let defaults = Choices::default();
        let chosen = args.expect("valid").overrides.on(defaults.clone());
        assert_eq!(chosen.compositors.len(), defaults.compositors.len() + 2);
        assert_eq!(chosen.domain.to_string(), "0xf");
        assert!(!chosen.idle_selector && chosen.local_kthreads);
        assert_eq!(chosen.slice_lag_us, -20_000);
        for wrong in [
            ["--compositor", "a/b"],
            ["--primary-domain", "fast"],
            ["--slice-lag-us", "-20001"],
        ] {
            assert!(parsed(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn help_names_every_exit_code_and_mode() {
        let help = Args::command().render_long_help().to_string();
        for mode in Mode::ALL {
            assert!(help.contains(mode.name()));
        }
        use crate::failure::exit_code::*;
        for code in [OTHER, USAGE, UNSUPPORTED, FOREIGN, BUS, PERMISSION] {
            assert!(help.contains(&format!("\n  {code}  ")), "{code}");
        }
    }
}
