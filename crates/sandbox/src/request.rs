//! The parameters for starting a process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::{CaptureCap, ProcessEnvironment};

/// A process to start. Its standard input is empty; its standard output and error are read as one stream.
#[derive(Debug, Clone)]
pub struct ProcessRequest {
    /// The program or the shell line.
    pub program: Program,
    /// The working directory.
    pub cwd: PathBuf,
    /// Its environment.
    pub environment: ProcessEnvironment,
    /// The timeout.
    pub timeout: Option<Duration>,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The captured size of its output.
    pub output: CaptureCap,
    /// The size of its output terminal; a pipe if absent.
    pub terminal: Option<TerminalSize>,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// The number of columns.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
}

/// The program or the shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A command line for the system's `sh`, which starts fastest.
    Shell(String),
    /// A command line for `bash`.
    Bash(String),
    /// A program, by name or path, and its arguments.
    Exec {
        /// Looked up on the search path unless it contains a `/`.
        program: OsString,
        /// Passed unchanged.
        args: Vec<OsString>,
    },
}

impl ProcessRequest {
    /// The default time between SIGTERM and SIGKILL.
    pub const GRACE: Duration = Duration::from_secs(2);
}
