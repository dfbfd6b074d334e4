//! Compaction: when it is needed, what is replaced, how a model is asked for notes, and the message that replaces the
//! conversation.
//!
//! The notes are not trusted to be complete: [`CompactionCut::message`] adds the user's requests and the changed files
//! from the log, and [`CompactionCut::validate`] rejects notes that do not make the conversation smaller.

mod sections;

use crate::{LayoutCache, RequestFrame, assemble, elided_items};
use model::{Block, Effort, Message, Part, PartOrigin, Request, Role};
use session::{Body, Item, ItemId, ItemKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How full the context window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextPressure {
    /// Enough free context.
    Low,
    /// Notes should be prepared in the background.
    Rising,
    /// Compaction is required before the next request.
    High,
}

/// From this percentage on, notes are prepared.
const PREPARE_PERCENT: u64 = 75;
/// Windows above this size count as large.
const LARGE_WINDOW: u64 = 200_000;
/// Tokens that must remain free in a large window.
const LARGE_REST: u64 = 20_000;
/// Percentage that must remain free in other windows.
const SMALL_REST_PERCENT: u64 = 20;

/// Returns how full a window of this size is with this many tokens.
pub fn pressure_for_window(window: u64, tokens: u64) -> ContextPressure {
    if window == 0 {
        return ContextPressure::Low;
    }
    let rest = if window > LARGE_WINDOW {
        LARGE_REST
    } else {
        window * SMALL_REST_PERCENT / 100
    };
    if window.saturating_sub(tokens) <= rest {
        ContextPressure::High
    } else if tokens * 100 >= window * PREPARE_PERCENT {
        ContextPressure::Rising
    } else {
        ContextPressure::Low
    }
}

/// How much of the end of a conversation is kept unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRecent {
    /// The last prompt if it was not acted on yet, otherwise the last calls and their results.
    LastRound,
    /// Nothing, because even the end is too long.
    Nothing,
}

/// Where a conversation is cut: everything before is replaced by notes.
#[derive(Debug, Clone)]
pub struct CompactionCut {
    /// The replaced items, oldest first, including an earlier summary.
    replaced: Vec<Arc<Item>>,
    /// Everything before the cut, visible to the model or not.
    history: Vec<Arc<Item>>,
    /// The first item that is kept.
    kept: Option<ItemId>,
}

/// Why notes cannot replace the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotesError {
    /// The notes are empty.
    #[error("the notes are empty")]
    Empty,
    /// The notes are not smaller than what they replace.
    #[error("the notes are not smaller than what they replace")]
    TooLong,
    /// The notes have none of the requested sections: neither the task nor the state, decisions and files.
    #[error("the notes do not have the requested sections")]
    MissingSections,
}

/// Maximum size of the notes, in percent of what they replace.
const MAX_SUMMARY_PERCENT: usize = 80;
/// Minimum size of a conversation worth replacing.
const MIN_REPLACED_BYTES: usize = 4_000;
/// Prompts are quoted verbatim, newest first, up to this many bytes.
const PROMPTS_BYTES: usize = 8_000;
/// Maximum bytes of one quoted prompt.
const PROMPT_BYTES: usize = 4_000;
/// Maximum number of files that are listed.
const MAX_FILES: usize = 60;
/// Number of recent steps listed in notes written without a model.
const MAX_STEPS: usize = 60;
/// Bytes of the last reply kept in notes written without a model.
const LAST_TEXT_BYTES: usize = 4_000;
/// Bytes of the last prompt that are kept if everything else is too long.
const MINIMAL_BYTES: usize = 2_000;
/// Maximum bytes of one call or result in a log.
const LOG_ENTRY: usize = 1_500;

impl CompactionCut {
    /// Returns where to cut, or `None` if there is too little to replace.
    pub fn at(items: &[Arc<Item>], keep: KeepRecent) -> Option<CompactionCut> {
        let seen: Vec<Arc<Item>> = elided_items(items)
            .into_iter()
            .filter(|item| !item.messages().is_empty())
            .collect();
        let end = match keep {
            KeepRecent::Nothing => seen.len(),
            KeepRecent::LastRound => seen.iter().rposition(|item| starts_round(item))?,
        };
        let replaced: Vec<Arc<Item>> = seen[..end].to_vec();
        let is_summary_alone = replaced.len() == 1 && matches!(replaced[0].body, Body::Summary { .. });
        let bytes: usize = replaced.iter().map(|item| item_bytes(item)).sum();
        if is_summary_alone || bytes < MIN_REPLACED_BYTES {
            return None;
        }
        let kept = seen.get(end).map(|item| item.id);
        let before = match kept {
            Some(kept) => items.iter().position(|item| item.id == kept)?,
            None => items.len(),
        };
        Some(CompactionCut {
            replaced,
            history: items[..before].to_vec(),
            kept,
        })
    }

    /// The first item that is kept. Notes remain usable if the conversation continues after it.
    pub fn kept(&self) -> Option<ItemId> {
        self.kept
    }

