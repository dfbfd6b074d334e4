//! An entry of the conversation and its rendering.

use super::ToolCard;
use super::descriptions;
use crate::format::hidden_lines;
use crate::markdown::{self, MarkdownBlock, RenderContext, code_rows};
use crate::row::{StyledRow, sanitise, wrap};
use crate::view::ViewContext;
use model::{Media, Message, Part};
use session::{Item, NoticeLevel, Todo, TodoStatus};
use std::sync::Arc;
use std::time::Duration;

/// An entry of the conversation.
pub(crate) enum ConversationEntry {
    /// A user prompt.
    Prompt(Arc<Message>),
    /// A block of the model's reply.
    Text(MarkdownBlock),
    /// A complete text part of a reply item.
    Part(Arc<Item>, usize),
    /// The model's thinking.
    Thinking {
        text: Arc<str>,
        /// Duration, if known.
        took: Option<Duration>,
        /// Whether it is complete.
        done: bool,
    },
    /// A tool call.
    Card(Box<ToolCard>),
    /// The todo list.
    Todos(Vec<Todo>),
    /// A notice for the user.
    Notice(NoticeLevel, String),
}

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryDetail {
    /// A summary.
    Compact,
    /// Everything.
    Full,
}

/// Visible lines of a folded prompt.
const PROMPT_LINES: usize = 20;

impl ConversationEntry {
    /// Whether it no longer changes and can be printed.
    pub(super) fn is_finished(&mut self, cx: &ViewContext<'_>) -> bool {
        match self {
            ConversationEntry::Card(card) => card.is_finished(cx),
            ConversationEntry::Thinking { done, .. } => *done,
            ConversationEntry::Prompt(_)
            | ConversationEntry::Text(_)
            | ConversationEntry::Part(..)
            | ConversationEntry::Todos(_)
            | ConversationEntry::Notice(..) => true,
        }
    }

    /// Whether it is a call that the model is still writing.
    pub(super) fn is_being_written(&self) -> bool {
        matches!(self, ConversationEntry::Card(card) if card.is_being_written())
    }

    /// Whether a blank row separates it from the entry before.
    pub(crate) fn wants_gap_after(&self, other: &ConversationEntry) -> bool {
        match (other, self) {
            (ConversationEntry::Card(one), ConversationEntry::Card(two)) => one.has_body() || two.has_body(),
            (ConversationEntry::Text(MarkdownBlock::Item(_)), ConversationEntry::Text(MarkdownBlock::Item(_))) => false,
            (ConversationEntry::Text(_), ConversationEntry::Text(MarkdownBlock::Code { first: false, .. })) => false,
            (ConversationEntry::Notice(..), ConversationEntry::Notice(..)) => false,
            _ => true,
        }
    }

