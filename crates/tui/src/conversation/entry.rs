//! One entry of the conversation and how it looks.

use super::Card;
use super::words;
use crate::markdown::{self, Block, Look, code_rows};
use crate::row::{Row, tame, wrap};
use crate::view::Cx;
use model::{Media, Message, Part};
use session::{Item, Level, Status, Todo};
use std::sync::Arc;
use std::time::Duration;

/// One entry of the conversation.
pub(crate) enum Entry {
    /// The person said something.
    Prompt(Arc<Message>),
    /// A block of the model's reply.
    Text(Block),
    /// A whole text of the model's reply: the part of an item.
    Part(Arc<Item>, usize),
    /// The model thought.
    Thinking {
        /// What it thought.
        text: Arc<str>,
        /// For how long, where that is known.
        took: Option<Duration>,
        /// Whether it is over.
        done: bool,
    },
    /// A tool was called.
    Card(Box<Card>),
    /// The list of things to do.
    Todos(Vec<Todo>),
    /// Something that the person should know.
    Notice(Level, String),
}

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// What matters.
    Compact,
    /// Everything.
    Open,
}

/// So many lines of a prompt are shown before it is folded.
const PROMPT: usize = 20;

impl Entry {
    /// Whether it no longer changes and can be put into the terminal's history.
    pub(super) fn is_finished(&mut self, cx: &Cx<'_>) -> bool {
        match self {
            Entry::Card(card) => card.is_finished(cx),
            Entry::Thinking { done, .. } => *done,
            Entry::Prompt(_) | Entry::Text(_) | Entry::Part(..) | Entry::Todos(_) | Entry::Notice(..) => true,
        }
    }

    /// Whether it is a call that was only written.
    pub(super) fn is_written_only(&self) -> bool {
        matches!(self, Entry::Card(card) if card.is_written_only())
    }

    /// Whether a blank row stands between the other one and this.
    pub(crate) fn wants_gap_after(&self, other: &Entry) -> bool {
        match (other, self) {
            (Entry::Card(one), Entry::Card(two)) => one.is_tall() || two.is_tall(),
            (Entry::Text(Block::Item(_)), Entry::Text(Block::Item(_))) => false,
            (Entry::Text(_), Entry::Text(Block::Code { first: false, .. })) => false,
            (Entry::Notice(..), Entry::Notice(..)) => false,
            _ => true,
        }
    }

    /// Whether the person began something with it: people jump between those.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self, Entry::Prompt(_))
    }

    /// What it says, to be copied.
    pub(crate) fn copied(&self) -> String {
        match self {
            Entry::Prompt(message) => session::spoken(message),
            Entry::Text(Block::Text(text) | Block::Item(text) | Block::Code { text, .. }) => text.clone(),
            Entry::Part(item, index) => part(item, *index).unwrap_or_default().into(),
            Entry::Thinking { text, .. } => text.to_string(),
            Entry::Card(card) => card.copied(),
            Entry::Todos(list) => list.iter().map(|todo| format!("{}\n", todo.text)).collect(),
            Entry::Notice(_, text) => text.clone(),
        }
    }

    /// Its rows in so many columns.
    pub(crate) fn rows(&self, width: usize, fold: Fold, look: Look<'_>) -> Vec<Row> {
        #[cfg(test)]
        super::RENDERED.with(|rendered| rendered.set(rendered.get() + 1));
        let theme = look.theme;
        match self {
            Entry::Prompt(message) => prompt(message, width, fold, look),
            Entry::Text(Block::Text(text) | Block::Item(text)) => markdown::rows(text, width, look),
            Entry::Text(Block::Code {
                language, before, text, ..
            }) => code_rows(language, before, text, width, look),
            Entry::Part(item, index) => markdown::rows(part(item, *index).unwrap_or_default(), width, look),
            Entry::Thinking { text, took, done } => thinking(text, *took, *done, width, fold, look),
            Entry::Card(card) => card.rows(width, fold, look),
            Entry::Todos(list) => todos(list, width, look),
            Entry::Notice(level, text) => {
                let (mark, style) = match level {
                    Level::Info => ("· ", theme.dim),
                    Level::Warning => ("! ", theme.warn),
                };
                let lines = tame(text);
                let rows = lines
                    .lines()
                    .enumerate()
                    .map(|(index, line)| Row::of(if index == 0 { mark } else { "  " }, style).and(line, style));
                rows.flat_map(|row| wrap(&row, width, &Row::of("  ", style))).collect()
            }
        }
    }
}

