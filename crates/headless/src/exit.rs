//! Exit codes.

use crate::failure::{Failure, FailureKind};
use session::TurnEnd;
use std::process::ExitCode;

/// How a run of hew ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The task is done.
    Done,
    /// It failed.
    Failed,
    /// The arguments or the configuration are wrong.
    Usage,
    /// A limit stopped it, or the model repeated itself.
    Stopped,
    /// The model declined.
    Refused,
    /// The output limit cut the answer.
    MaxTokens,
    /// The answer does not match the output schema.
    Schema,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

/// The table that `--help` prints and the documentation repeats.
pub const TABLE: &str = "\
Exit codes:
    0  the task is done
    1  failed: provider, network or disk
    2  the arguments or the configuration are wrong
    3  stopped by a limit, or the model repeated itself
    4  the model refused
    5  the answer was truncated at the output limit
    6  the answer does not match --output-schema
  130  interrupted by Ctrl-C (143: by SIGTERM)";

impl ExitStatus {
    /// The number itself.
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Done => 0,
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Stopped => 3,
            ExitStatus::Refused => 4,
            ExitStatus::MaxTokens => 5,
            ExitStatus::Schema => 6,
            ExitStatus::Interrupted => 130,
            ExitStatus::Terminated => 143,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        ExitCode::from(exit.code())
    }
}

impl From<&Failure> for ExitStatus {
    fn from(failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::Usage => ExitStatus::Usage,
            FailureKind::Operation => ExitStatus::Failed,
        }
    }
}

impl From<&TurnEnd> for ExitStatus {
    fn from(ending: &TurnEnd) -> Self {
        match ending {
            TurnEnd::Completed => ExitStatus::Done,
            TurnEnd::MaxTokens => ExitStatus::MaxTokens,
            TurnEnd::Refused { .. } => ExitStatus::Refused,
            TurnEnd::Interrupted => ExitStatus::Interrupted,
            TurnEnd::Limit(_) | TurnEnd::Loop { .. } => ExitStatus::Stopped,
            TurnEnd::Failed { .. } => ExitStatus::Failed,
        }
    }
}
