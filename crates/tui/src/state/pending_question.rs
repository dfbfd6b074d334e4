//! A pending question.

use session::{Answer, Command, Question, SessionId};

/// A pending question and its origin.
#[derive(Debug, Clone)]
pub(crate) struct PendingQuestion {
    /// The subtask that asks; `None` for the session.
    pub(crate) asker: Option<SessionId>,
    pub(crate) question: Question,
}

impl PendingQuestion {
    pub(crate) fn new(asker: Option<SessionId>, question: Question) -> Self {
        PendingQuestion { asker, question }
    }

    /// The command that answers it.
    pub(crate) fn answer_command(&self, answer: Answer) -> Command {
        let command = Command::Answer {
            question: self.question.id,
            answer,
        };
        match self.asker {
            Some(session) => Command::Subtask {
                session,
                command: Box::new(command),
            },
            None => command,
        }
    }
}
