//! Makes room in a long conversation: when, what is replaced, how a model is asked for the notes, and what stands in for them.
//!
//! Nothing is taken on trust from the model that writes the notes: what the person asked for and which files were changed is
//! added by [`Cut::message`] from the log itself, and notes that do not make the conversation smaller are refused.

mod shape;

use crate::{Frame, Kept, assemble, folded};
use model::{Block, Effort, Info, Message, Part, Request, Role};
use session::{Body, Item, ItemId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How full a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// There is room.
    Low,
    /// Notes should be prepared, so that nobody has to wait for them.
    Rising,
    /// Room must be made before the next request.
    High,
}

/// From here on, notes are prepared.
const PREPARE_PERCENT: u64 = 75;
/// Windows above this are large.
const LARGE_WINDOW: u64 = 200_000;
/// A large window must have this many tokens left.
const LARGE_REST: u64 = 20_000;
/// Other windows must have this part left.
const SMALL_REST_PERCENT: u64 = 20;

/// How full a model's window is with so many tokens in it. A window that nobody knows is never full.
pub fn pressure(info: &Info, tokens: u64) -> Pressure {
    pressure_in(info.limits.window, tokens)
}

/// How full a window of this size is with so many tokens in it.
pub fn pressure_in(window: u64, tokens: u64) -> Pressure {
    if window == 0 {
        return Pressure::Low;
    }
    let rest = if window > LARGE_WINDOW {
        LARGE_REST
    } else {
        window * SMALL_REST_PERCENT / 100
    };
    if window.saturating_sub(tokens) <= rest {
        Pressure::High
    } else if tokens * 100 >= window * PREPARE_PERCENT {
        Pressure::Rising
    } else {
        Pressure::Low
    }
}

/// How much of the end of a conversation stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What the person said last if nothing was done about it yet, else the last calls and their results.
    LastRound,
    /// Nothing, because even the end is too long.
    Nothing,
}

/// Where a conversation is cut: what comes before is replaced by notes.
#[derive(Debug, Clone)]
pub struct Cut {
    /// What is replaced, oldest first; an earlier summary among it.
    replaced: Vec<Arc<Item>>,
    /// All that ever happened before the cut, seen or not.
    history: Vec<Arc<Item>>,
    /// The first item that stays as it is.
    kept: Option<ItemId>,
}

/// Why notes are not good enough to stand for what they replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There is nothing in them.
    #[error("the notes are empty")]
    Empty,
    /// They would take as much room as what they replace.
    #[error("the notes are not smaller than what they replace")]
    TooLong,
    /// They have none of the sections that were asked for: neither the task nor the state, decisions and files.
    #[error("the notes do not have the sections that were asked for")]
    Shapeless,
}

/// Notes may take this part of what they replace at most.
const MOST_PERCENT: usize = 80;
/// A conversation shorter than this is not worth replacing.
const LEAST_BYTES: usize = 4_000;
/// What the person said is added word for word, the newest first, up to this many bytes.
const PROMPTS_BYTES: usize = 8_000;
/// One prompt takes at most this many bytes of that.
const PROMPT_BYTES: usize = 4_000;
/// At most this many files are named.
const MOST_FILES: usize = 60;
/// Without a model, this many of the last steps are told.
const MOST_STEPS: usize = 60;
/// Without a model, this much of the last thing that the model said is kept.
const LAST_WORDS: usize = 4_000;
/// When everything else is too long, this much of what the person said last is kept.
const BARE_BYTES: usize = 2_000;
/// What one call or result takes in a log at most.
const LOG_ENTRY: usize = 1_500;

impl Cut {
    /// Where to cut; nothing when there is too little to replace.
    pub fn at(items: &[Arc<Item>], keep: Keep) -> Option<Cut> {
        let seen: Vec<Arc<Item>> = folded(items)
            .into_iter()
            .filter(|item| !item.messages().is_empty())
            .collect();
        let end = match keep {
            Keep::Nothing => seen.len(),
            Keep::LastRound => seen.iter().rposition(|item| begins_round(item))?,
        };
        let replaced: Vec<Arc<Item>> = seen[..end].to_vec();
        let is_summary_alone = replaced.len() == 1 && matches!(replaced[0].body, Body::Summary { .. });
        let bytes: usize = replaced.iter().map(|item| weight(item)).sum();
        if is_summary_alone || bytes < LEAST_BYTES {
            return None;
        }
        let kept = seen.get(end).map(|item| item.id);
        let before = match kept {
            Some(kept) => items.iter().position(|item| item.id == kept)?,
            None => items.len(),
        };
        Some(Cut {
            replaced,
            history: items[..before].to_vec(),
            kept,
        })
    }

