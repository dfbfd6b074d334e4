//! Stories about what is allowed, asked about and denied.

#![allow(clippy::expect_used, reason = "a test may fail")]

mod bypasses;
mod desk;
mod modes;
mod permissions;
mod properties;
mod roo;
