//! What is known of subtasks, from what they tell.

use session::{Body, Delta, Event, ItemKind, SessionId, Totals};
use std::collections::VecDeque;

/// The most lines that are kept of what a subtask does.
const LINES: usize = 200;
/// The most subtasks that are kept; the oldest that are done go first.
const MOST: usize = 100;

/// A subtask.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subtask {
    /// Its session.
    pub(crate) session: SessionId,
    /// What it is about.
    pub(crate) title: String,
    /// Whether it works.
    pub(crate) working: bool,
    /// Its tokens and money.
    pub(crate) totals: Totals,
    /// What it did, oldest first.
    pub(crate) lines: VecDeque<String>,
    /// Text that still streams.
    growing: String,
}

/// Something happened in a subtask, or in one of its own.
pub(crate) fn hear(subtasks: &mut Vec<Subtask>, session: SessionId, event: &Event) {
    if let Event::Subtask { session, event, .. } = event {
        return hear(subtasks, *session, event);
    }
    if let Some(subtask) = subtasks.iter_mut().find(|subtask| subtask.session == session) {
        return subtask.hear(event);
    }
    if subtasks.len() >= MOST
        && let Some(done) = subtasks.iter().position(|subtask| !subtask.working)
    {
        subtasks.remove(done);
    }
    let mut subtask = Subtask {
        session,
        title: String::new(),
        working: true,
        totals: Totals::default(),
        lines: VecDeque::new(),
        growing: String::new(),
    };
    subtask.hear(event);
    subtasks.push(subtask);
}

impl Subtask {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TurnStarted => self.working = true,
            Event::TurnFinished { .. } => self.working = false,
            Event::Titled { title } => self.title.clone_from(title),
            Event::Usage { totals, .. } => self.totals = *totals,
            Event::ItemStarted {
                kind: ItemKind::Result { title, .. },
                ..
            } => self.line(format!("▸ {title}")),
            Event::ItemDelta {
                delta: Delta::Text(text),
                ..
            } => self.grow(text),
            Event::ItemFinished { item } => match &item.body {
                Body::Prompt { message } => {
                    let text = session::spoken(message);
                    if self.title.is_empty() {
                        self.title = crate::words::first_line(&text);
                    }
                    self.line(format!("› {}", crate::words::first_line(&text)));
                }
                Body::Reply { .. } => self.grow("\n"),
                _ => {}
            },
            Event::Notice { text, .. } => self.line(text.clone()),
            Event::Retrying { error, .. } => self.line(format!("trying again: {error}")),
            Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Subtask { .. } => {}
        }
    }

    fn grow(&mut self, text: &str) {
        self.growing.push_str(text);
        while let Some((line, rest)) = self.growing.split_once('\n') {
            let (line, rest) = (line.trim_end().to_owned(), rest.to_owned());
            self.growing = rest;
            if !line.is_empty() {
                self.line(line);
            }
        }
    }

    fn line(&mut self, line: String) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}
