//! What the exit code of hew says.

use session::Ending;
use std::process::ExitCode;

/// How a run of hew ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The task is done.
    Done,
    /// It could not go on.
    Failed,
    /// The arguments or the configuration are wrong.
    Usage,
    /// A limit stopped it, or the model ran in a circle.
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
pub(crate) const TABLE: &str = "\
Exit codes:
    0  the task is done
    1  it could not go on: provider, network or disk
    2  the arguments or the configuration are wrong
    3  stopped by a limit, or the model ran in a circle
    4  the model refused
    5  the output limit cut the answer
    6  the answer does not match --output-schema
  130  interrupted by Ctrl-C (143: by SIGTERM)";

impl Exit {
    /// The number itself.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Stopped => 3,
            Exit::Refused => 4,
            Exit::MaxTokens => 5,
            Exit::Schema => 6,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

impl From<&Ending> for Exit {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Completed => Exit::Done,
            Ending::MaxTokens => Exit::MaxTokens,
            Ending::Refused { .. } => Exit::Refused,
            Ending::Interrupted => Exit::Interrupted,
            Ending::Limit(_) | Ending::Loop { .. } => Exit::Stopped,
            Ending::Failed { .. } => Exit::Failed,
        }
    }
}