    /// Estimated bytes that are replaced.
    pub fn bytes(&self) -> usize {
        self.replaced.iter().map(|item| item_bytes(item)).sum()
    }

    /// Builds the request that asks the session's model for notes. It begins like the other requests of the session and
    /// keeps the tool choice, so that the cache applies.
    pub fn request(&self, frame: &RequestFrame, instructions: Option<&str>) -> Request {
        let mut request = assemble(frame, &self.history, &mut LayoutCache::default()).request;
        request.output_schema = None;
        Arc::make_mut(&mut request.messages).push(Arc::new(Message::user(ask(instructions))));
        request
    }

    /// Builds a request that asks any model for notes, from a log cut to this many bytes.
    pub fn log_request(&self, bytes: usize, instructions: Option<&str>) -> Request {
        Request {
            system: vec![include_str!("../templates/compact-log.md").trim_end().into()],
            messages: vec![Arc::new(Message::user(format!(
                "<log>\n{}</log>\n\n{}",
                self.log(bytes),
                ask(instructions)
            )))]
            .into(),
            effort: Some(Effort::Low),
            ..Request::default()
        }
    }

    /// Checks whether notes can replace the conversation.
    pub fn validate(&self, notes: &str) -> Result<(), NotesError> {
        if notes.trim().is_empty() {
            return Err(NotesError::Empty);
        }
        if notes.len() * 100 > self.bytes() * MAX_SUMMARY_PERCENT {
            return Err(NotesError::TooLong);
        }
        match sections::has_sections(notes) {
            true => Ok(()),
            false => Err(NotesError::MissingSections),
        }
    }

    /// The message that replaces the conversation: the notes, and facts from the log.
    pub fn message(&self, notes: &str) -> Message {
        let mut text =
            String::from("<summary>\nThe conversation up to here was replaced by these notes; continue from them.\n\n");
        text.push_str(notes.trim());
        text.push_str("\n</summary>");
        self.facts(&mut text);
        summary_message(text)
    }

    /// The replacement if no model could write notes: the steps that were taken.
    pub fn message_without_model(&self) -> Message {
        self.message(&self.plain_notes())
    }

    /// The replacement if even that is too long: the last prompt.
    pub fn minimal_message(&self) -> Message {
        let last = self.history.iter().rev().find_map(|item| item.prompt_text());
        let last = start_of(last.unwrap_or_default().trim(), MINIMAL_BYTES);
        summary_message(format!(
            "<summary>\nThe conversation up to here was omitted because it exceeds the budget. Look at the files to see what was \
             done.\n</summary>\n\n<requests>\nThe last message of the user:\n- {}\n</requests>",
            last.replace('\n', "\n  ")
        ))
    }

    fn plain_notes(&self) -> String {
        let mut steps: Vec<String> = Vec::new();
        let mut last_words = String::new();
        let mut before = None;
        for item in &self.replaced {
            match &item.body {
                Body::Result {
                    tool, title, summary, ..
                } => steps.push(match summary {
                    Some(summary) => format!("- {tool} {}: {summary}", line(title)),
                    None => format!("- {tool} {}", line(title)),
                }),
                Body::Reply { message, .. } => {
                    let content = message.text();
                    if !content.trim().is_empty() {
                        last_words = content;
                    }
                }
                Body::Summary { message, .. } => before = Some(message.text()),
                Body::Restored { message, .. }
                | Body::Review {
                    message: Some(message), ..
                } => steps.push(format!("- {}", line(&message.text()))),
                _ => {}
            }
        }
        let mut notes = String::new();
        if let Some(before) = before {
            notes.push_str(&format!("Earlier notes:\n{}\n\n", end_of(&before, LAST_TEXT_BYTES)));
        }
        let left_out = steps.len().saturating_sub(MAX_STEPS);
        if !steps.is_empty() {
            notes.push_str(&format!("Steps taken ({left_out} earlier steps omitted):\n"));
            for step in &steps[left_out..] {
                notes.push_str(step);
                notes.push('\n');
            }
        }
        if !last_words.is_empty() {
            notes.push_str(&format!("\nLast reply:\n{}\n", end_of(&last_words, LAST_TEXT_BYTES)));
        }
        notes
    }

