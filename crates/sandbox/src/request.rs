//! What is to be run, and within which limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Cap, Environment};

/// A process to start. Its standard input is empty; its standard output and error are read as one stream.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to run.
    pub program: Program,
    /// The folder to run it in.
    pub cwd: PathBuf,
    /// The variables it sees, and no others.
    pub environment: Environment,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How long it may take to end after it was told to, before it is killed.
    pub grace: Duration,
    /// How much of its output is kept.
    pub output: Cap,
    /// The size of the terminal that it writes to; a plain pipe if there is none.
    pub terminal: Option<Size>,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How many characters fit beside each other.
    pub columns: u16,
    /// How many lines fit below each other.
    pub rows: u16,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A line for the system's `sh`, the shell that starts fastest.
    Shell(String),
    /// A line for `bash`.
    Bash(String),
    /// A program, by name or path, and its arguments.
    Exec {
        /// Looked up on the search path unless it contains a `/`.
        program: OsString,
        /// Handed over as they are.
        args: Vec<OsString>,
    },
}

impl Request {
    /// How long a process may take to end after it was told to, unless the caller knows better.
    pub const GRACE: Duration = Duration::from_secs(2);
}
