//! The result of a process.

use std::path::PathBuf;
use std::time::Duration;

use crate::ConfinementReport;

/// A process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessExit {
    /// How it ended.
    pub status: ProcessStatus,
    /// How long it ran.
    pub duration: Duration,
    /// Its output.
    pub output: CapturedOutput,
    /// Whether it left child processes behind. They end when the [`Process`](crate::Process) is dropped; those of a
    /// confined process have already ended.
    pub leftover: LeftoverProcesses,
    /// The effects of its confinement, if any.
    pub confinement: Option<ConfinementResult>,
}

/// The effects of a confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementResult {
    /// A short description of the confinement.
    pub summary: String,
    /// The active parts of the confinement.
    pub report: ConfinementReport,
    /// Signs that the confinement caused a failure.
    pub denial: Option<SandboxDenial>,
    /// Protected paths that it had changed; they were restored.
    pub reverted: Vec<PathBuf>,
}

/// Signs that an operation was denied. They are not proof: files have their own permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxDenial {
    /// The first lines of the output that indicate it.
    pub evidence: Vec<String>,
}

impl ConfinementResult {
    /// A note for the user and the model, if needed.
    pub fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        if let Some(denial) = &self.denial {
            let evidence = denial.evidence.join("; ");
            notes.push(format!(
                "may have been blocked by the sandbox ({}): {evidence}",
                self.summary
            ));
        }
        if !self.reverted.is_empty() {
            let paths: Vec<String> = self.reverted.iter().map(|path| path.display().to_string()).collect();
            notes.push(format!(
                "changes to protected files were reverted: {}",
                paths.join(", ")
            ));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It was terminated after the timeout.
    TimedOut,
    /// The system could not determine it.
    Unknown,
}

/// Whether child processes are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverProcesses {
    /// Nothing.
    None,
    /// Processes it started in the background.
    Running,
}

/// The captured output: all of it, or its start and end. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturedOutput {
    /// All of it, or its start if it was cut.
    pub head: String,
    /// Its end if it was cut.
    pub tail: String,
    /// The number of bytes cut in between.
    pub omitted_bytes: u64,
}
