//! Confined processes: what they cannot do, what they still can, and how they end.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed test, and tests look at files from outside"
)]

mod attempts;
mod degrading;
mod ending;
mod escapes;
mod fixture;
mod ordinary;
