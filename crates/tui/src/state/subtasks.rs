//! State of subtasks, from their events.

use session::{Body, Event, ItemDelta, ItemStart, SessionId, Totals};
use std::collections::VecDeque;

/// Maximum lines per subtask.
const MAX_LINES: usize = 200;
/// Maximum subtasks; the oldest finished ones are removed first.
const MAX_SUBTASKS: usize = 100;

/// A subtask.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SubtaskState {
    pub(crate) session: SessionId,
    pub(crate) title: String,
    /// Whether its turn is running.
    pub(crate) working: bool,
    pub(crate) totals: Totals,
    /// Its progress, oldest first.
    pub(crate) lines: VecDeque<String>,
    /// Streaming text.
    partial_line: String,
}

/// Applies an event of a subtask or of its subtasks.
pub(crate) fn handle_event(subtasks: &mut Vec<SubtaskState>, session: SessionId, event: &Event) {
    if let Event::Subtask { session, event, .. } = event {
        return handle_event(subtasks, *session, event);
    }
    if let Some(subtask) = subtasks.iter_mut().find(|subtask| subtask.session == session) {
        return subtask.apply_event(event);
    }
    if subtasks.len() >= MAX_SUBTASKS
        && let Some(done) = subtasks.iter().position(|subtask| !subtask.working)
    {
        subtasks.remove(done);
    }
    let mut subtask = SubtaskState {
        session,
        title: String::new(),
        working: true,
        totals: Totals::default(),
        lines: VecDeque::new(),
        partial_line: String::new(),
    };
    subtask.apply_event(event);
    subtasks.push(subtask);
}

impl SubtaskState {
    fn apply_event(&mut self, event: &Event) {
        match event {
            Event::TurnStarted => self.working = true,
            Event::TurnFinished { .. } => self.working = false,
            Event::TitleChanged { title } => self.title.clone_from(title),
            Event::Usage { totals, .. } => self.totals = *totals,
            Event::ItemStarted {
                kind: ItemStart::Result { title, .. },
                ..
            } => self.push_line(format!("▸ {title}")),
            Event::ItemDelta {
                delta: ItemDelta::Text(text),
                ..
            } => self.append_text(text),
            Event::ItemFinished { item } => match &item.body {
                Body::Prompt { message } => {
                    let text = session::user_text(message);
                    if self.title.is_empty() {
                        self.title = crate::format::first_line(&text);
                    }
                    self.push_line(format!("› {}", crate::format::first_line(&text)));
                }
                Body::Reply { .. } => self.append_text("\n"),
                _ => {}
            },
            Event::Notice { text, .. } => self.push_line(text.clone()),
            Event::Retrying { error, .. } => self.push_line(format!("retrying: {error}")),
            Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::Rewound { .. }
            | Event::Subtask { .. } => {}
        }
    }

    fn append_text(&mut self, text: &str) {
        self.partial_line.push_str(text);
        while let Some((line, rest)) = self.partial_line.split_once('\n') {
            let (line, rest) = (line.trim_end().to_owned(), rest.to_owned());
            self.partial_line = rest;
            if !line.is_empty() {
                self.push_line(line);
            }
        }
    }

    fn push_line(&mut self, line: String) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}
