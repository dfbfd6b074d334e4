//! How a process ended, and what it had said.

use std::path::PathBuf;
use std::time::Duration;

use crate::Report;

/// A process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub status: Status,
    /// How long it ran.
    pub duration: Duration,
    /// What it wrote.
    pub output: Output,
    /// Whether it left processes of its own behind. They end when the [`Process`](crate::Process) is dropped; those of a
    /// confined one have ended already.
    pub leftover: Leftover,
    /// What its confinement did, if it had one.
    pub confinement: Option<Confined>,
}

/// What a confinement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confined {
    /// The confinement in a few words.
    pub summary: String,
    /// What of it was in force.
    pub report: Report,
    /// Why the process may have failed because of it.
    pub denial: Option<Denial>,
    /// Protected paths that it had changed; they were put back.
    pub undone: Vec<PathBuf>,
}

/// Signs that a process was refused something. They are no proof: files have permissions of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Lines of the output that say so, the first few.
    pub evidence: Vec<String>,
}

impl Confined {
    /// What the person and the model should know, if there is anything.
    pub fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        if let Some(denial) = &self.denial {
            let evidence = denial.evidence.join("; ");
            notes.push(format!(
                "may have been blocked by the sandbox ({}): {evidence}",
                self.summary
            ));
        }
        if !self.undone.is_empty() {
            let paths: Vec<String> = self.undone.iter().map(|path| path.display().to_string()).collect();
            notes.push(format!("changes to protected files were undone: {}", paths.join(", ")));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
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
