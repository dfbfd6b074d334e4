//! Starts and confines processes; the only crate that may.
//!
//! [`spawn`] takes a [`Request`] and returns a [`Process`], whose output is pulled chunk by chunk and whose end is an
//! [`Exit`]. Every process leads a group of its own that ends with it: at a timeout, and when the `Process` is dropped.

mod capture;
mod decode;
mod environment;
mod error;
mod exit;
mod group;
mod process;
mod request;
mod spawn;

pub use capture::Cap;
pub use environment::Environment;
pub use error::Error;
pub use exit::{Exit, Leftover, Output, Status};
pub use process::Process;
pub use request::{Program, Request};
pub use spawn::spawn;
