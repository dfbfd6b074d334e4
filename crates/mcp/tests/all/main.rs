//! The client against real servers, and against servers that misbehave.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed test, and tests start servers of their own"
)]

mod kit;
mod login;
mod odd;
mod real;
