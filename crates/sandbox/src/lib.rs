//! Starts and confines processes; the only crate that may.
//!
//! [`spawn`] takes a [`ProcessRequest`] and returns a [`Process`], which yields its output in chunks and ends with an
//! [`ProcessExit`]. Every process leads its own group, which is killed after a timeout and when the `Process` is
//! dropped. Its output may be a terminal instead of a pipe, but its input is always empty: programs that wait for a
//! user fail.
//!
//! A [`PipedProcess`] is a process with piped input and output.
//!
//! [`Confinement::spawn`] starts a process within a [`Confinement`]. On Linux a [`guard`] runs in between: the program
//! starts itself again, and its `main` calls the guard first. Three layers are applied, as far as the kernel supports
//! them; [`Confinement::report`] lists them:
//!
//! | layer | restrictions |
//! |---|---|
//! | Landlock | only the roots are writable; devices, other processes, their memory and signals are inaccessible |
//! | seccomp | only granted sockets; no namespaces, mounts, tracing, keys, rings |
//! | mounts | everything but the roots is read-only, including modes and owners; protected paths too; hidden paths are covered |
//!
//! The layers overlap on purpose. Mounts need a namespace, which some systems do not allow for users; then hidden paths
//! are excluded from Landlock's rules, file by file, and changes to protected paths are reverted when the command ends.
//!
//! Not restricted: reading paths that are not hidden; other users' files in the temporary directories; repositories
//! that the command creates, or deeper in a root; programs in the workspace that are run later; network usage once it
//! is granted. Unix sockets, debuggers and 32-bit programs do not work inside.
//!
//! On macOS, Seatbelt confines processes with a generated profile; that part has never run on a real Mac.

mod capture;
mod confinement;
mod denial;
mod environment;
mod error;
mod exit;
mod foreground;
mod group;
#[cfg(target_os = "linux")]
mod guard;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guard_args;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guard_channel;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guard_record;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guard_request;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod guard_server;
mod harden;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
mod host_proxy;
#[cfg(target_os = "linux")]
mod launch;
mod piped_process;
mod process;
mod report;
mod request;
mod run_in_terminal;
mod seatbelt;
mod spawn;
mod terminal;
mod utf8_decoder;

pub use capture::{CaptureCap, OutputCapture};
pub use confinement::{
    AccessScan, Confinement, ConfinementLevel, NetworkAccess, PathScan, PathScanError, ProcessAccess, ResourceLimits,
    ScannedPaths, git_control_paths, is_generated, repository_control_paths,
};
pub use environment::ProcessEnvironment;
pub use error::Error;
pub use exit::{CapturedOutput, ConfinementResult, LeftoverProcesses, ProcessExit, ProcessStatus, SandboxDenial};
pub use foreground::foreground;
#[cfg(target_os = "linux")]
pub use guard::guard;
pub use guard_server::GuardPool;
pub use harden::harden;
pub use host_proxy::{HostError, HostResolver, NetworkHosts};
pub use piped_process::PipedProcess;
pub use process::Process;
pub use report::{ConfinementReport, LayerStatus};
pub use request::{ProcessRequest, Program, TerminalSize};
pub use run_in_terminal::run_in_terminal;
pub use seatbelt::profile as seatbelt_profile;
pub use spawn::spawn;

/// On systems with their own sandbox, the program is never started as a guard.
#[cfg(not(target_os = "linux"))]
pub fn guard() -> Option<std::process::ExitCode> {
    None
}
