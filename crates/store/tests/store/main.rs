//! The store's promises, as stories.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a story that cannot go on has failed"
)]

mod bodies;
mod contract;
#[cfg(unix)]
mod crash;
mod damage;
#[cfg(target_os = "linux")]
mod full;
mod instances;
mod later;
mod prune;
mod story;
mod thrift;