    /// Everything up to here, to be replaced later although the conversation has gone on since.
    pub fn kept(&self) -> Option<ItemId> {
        self.kept
    }

    /// About how many bytes are replaced.
    pub fn bytes(&self) -> usize {
        self.replaced.iter().map(|item| weight(item)).sum()
    }

    /// Asks the model of the conversation for notes. The request begins like all others and
    /// leaves the choice of tools as it was, so that the cache serves it.
    pub fn request(&self, frame: &Frame, instructions: Option<&str>) -> Request {
        let mut request = assemble(frame, &self.history, &mut Kept::default()).request;
        request.output_schema = None;
        Arc::make_mut(&mut request.messages).push(Arc::new(Message::user(ask(instructions))));
        request
    }

    /// Asks any model for notes, from a log that is cut to so many bytes.
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

    /// Whether notes are fit to stand for what they replace.
    pub fn check(&self, notes: &str) -> Result<(), Unfit> {
        if notes.trim().is_empty() {
            return Err(Unfit::Empty);
        }
        if notes.len() * 100 > self.bytes() * MOST_PERCENT {
            return Err(Unfit::TooLong);
        }
        match shape::is_structured(notes) {
            true => Ok(()),
            false => Err(Unfit::Shapeless),
        }
    }

    /// What stands for the replaced part: the notes, and what the log itself says.
    pub fn message(&self, notes: &str) -> Message {
        let mut text = String::from(
            "<summary>\nThe conversation up to here was replaced by these notes; the work goes on from them.\n\n",
        );
        text.push_str(notes.trim());
        text.push_str("\n</summary>");
        self.facts(&mut text);
        Message::user(text)
    }

    /// What stands for the replaced part when no model could write notes: what was done, step by step.
    pub fn message_without_model(&self) -> Message {
        self.message(&self.plain_notes())
    }

    /// What stands for the replaced part when even that is too long: what the person said last.
    pub fn bare_message(&self) -> Message {
        let last = self.history.iter().rev().find_map(|item| match &item.body {
            Body::Prompt { message } => Some(session::spoken(message)),
            _ => None,
        });
        let last = start_of(last.unwrap_or_default().trim(), BARE_BYTES);
        Message::user(format!(
            "<summary>\nThe conversation up to here was left out, for lack of room. Look at the files to see what was \
             done.\n</summary>\n\n<requests>\nWhat the person said last:\n- {}\n</requests>",
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
                    let said = message.text();
                    if !said.trim().is_empty() {
                        last_words = said;
                    }
                }
                Body::Summary { message, .. } => before = Some(message.text()),
                Body::Restored { message, .. } => steps.push(format!("- {}", line(&message.text()))),
                Body::Prompt { .. }
                | Body::Notice { .. }
                | Body::Mode { .. }
                | Body::Wake { .. }
                | Body::Todos { .. }
                | Body::Panels { .. }
                | Body::Review { .. } => {}
            }
        }
        let mut notes = String::new();
        if let Some(before) = before {
            notes.push_str(&format!("Notes from before:\n{}\n\n", end_of(&before, LAST_WORDS)));
        }
        let left_out = steps.len().saturating_sub(MOST_STEPS);
        if !steps.is_empty() {
            notes.push_str(&format!("What was done ({left_out} earlier steps are left out):\n"));
            for step in &steps[left_out..] {
                notes.push_str(step);
                notes.push('\n');
            }
        }
        if !last_words.is_empty() {
            notes.push_str(&format!(
                "\nThe last that was said:\n{}\n",
                end_of(&last_words, LAST_WORDS)
            ));
        }
        notes
    }

    /// What the person asked for and which files were changed, from the log itself.
    fn facts(&self, text: &mut String) {
        let mut prompts: Vec<String> = Vec::new();
        let mut room = PROMPTS_BYTES;
        let mut left_out = 0;
        let mut files = BTreeSet::new();
        let mut todos = None;
        for item in self.history.iter().rev() {
            match &item.body {
                Body::Prompt { message } => {
                    // What went along with it is told again where it still counts.
                    let said = session::spoken(message);
                    let said = start_of(said.trim(), PROMPT_BYTES.min(room));
                    match said.is_empty() {
                        true => left_out += 1,
                        false => {
                            room -= said.len().min(room);
                            prompts.push(said);
                        }
                    }
                }
                Body::Result { changes, .. } => files.extend(changes.iter().map(|change| &change.path)),
                Body::Todos { list } => {
                    todos.get_or_insert(list);
                }
                Body::Reply { .. }
                | Body::Summary { .. }
                | Body::Notice { .. }
                | Body::Wake { .. }
                | Body::Panels { .. }
                | Body::Mode { .. }
                | Body::Review { .. }
                | Body::Restored { .. } => {}
            }
        }
        if let Some(list) = todos.filter(|list| list.iter().any(|todo| todo.status.is_open())) {
            let lines = list
                .iter()
                .map(|todo| format!("\n- {}: {}", todo.status.word(), todo.text));
            text.push_str(&format!("\n\n<todo_list>{}\n</todo_list>", lines.collect::<String>()));
        }
        if !prompts.is_empty() {
            text.push_str("\n\n<requests>\nWhat the person said, word for word, oldest first");
            if left_out > 0 {
                text.push_str(&format!(" ({left_out} older messages are left out)"));
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
                .take(MOST_FILES)
                .map(|path| path.display().to_string())
                .collect();
            text.push_str(&named.join(", "));
            if files.len() > MOST_FILES {
                text.push_str(&format!(" and {} more", files.len() - MOST_FILES));
            }
        }
    }

    /// The replaced part as plain text, whose end matters more than its beginning.
    fn log(&self, bytes: usize) -> String {
        let mut entries: Vec<String> = Vec::new();
        let mut room = bytes;
        let mut left_out = 0_usize;
        for item in self.replaced.iter().rev() {
            let entry = entry(item);
            if entry.len() > room {
                left_out += 1;
                continue;
            }
            room -= entry.len();
            entries.push(entry);
        }
        let mut log = String::new();
        if left_out > 0 {
            log.push_str(&format!("({left_out} entries are left out for their length)\n"));
        }
        entries.iter().rev().for_each(|entry| log.push_str(entry));
        log
    }
}

