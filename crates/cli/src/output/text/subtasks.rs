//! What is shown of subtasks: a line for each tool call, and whatever the person should know.

use super::super::call::Call;
use super::super::words::{line, took};
use super::Text;
use session::{Body, Event, Level, SessionId, Status, Todo};

impl Text {
    /// Tells of an event of a subtask.
    pub(super) fn subtask(&mut self, session: SessionId, event: &Event) {
        let mark = self.mark(session);
        match event {
            Event::ItemFinished { item } => match &item.body {
                Body::Result {
                    message,
                    tool,
                    title,
                    summary,
                    millis,
                    changes,
                    ..
                } => {
                    self.done.changed(changes);
                    let call = Call {
                        tool,
                        title,
                        summary: summary.as_deref(),
                        parts: &message.parts,
                        millis: *millis,
                        failed: item.failed(),
                    };
                    let columns = (self.style.columns)().saturating_sub(mark.chars().count());
                    let shown = call.render(self.style.err, columns);
                    self.say(&format!("{}{shown}", self.style.err.dim(mark)));
                }
                Body::Prompt { message } => {
                    let room = (self.style.columns)().saturating_sub(mark.chars().count() + 1);
                    let words = line(&session::spoken(message), room);
                    self.say(&self.style.err.dim(format!("{mark}{words}")));
                }
                Body::Reply { .. }
                | Body::Summary { .. }
                | Body::Notice { .. }
                | Body::Mode { .. }
                | Body::Wake { .. }
                | Body::Todos { .. }
                | Body::Panels { .. }
                | Body::Restored { .. }
                | Body::Review { .. } => {}
            },
            Event::Asked { question } => self.question(question, &mark),
            Event::Retrying { error, attempt, delay } => {
                let text = format!("{mark}↻ {error}; attempt {attempt} in {}", took(*delay));
                self.say(&self.style.err.yellow(text));
            }
            Event::Notice { level, text } => match level {
                Level::Info => self.say(&self.style.err.dim(format!("{mark}note: {text}"))),
                Level::Warning => self.say(&self.style.err.yellow(format!("{mark}warning: {text}"))),
            },
            Event::Subtask { session, event, .. } => self.subtask(*session, event),
            // What it takes is told by its parent too.
            Event::Usage { .. }
            | Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::Answered { .. }
            | Event::Titled { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    /// What stands before the lines of a subtask, which are counted in the order of their first words.
    fn mark(&mut self, session: SessionId) -> String {
        let known = self.subtasks.iter().position(|known| *known == session);
        let place = known.unwrap_or_else(|| {
            self.subtasks.push(session);
            self.subtasks.len() - 1
        });
        format!("  {}› ", place + 1)
    }
}

/// Things to do, in one line: how many are done, and what is under way.
pub(super) fn todos(list: &[Todo]) -> String {
    let done = list.iter().filter(|todo| !todo.status.is_open()).count();
    let current = list.iter().find(|todo| todo.status == Status::InProgress);
    let current = current
        .map(|todo| format!(" · {}", line(&todo.text, 60)))
        .unwrap_or_default();
    format!("☰ {done}/{} done{current}", list.len())
}
