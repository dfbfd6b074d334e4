//! The kit tried with a plain HTTP client: every wire, every fault, every rule.
#![allow(clippy::expect_used, reason = "what the tests share is test code too")]

mod checks;
mod client;
mod faults;
mod reader;
mod run;
mod server;
mod wires;
