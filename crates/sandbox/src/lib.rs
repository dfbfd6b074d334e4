//! Starts and confines processes; the only crate that may.
//!
//! [`spawn`] takes a [`Request`] and returns a [`Process`], whose output is pulled chunk by chunk and whose end is an
//! [`Exit`]. Every process leads a group of its own that ends with it: at a timeout, and when the `Process` is dropped.
//! It may write to a terminal instead of a pipe, but there is never one to read from: what waits for a person, fails.
//!
//! A [`Partner`] is a process to talk with: it has an input, and what it says is read by whoever asked for it.
//!
//! [`Confinement::spawn`] does the same within a [`Confinement`]. On Linux a [`guard`] stands between: the program starts
//! itself once more, and its `main` hands over to the guard before anything else. Three layers are put on, as far as the
//! kernel has them; [`Confinement::report`] says which:
//!
//! | layer | what it holds |
//! |---|---|
//! | Landlock | files are written in the roots only; devices, other processes, their memory and signals are out of reach |
//! | seccomp | no sockets but what is granted, no namespaces, mounts, tracing, keys, rings |
//! | mounts | all but the roots is read-only, with modes and owners; protected paths in them too; hidden paths are covered |
//!
//! The layers overlap on purpose. Mounts need a namespace, which some systems do not let users have; then hidden paths are
//! left out of Landlock's rules, file by file, and changes to protected ones are undone when the command has ended.
//!
//! Not held: reading what is not hidden; the files of others in the folders for temporary files; a repository that the
//! command makes itself, or that lies deeper in a root; programs in the workspace that somebody runs later; how much of
//! the network is used once it is granted. Local sockets, debuggers and 32-bit programs do not work inside.
//!
//! On macOS the system's Seatbelt confines, by a generated profile; that part has never run on a real Mac.

mod capture;
mod confinement;
mod decode;
mod denial;
mod environment;
mod error;
mod exit;
mod foreground;
mod group;
#[cfg(target_os = "linux")]
mod guard;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guarded;
mod hand_over;
mod harden;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod order;
mod partner;
mod process;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod record;
mod report;
mod request;
mod seatbelt;
mod spawn;
mod terminal;

pub use capture::{Cap, Capture};
pub use confinement::{Confinement, Level, Limits, Network};
pub use environment::Environment;
pub use error::Error;
pub use exit::{Confined, Denial, Exit, Leftover, Output, Status};
pub use foreground::foreground;
#[cfg(target_os = "linux")]
pub use guard::guard;
pub use hand_over::hand_over;
pub use harden::harden;
pub use partner::Partner;
pub use process::Process;
pub use report::{Layer, Report};
pub use request::{Program, Request, Size};
pub use seatbelt::profile as seatbelt_profile;
pub use spawn::spawn;

/// Where the system itself confines, no program is ever started as a guard.
#[cfg(not(target_os = "linux"))]
pub fn guard() -> Option<std::process::ExitCode> {
    None
}
