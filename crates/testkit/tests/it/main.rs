//! The kit tried with a plain HTTP client: every wire, every fault, every rule.

mod client;
mod server;
