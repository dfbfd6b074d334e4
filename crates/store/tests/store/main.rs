//! Tests of the store through its public API.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

mod bodies;
mod contract;
#[cfg(unix)]
mod crash;
mod damage;
#[cfg(target_os = "linux")]
mod disk_full;
mod fixtures;
mod instances;
mod migration;
mod newer_rows;
mod prune;
mod write_volume;
