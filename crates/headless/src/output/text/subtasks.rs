//! Output of subtasks: a line per tool call, and notices.

use super::super::call_line::CallLine;
use super::super::format::{duration, line};
use super::TextWriter;
use session::{Body, Event, NoticeLevel, SessionId, Todo, TodoStatus};
use tui::format::tool_label;

impl TextWriter {
    /// Shows an event of a subtask.
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
                    let call = CallLine {
                        tool: tool_label(tool),
                        title,
                        summary: summary.as_deref(),
                        parts: &message.parts,
                        millis: *millis,
                        failed: item.has_failed(),
                    };
                    let columns = (self.style.columns)().saturating_sub(mark.chars().count());
                    let shown = call.render(self.style.err, columns);
                    self.write_text(&format!("{}{shown}", self.style.err.dim(mark)));
                }
                Body::Prompt { message } => {
                    let room = (self.style.columns)().saturating_sub(mark.chars().count() + 1);
                    let words = line(&session::user_text(message), room);
                    self.write_text(&self.style.err.dim(format!("{mark}{words}")));
                }
                _ => {}
            },
            Event::QuestionAsked { question } => self.question(question, &mark),
            Event::Retrying { error, attempt, delay } => {
                let text = format!("{mark}↻ {error}; attempt {attempt} in {}", duration(*delay));
                self.write_text(&self.style.err.yellow(text));
            }
            Event::Notice { level, text } => match level {
                NoticeLevel::Info => self.write_text(&self.style.err.dim(format!("{mark}note: {text}"))),
                NoticeLevel::Warning => self.write_text(&self.style.err.yellow(format!("{mark}warning: {text}"))),
            },
            Event::Subtask { session, event, .. } => self.subtask(*session, event),
            // Its usage is part of the parent's usage.
            Event::Usage { .. }
            | Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::QuestionAnswered { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    /// The prefix of a subtask's lines; subtasks are numbered in order of their first output.
    fn mark(&mut self, session: SessionId) -> String {
        let known = self.subtasks.iter().position(|known| *known == session);
        let place = known.unwrap_or_else(|| {
            self.subtasks.push(session);
            self.subtasks.len() - 1
        });
        format!("  {}› ", place + 1)
    }
}

/// The todo list in one line: the number of completed entries and the current one.
pub(super) fn todos(list: &[Todo]) -> String {
    let done = list.iter().filter(|todo| !todo.status.is_open()).count();
    let current = list.iter().find(|todo| todo.status == TodoStatus::InProgress);
    let current = current
        .map(|todo| format!(" · {}", line(&todo.text, 60)))
        .unwrap_or_default();
    format!("☰ {done}/{} done{current}", list.len())
}
