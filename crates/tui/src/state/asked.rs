//! A question that waits for the person.

use session::{Answer, Command, Question, SessionId};

/// A question that waits for the person, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The subtask that asks; the session itself where absent.
    pub(crate) asker: Option<SessionId>,
    /// The question.
    pub(crate) question: Question,
}

impl Asked {
    /// A question of the session, or of a subtask.
    pub(crate) fn new(asker: Option<SessionId>, question: Question) -> Self {
        Asked { asker, question }
    }

    /// The command that answers it.
    pub(crate) fn answer(&self, answer: Answer) -> Command {
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
