//! Starts and confines processes; the only crate that may.
//!
//! [`spawn`] takes a [`Request`] and returns a [`Process`], whose output is pulled chunk by chunk and whose end is an
//! [`Exit`]. Every process leads a group of its own that ends with it: at a timeout, and when the `Process` is dropped.
//!
//! [`Confinement::spawn`] does the same within a [`Confinement`]. On Linux a [`guard`] stands between: the program starts
//! itself once more, and `main` hands over to the guard before anything else. On macOS the system's Seatbelt confines;
//! that part has never run on a real Mac.

mod capture;
mod confinement;
mod decode;
mod denial;
mod environment;
mod error;
mod exit;
mod group;
#[cfg(target_os = "linux")]
mod guard;
mod guarded;
mod harden;
mod order;
mod process;
mod record;
mod report;
mod request;
mod seatbelt;
mod spawn;

pub use capture::Cap;
pub use confinement::{Confinement, Level, Limits, Network};
pub use environment::Environment;
pub use error::Error;
pub use exit::{Confined, Denial, Exit, Leftover, Output, Status};
#[cfg(target_os = "linux")]
pub use guard::guard;
pub use harden::harden;
pub use process::Process;
pub use report::{Layer, Report};
pub use request::{Program, Request};
pub use seatbelt::profile as seatbelt_profile;
pub use spawn::spawn;

/// Where the system itself confines, no program is ever started as a guard.
#[cfg(not(target_os = "linux"))]
pub fn guard() -> Option<std::process::ExitCode> {
    None
}
