//! The real daemon with a scripted kernel, on a real private bus.

#![allow(missing_docs, clippy::unwrap_used)]

mod choices;
mod command_line;
mod cpu_count;
mod dbusmock;
mod diagnostics;
mod editing;
mod ejection;
mod harness;
mod holds;
mod interface;
mod lifecycle;
mod metrics;
mod mocked_polkit;
mod modes;
mod obstacles;
mod polkit;
mod power;
mod pretended_polkit;
mod pretended_power;
mod profiles;
mod remembered;
mod system_bus;
mod systemd;
mod trust;
mod truth;
