//! The store's promises, as stories.

mod contract;
#[cfg(unix)]
mod crash;
mod damage;
#[cfg(target_os = "linux")]
mod full;
mod instances;
mod later;
mod story;
mod thrift;
