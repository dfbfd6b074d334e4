//! What happened before, as entries: they hold the items, not copies of them.

use super::{Card, Entry};
use model::{CallId, Message, Part};
use session::{Body, Item, Level, Restoring};
use std::collections::HashMap;
use std::sync::Arc;

/// So many entries of the past are put into the terminal's history at most.
const SHOWN: usize = 60;

/// All entries of the past.
pub(super) fn entries(items: &[Arc<Item>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut cards: HashMap<&CallId, usize> = HashMap::new();
    for item in items {
        match &item.body {
            Body::Reply { message, .. } => {
                entries.extend(reply(item, message));
                for (call, tool) in calls(message) {
                    cards.insert(call, entries.len());
                    let mut card = Card::new(call.clone(), tool);
                    card.written(item);
                    entries.push(Entry::Card(Box::new(card)));
                }
            }
            Body::Result { call, .. } => {
                if let Some(Entry::Card(card)) = cards.get(call).and_then(|at| entries.get_mut(*at)) {
                    card.finish(item);
                }
            }
            Body::Prompt { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Review { .. }
            | Body::Panels { .. }
            | Body::Restored { .. } => entries.extend(entry(item)),
        }
    }
    for entry in &mut entries {
        if let Entry::Card(card) = entry {
            card.stop();
        }
    }
    entries
}

/// How many of them are not worth showing again: those before the last few prompts.
pub(super) fn skipped(entries: &[Entry]) -> usize {
    let from = entries.len().saturating_sub(SHOWN);
    let prompt = entries.iter().skip(from).position(Entry::is_prompt);
    match prompt {
        Some(_) if from == 0 => 0,
        Some(at) => from + at,
        None => from,
    }
}

/// The entries of a reply, without its calls.
pub(super) fn reply(item: &Arc<Item>, message: &Message) -> Vec<Entry> {
    let entry = |(index, part): (usize, &Part)| match part {
        Part::Text { text, .. } if !text.trim().is_empty() => Some(Entry::Part(Arc::clone(item), index)),
        Part::Thinking { text, .. } if !text.trim().is_empty() => Some(Entry::Thinking {
            text: text.as_str().into(),
            took: None,
            done: true,
        }),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Media(_) => None,
    };
    message.parts.iter().enumerate().filter_map(entry).collect()
}

/// The calls of a reply.
pub(super) fn calls(message: &Message) -> impl Iterator<Item = (&CallId, &str)> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, .. } => Some((id, name.as_str())),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    })
}

/// The entry of an item that is neither a reply nor a result.
pub(super) fn entry(item: &Item) -> Option<Entry> {
    let told = |text: String| Some(Entry::Notice(Level::Info, text));
    match &item.body {
        Body::Prompt { message } => Some(Entry::Prompt(Arc::clone(message))),
        Body::Todos { list } => Some(Entry::Todos(list.clone())),
        Body::Notice { text } => Some(Entry::Notice(Level::Warning, text.clone())),
        Body::Wake { cause, .. } => told(format!("going on because of {cause}")),
        Body::Mode { name, .. } => told(format!("mode: {name}")),
        Body::Summary { .. } => told("the conversation so far was replaced by notes for the model".into()),
        Body::Restored { how, changes, .. } => {
            let files = match changes.len() {
                1 => "1 file".into(),
                count => format!("{count} files"),
            };
            told(match how {
                Restoring::Undo => format!("undone: {files} put back"),
                Restoring::Redo => format!("redone: {files} changed again"),
                Restoring::Left => format!("the conversation went back; {files} stayed as they are"),
            })
        }
        Body::Reply { .. } | Body::Result { .. } | Body::Review { .. } | Body::Panels { .. } => None,
    }
}