fn ask(instructions: Option<&str>) -> String {
    let mut text = include_str!("../templates/compact.md").trim_end().to_owned();
    if let Some(instructions) = instructions.filter(|text| !text.trim().is_empty()) {
        text.push_str(&format!(
            "\n\nThe person asks for this besides: {}",
            instructions.trim()
        ));
    }
    text
}

/// Whether the part that stays may begin here: with a prompt, or with a reply whose calls are answered after it.
fn begins_round(item: &Item) -> bool {
    match &item.body {
        Body::Prompt { .. } | Body::Reply { .. } => true,
        Body::Wake { .. } => true,
        Body::Result { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => false,
    }
}

/// About how many bytes of a request an item takes.
fn weight(item: &Item) -> usize {
    item.messages().iter().map(|message| message_bytes(message)).sum()
}

/// About how many bytes of a request a message takes; media count by what they cost, not by their bytes.
pub fn message_bytes(message: &Message) -> usize {
    /// About what a picture costs, at four bytes a token.
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

/// One item in a log.
fn entry(item: &Item) -> String {
    let Some(message) = item.message() else {
        return String::new();
    };
    let who = match message.role {
        Role::User => "person",
        Role::Assistant => "agent",
    };
    let mut text = String::new();
    for part in &message.parts {
        match part {
            Part::Text { text: said, .. } => text.push_str(&format!("[{who}] {}\n", middle_cut(said))),
            Part::ToolCall { name, input, .. } => {
                text.push_str(&format!("[call] {name} {}\n", middle_cut(&input.to_string())));
            }
            Part::ToolResult { name, content, .. } => {
                let said: Vec<&str> = content
                    .iter()
                    .filter_map(|block| match block {
                        Block::Text { text } => Some(text.as_str()),
                        Block::Media(_) => None,
                    })
                    .collect();
                text.push_str(&format!("[result of {name}] {}\n", middle_cut(&said.join("\n"))));
            }
            Part::Thinking { .. } | Part::Media(_) => {}
        }
    }
    text
}

/// A long text without its middle, and how much that was.
fn middle_cut(text: &str) -> String {
    if text.len() <= LOG_ENTRY {
        return text.to_owned();
    }
    let (head, tail) = (start_of(text, LOG_ENTRY * 2 / 5), end_of(text, LOG_ENTRY * 3 / 5));
    format!(
        "{head} … ({} bytes left out) … {tail}",
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
