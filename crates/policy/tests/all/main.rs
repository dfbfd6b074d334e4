//! Decisions: allowed, needs approval, denied.

#![allow(clippy::expect_used, reason = "a test may fail")]

mod bypasses;
#[cfg(target_os = "linux")]
mod differential;
mod modes;
mod nesting;
mod permissions;
mod properties;
mod roo;
mod support;