fn part(item: &Item, index: usize) -> Option<&str> {
    match item.message()?.parts.get(index)? {
        Part::Text { text, .. } | Part::Thinking { text, .. } => Some(text),
        Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    }
}

fn prompt(message: &Message, width: usize, fold: Fold, look: Look<'_>) -> Vec<Row> {
    let theme = look.theme;
    let text = tame(session::spoken(message).trim_end());
    let mut lines: Vec<&str> = text.lines().collect();
    let missing = match fold {
        Fold::Compact => lines.len().saturating_sub(PROMPT),
        Fold::Open => 0,
    };
    lines.truncate(lines.len() - missing);
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mark = if index == 0 { "› " } else { "  " };
        let row = Row::of(mark, theme.accent).and(*line, theme.person);
        rows.extend(wrap(&row, width, &Row::of("  ", theme.person)));
    }
    if missing > 0 {
        rows.push(Row::of(format!("  … {missing} more lines"), theme.dim));
    }
    for part in &message.parts {
        match part {
            Part::Media(media) => rows.push(attachment(media, width, look)),
            Part::Text { text, .. } => rows.extend(session::ran_line(text).map(|line| {
                let text = format!("  ⎘ what `{}` printed", tame(line));
                Row::of(text, theme.dim).cut(width)
            })),
            Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => {}
        }
    }
    rows
}

/// An image or a document that goes with something.
pub(super) fn attachment(media: &Media, width: usize, look: Look<'_>) -> Row {
    let name = match &media.name {
        Some(name) => format!("{} · ", tame(name)),
        None => String::new(),
    };
    let text = format!("  ⎘ {name}{} · {}", media.mime, words::size(media.data.len()));
    Row::of(text, look.theme.dim).cut(width).showing(media)
}

fn thinking(text: &str, took: Option<Duration>, done: bool, width: usize, fold: Fold, look: Look<'_>) -> Vec<Row> {
    let quiet = look.theme.quiet;
    let text = tame(text.trim());
    if fold == Fold::Open {
        let rows = text.lines().map(|line| Row::of("∴ ", quiet).and(line, quiet));
        return rows.flat_map(|row| wrap(&row, width, &Row::of("  ", quiet))).collect();
    }
    let word = match (done, took) {
        (false, _) => "thinking".to_string(),
        (true, Some(took)) if took.as_millis() >= 500 => format!("thought for {}", words::took(took)),
        (true, _) => "thought".to_string(),
    };
    // What it thinks about now while it does, what it began with afterwards.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = if done { lines.next() } else { lines.next_back() };
    let line: String = line.unwrap_or_default().replace("**", "");
    let row = Row::of(format!("∴ {word}"), quiet);
    let row = if line.is_empty() {
        row
    } else {
        row.and(format!(": {line}"), quiet)
    };
    vec![row.cut(width)]
}

fn todos(list: &[Todo], width: usize, look: Look<'_>) -> Vec<Row> {
    let theme = look.theme;
    let row = |todo: &Todo| {
        let (mark, style) = match todo.status {
            Status::Pending => ("☐ ", theme.text),
            Status::InProgress => ("▸ ", theme.accent),
            Status::Completed => ("☑ ", theme.dim),
            Status::Cancelled => ("☒ ", theme.dim),
        };
        Row::of("  ", style)
            .and(mark, style)
            .and(tame(&todo.text).replace('\n', " "), style)
    };
    list.iter()
        .flat_map(|todo| wrap(&row(todo), width, &Row::of("    ", theme.text)))
        .collect()
}