    /// Whether it is a prompt, for jumping between turns.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self, ConversationEntry::Prompt(_))
    }

    /// The text for copying.
    pub(crate) fn copy_text(&self) -> String {
        match self {
            ConversationEntry::Prompt(message) => session::user_text(message),
            ConversationEntry::Text(
                MarkdownBlock::Text(text) | MarkdownBlock::Item(text) | MarkdownBlock::Code { text, .. },
            ) => text.clone(),
            ConversationEntry::Part(item, index) => part(item, *index).unwrap_or_default().into(),
            ConversationEntry::Thinking { text, .. } => text.to_string(),
            ConversationEntry::Card(card) => card.copy_text(),
            ConversationEntry::Todos(list) => list.iter().map(|todo| format!("{}\n", todo.text)).collect(),
            ConversationEntry::Notice(_, text) => text.clone(),
        }
    }

    /// Renders it in `width` columns.
    pub(crate) fn rows(&self, width: usize, detail: EntryDetail, context: RenderContext<'_>) -> Vec<StyledRow> {
        #[cfg(test)]
        super::RENDERED.with(|rendered| rendered.set(rendered.get() + 1));
        let theme = context.theme;
        match self {
            ConversationEntry::Prompt(message) => prompt(message, width, detail, context),
            ConversationEntry::Text(MarkdownBlock::Text(text) | MarkdownBlock::Item(text)) => {
                markdown::rows(text, width, context)
            }
            ConversationEntry::Text(MarkdownBlock::Code {
                language, before, text, ..
            }) => code_rows(language, before, text, width, context),
            ConversationEntry::Part(item, index) => {
                markdown::rows(part(item, *index).unwrap_or_default(), width, context)
            }
            ConversationEntry::Thinking { text, took, done } => thinking(text, *took, *done, width, detail, context),
            ConversationEntry::Card(card) => card.rows(width, detail, context),
            ConversationEntry::Todos(list) => todos(list, width, context),
            ConversationEntry::Notice(level, text) => {
                let (mark, style) = match level {
                    NoticeLevel::Info => ("· ", theme.dim),
                    NoticeLevel::Warning => ("! ", theme.warn),
                };
                let lines = sanitise(text);
                let rows = lines
                    .lines()
                    .enumerate()
                    .map(|(index, line)| StyledRow::new(if index == 0 { mark } else { "  " }, style).push(line, style));
                rows.flat_map(|row| wrap(&row, width, &StyledRow::new("  ", style)))
                    .collect()
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

fn prompt(message: &Message, width: usize, detail: EntryDetail, context: RenderContext<'_>) -> Vec<StyledRow> {
    let theme = context.theme;
    let text = sanitise(session::user_text(message).trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let missing = match detail {
        EntryDetail::Compact => lines.len().saturating_sub(PROMPT_LINES),
        EntryDetail::Full => 0,
    };
    // A sentence before or after a long paste stays visible.
    let hidden = PROMPT_LINES / 2..PROMPT_LINES / 2 + missing;
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if missing > 0 && index == hidden.start {
            let text = format!("  {}", hidden_lines(missing, &context.details_key()));
            rows.push(StyledRow::new(text, theme.dim));
        }
        if hidden.contains(&index) {
            continue;
        }
        let mark = if index == 0 { "› " } else { "  " };
        let row = StyledRow::new(mark, theme.accent).push(*line, theme.person);
        rows.extend(wrap(&row, width, &StyledRow::new("  ", theme.person)));
    }
    for part in &message.parts {
        match part {
            Part::Media(media) => rows.push(attachment(media, width, context)),
            Part::Text { .. } => rows.extend(session::shell_command(part).map(|line| {
                let text = format!("  ⎘ output of `{}`", sanitise(line));
                StyledRow::new(text, theme.dim).truncate(width)
            })),
            Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => {}
        }
    }
    rows
}

/// A row for an image or a document.
pub(super) fn attachment(media: &Media, width: usize, context: RenderContext<'_>) -> StyledRow {
    let name = match &media.name {
        Some(name) => format!("{} · ", sanitise(name)),
        None => String::new(),
    };
    let text = format!(
        "  ⎘ {name}{} · {}",
        media.mime,
        descriptions::byte_size(media.data.len())
    );
    StyledRow::new(text, context.theme.dim)
        .truncate(width)
        .with_image(media)
}

fn thinking(
    text: &str,
    took: Option<Duration>,
    done: bool,
    width: usize,
    detail: EntryDetail,
    context: RenderContext<'_>,
) -> Vec<StyledRow> {
    let quiet = context.theme.quiet;
    let text = sanitise(text.trim());
    if detail == EntryDetail::Full {
        let rows = text.lines().map(|line| StyledRow::new("∴ ", quiet).push(line, quiet));
        return rows
            .flat_map(|row| wrap(&row, width, &StyledRow::new("  ", quiet)))
            .collect();
    }
    let word = match (done, took) {
        (false, _) => "thinking".to_string(),
        (true, Some(took)) if took.as_millis() >= 500 => format!("thought for {}", descriptions::elapsed(took)),
        (true, _) => "thought".to_string(),
    };
    // Shows the current thought while thinking, and the first one afterwards.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = if done { lines.next() } else { lines.next_back() };
    let line: String = line.unwrap_or_default().replace("**", "");
    let row = StyledRow::new(format!("∴ {word}"), quiet);
    let row = if line.is_empty() {
        row
    } else {
        row.push(format!(": {line}"), quiet)
    };
    vec![row.truncate(width)]
}

fn todos(list: &[Todo], width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let theme = context.theme;
    let row = |todo: &Todo| {
        let (mark, style) = match todo.status {
            TodoStatus::Pending => ("☐ ", theme.text),
            TodoStatus::InProgress => ("▸ ", theme.accent),
            TodoStatus::Completed => ("☑ ", theme.dim),
            TodoStatus::Cancelled => ("☒ ", theme.dim),
        };
        StyledRow::new("  ", style)
            .push(mark, style)
            .push(sanitise(&todo.text).replace('\n', " "), style)
    };
    list.iter()
        .flat_map(|todo| wrap(&row(todo), width, &StyledRow::new("    ", theme.text)))
        .collect()
}