    /// Appends the user's requests and the changed files, taken from the log.
    fn facts(&self, text: &mut String) {
        let mut prompts: Vec<String> = Vec::new();
        let mut budget = PROMPTS_BYTES;
        let mut left_out = 0;
        let mut files = BTreeSet::new();
        let mut todos = None;
        for item in self.history.iter().rev() {
            match &item.body {
                Body::Prompt { message } => {
                    // Attached notes are delivered again if they still apply.
                    let content = session::user_text(message);
                    let content = start_of(content.trim(), PROMPT_BYTES.min(budget));
                    match content.is_empty() {
                        true => left_out += 1,
                        false => {
                            budget -= content.len().min(budget);
                            prompts.push(content);
                        }
                    }
                }
                Body::Result { changes, .. } => files.extend(changes.iter().map(|change| &change.path)),
                Body::Todos { list } => {
                    todos.get_or_insert(list);
                }
                _ => {}
            }
        }
        if let Some(list) = todos.filter(|list| list.iter().any(|todo| todo.status.is_open())) {
            let lines = list
                .iter()
                .map(|todo| format!("\n- {}: {}", todo.status.name(), todo.text));
            text.push_str(&format!("\n\n<todo_list>{}\n</todo_list>", lines.collect::<String>()));
        }
        if !prompts.is_empty() {
            text.push_str("\n\n<requests>\nMessages of the user, verbatim, oldest first");
            if left_out > 0 {
                text.push_str(&format!(" ({left_out} older messages omitted)"));
            }
            text.push(':');
            for prompt in prompts.iter().rev() {
                text.push_str(&format!("\n- {}", prompt.replace('\n', "\n  ")));
            }
            text.push_str("\n</requests>");
        }
        if !files.is_empty() {
            text.push_str("\n\nFiles changed so far: ");
            let named: Vec<String> = files
                .iter()
                .take(MAX_FILES)
                .map(|path| path.display().to_string())
                .collect();
            text.push_str(&named.join(", "));
            if files.len() > MAX_FILES {
                text.push_str(&format!(" and {} more", files.len() - MAX_FILES));
            }
        }
    }

    /// The replaced part as plain text. The end is more important than the beginning.
    fn log(&self, bytes: usize) -> String {
        let mut entries: Vec<String> = Vec::new();
        let mut budget = bytes;
        let mut left_out = 0_usize;
        for item in self.replaced.iter().rev() {
            let entry = entry(item);
            if entry.len() > budget {
                left_out += 1;
                continue;
            }
            budget -= entry.len();
            entries.push(entry);
        }
        let mut log = String::new();
        if left_out > 0 {
            log.push_str(&format!("({left_out} entries omitted because of their length)\n"));
        }
        entries.iter().rev().for_each(|entry| log.push_str(entry));
        log
    }
}

fn ask(instructions: Option<&str>) -> String {
    let mut text = include_str!("../templates/compact.md").trim_end().to_owned();
    if let Some(instructions) = instructions.filter(|text| !text.trim().is_empty()) {
        text.push_str(&format!(
            "\n\nAdditional instructions of the user: {}",
            instructions.trim()
        ));
    }
    text
}

/// The message of a `Summary` item.
fn summary_message(text: String) -> Message {
    Message {
        role: Role::User,
        parts: vec![Part::with_origin(text, PartOrigin::Summary)],
    }
}

/// Whether the kept part may begin here: at a prompt, or at a reply before its results.
fn starts_round(item: &Item) -> bool {
    item.kind().starts_turn() || item.kind() == ItemKind::Reply
}

/// Estimated bytes of an item in a request.
fn item_bytes(item: &Item) -> usize {
    item.messages().iter().map(|message| message_bytes(message)).sum()
}

/// Estimated bytes of a message in a request. Media count by their token cost, not by their size.
pub fn message_bytes(message: &Message) -> usize {
    /// Approximate cost of an image, at four bytes per token.
    const MEDIA: usize = 6_000;
    message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
            Part::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
            Part::ToolResult { content, .. } => content
                .iter()
                .map(|block| match block {
                    Block::Text { text } => text.len(),
                    Block::Media(_) => MEDIA,
                })
                .sum(),
            Part::Media(_) => MEDIA,
        })
        .sum()
}

/// Formats one item for the log.
fn entry(item: &Item) -> String {
    let Some(message) = item.message() else {
        return String::new();
    };
    let speaker = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut text = String::new();
    for part in &message.parts {
        match part {
            Part::Text { text: content, .. } => text.push_str(&format!("[{speaker}] {}\n", middle_cut(content))),
            Part::ToolCall { name, input, .. } => {
                text.push_str(&format!("[call] {name} {}\n", middle_cut(&input.to_string())));
            }
            Part::ToolResult { name, content, .. } => {
                let content: Vec<&str> = content
                    .iter()
                    .filter_map(|block| match block {
                        Block::Text { text } => Some(text.as_str()),
                        Block::Media(_) => None,
                    })
                    .collect();
                text.push_str(&format!("[result of {name}] {}\n", middle_cut(&content.join("\n"))));
            }
            Part::Thinking { .. } | Part::Media(_) => {}
        }
    }
    text
}

/// Cuts the middle out of a long text and notes how much is missing.
fn middle_cut(text: &str) -> String {
    if text.len() <= LOG_ENTRY {
        return text.to_owned();
    }
    let (head, tail) = (start_of(text, LOG_ENTRY * 2 / 5), end_of(text, LOG_ENTRY * 3 / 5));
    format!(
        "{head} … ({} bytes omitted) … {tail}",
        text.len() - head.len() - tail.len()
    )
}

fn start_of(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}

fn end_of(text: &str, bytes: usize) -> String {
    text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..].to_owned()
}

fn line(title: &str) -> String {
    let first = title.lines().next().unwrap_or_default();
    start_of(first, 160)
}

#[cfg(test)]
mod tests;
