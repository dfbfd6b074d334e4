//! Tests of the kit with a minimal HTTP client: every wire, fault and rule.
#![allow(clippy::expect_used, reason = "what the tests share is test code too")]

mod checks;
mod client;
mod faults;
mod reader;
mod run;
mod server;
mod wires;
