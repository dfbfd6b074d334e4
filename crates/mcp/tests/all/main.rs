//! The client with real and with misbehaving servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed test, and tests start servers of their own"
)]

mod login;
mod misbehaving_servers;
mod real_servers;
mod support;
