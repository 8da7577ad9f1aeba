//! The real daemon with a scripted kernel, on a real private bus.

#![allow(missing_docs, clippy::unwrap_used)]

mod choices;
mod command_line;
mod cpu_count;
mod ejection;
mod harness;
mod interface;
mod lifecycle;
mod obstacles;
mod polkit;
mod pretended_polkit;
mod profiles;
mod systemd;
