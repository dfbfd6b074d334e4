//! A headless Chromium: started when it is first needed, driven over its DevTools protocol, gone with the session.
//!
//! All that it loads goes through a gate of ours, which reaches public addresses only, and only for the page: what the browser
//! wants for itself, such as news from its maker, is kept back. What it shows in its window asks about each new host, as fetch
//! does.

mod devtools;
mod gate;
mod keys;
mod known;
mod launch;
mod tab;

pub(crate) use launch::Launch;
pub(crate) use tab::{Spot, Tab};

use tokio::task::JoinHandle;

/// A task that ends with its owner.
#[derive(Debug)]
struct Owned(JoinHandle<()>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}
