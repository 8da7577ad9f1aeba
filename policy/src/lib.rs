//! Every decision PANDEMONIUM takes, as pure functions over plain values.
//!
//! Nothing here does I/O, reads a clock, starts a thread or logs: time and topology are arguments,
//! so each rule can be tested without root, a kernel or clang.

pub mod control;
pub mod cpuset;
pub mod domain;
pub mod histogram;
pub mod idle_layout;
pub mod knobs;
pub mod limits;
pub mod pattern;
pub mod power;
pub mod predictions;
pub mod profile;
pub mod profiles;
pub mod regime;
pub mod sample;
pub mod settings;
pub mod tier;
pub mod topology;

pub use control::{Control, Decision, Mode};
pub use cpuset::CpuSet;
pub use domain::PrimaryDomain;
pub use idle_layout::IdleLayout;
pub use knobs::Knobs;
pub use limits::Limits;
pub use pattern::{Pattern, PatternError};
pub use power::{PowerMap, PowerProfile, PowerSituation, PowerSource};
pub use predictions::{Changes, Predictions};
pub use profile::{Observation, Prediction, Profile};
pub use profiles::Profiles;
pub use regime::Regime;
pub use sample::{Counters, Histogram, Reading, Sample};
pub use settings::Settings;
pub use tier::Tier;
pub use topology::{Cpu, Topology};
