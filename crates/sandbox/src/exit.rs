//! How a process ended, and what it had said.

use std::time::Duration;

/// A process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub status: Status,
    /// How long it ran.
    pub duration: Duration,
    /// What it wrote.
    pub output: Output,
    /// Whether it left processes of its own behind. They end when the [`Process`](crate::Process) is dropped.
    pub leftover: Leftover,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was told to end because its time was up.
    TimedOut,
    /// The system could not say.
    Unknown,
}

/// Whether anything of a process is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// Nothing.
    None,
    /// Processes it started in the background.
    Running,
}

/// The kept output: all of it, or its start and its end. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// All of it, or its start if something was cut.
    pub head: String,
    /// Its end if something was cut.
    pub tail: String,
    /// How many bytes between the two are gone.
    pub cut: u64,
}
