//! Every decision PANDEMONIUM takes, as pure functions over plain values.
//!
//! Nothing here does I/O, reads a clock, starts a thread or logs: time and topology are arguments,
//! so each rule can be tested without root, a kernel or clang.

pub mod control;
pub mod histogram;
pub mod knobs;
pub mod limits;
pub mod profile;
pub mod profiles;
pub mod regime;
pub mod sample;
pub mod tier;
pub mod topology;

pub use control::{Control, Decision, Mode};
pub use knobs::Knobs;
pub use limits::Limits;
pub use profile::{Observation, Profile};
pub use profiles::Profiles;
pub use regime::Regime;
pub use sample::{Counters, Histogram, Reading, Sample};
pub use tier::Tier;
pub use topology::{Cpu, Topology};
