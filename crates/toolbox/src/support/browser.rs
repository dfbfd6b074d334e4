//! A headless Chromium: started on first use, driven over the DevTools protocol, stopped with the session.
//!
//! All requests go through a local proxy that only reaches public addresses, and only for the page: requests that the
//! browser makes for itself are blocked. Navigation to a new host needs approval, as with fetch.

mod devtools;
mod keys;
mod launch;
mod proxy;
mod requested_hosts;
mod tab;

pub(crate) use launch::BrowserLaunch;
pub(crate) use tab::{BrowserTab, PageTarget};

use tokio::task::JoinHandle;

/// A task that is aborted when dropped.
#[derive(Debug)]
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
