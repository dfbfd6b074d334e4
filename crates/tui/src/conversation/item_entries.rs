//! Conversation entries from stored items. Entries share the items.

use super::{ConversationEntry, ToolCard};
use model::{CallId, Message, Part};
use session::{Body, Item, NoticeLevel, RestoreKind};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum earlier entries that are printed.
const MAX_PRINTED: usize = 60;

/// Converts all items to entries.
pub(super) fn from_items(items: &[Arc<Item>]) -> Vec<ConversationEntry> {
    let mut entries: Vec<ConversationEntry> = Vec::new();
    let mut cards: HashMap<&CallId, usize> = HashMap::new();
    let (mut mode, mut shown_mode) = ("code", "code");
    for item in items {
        if mode != shown_mode && item.mode().is_none() {
            entries.extend(mode_entry(mode));
            shown_mode = mode;
        }
        match &item.body {
            // It is shown with the next entry, because a key switches through the modes.
            Body::Mode { name, .. } => mode = name,
            Body::Notification { .. } if entries.last().is_some_and(ConversationEntry::is_prompt) => {}
            Body::Reply { message, .. } => {
                entries.extend(from_reply(item, message));
                for (call, tool) in calls(message) {
                    cards.insert(call, entries.len());
                    let mut card = ToolCard::new(call.clone(), tool);
                    card.input_complete(item);
                    entries.push(ConversationEntry::Card(Box::new(card)));
                }
            }
            Body::Result { call, .. } => {
                if let Some(ConversationEntry::Card(card)) = cards.get(call).and_then(|at| entries.get_mut(*at)) {
                    card.finish(item);
                }
            }
            _ => entries.extend(from_item(item)),
        }
    }
    for entry in &mut entries {
        if let ConversationEntry::Card(card) = entry {
            card.interrupt();
            card.mark_restored();
        }
    }
    entries
}

/// The number of entries before the last few prompts, which are not printed.
pub(super) fn count_unprinted(entries: &[ConversationEntry]) -> usize {
    let from = entries.len().saturating_sub(MAX_PRINTED);
    let prompt = entries.iter().skip(from).position(ConversationEntry::is_prompt);
    match prompt {
        Some(_) if from == 0 => 0,
        Some(at) => from + at,
        None => from,
    }
}

/// The entries of a reply without its calls.
pub(super) fn from_reply(item: &Arc<Item>, message: &Message) -> Vec<ConversationEntry> {
    let entry = |(index, part): (usize, &Part)| match part {
        Part::Text { text, .. } if !text.trim().is_empty() => Some(ConversationEntry::Part(Arc::clone(item), index)),
        Part::Thinking { text, .. } if !text.trim().is_empty() => Some(ConversationEntry::Thinking {
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

/// The entry about another mode.
fn mode_entry(name: &str) -> Option<ConversationEntry> {
    Some(ConversationEntry::Notice(NoticeLevel::Info, format!("mode: {name}")))
}

/// The entry of an item that is neither a reply nor a result.
pub(super) fn from_item(item: &Item) -> Option<ConversationEntry> {
    let notice = |text: String| Some(ConversationEntry::Notice(NoticeLevel::Info, text));
    match &item.body {
        Body::Prompt { message } => Some(ConversationEntry::Prompt(Arc::clone(message))),
        Body::Todos { list } => Some(ConversationEntry::Todos(list.clone())),
        Body::Notice { text } => Some(ConversationEntry::Notice(NoticeLevel::Warning, text.clone())),
        Body::Notification { source: cause, .. } => notice(format!("continuing because of {cause}")),
        Body::Mode { name, .. } => mode_entry(name),
        Body::Summary { .. } => notice("conversation compacted into a summary".into()),
        Body::Restored { kind: how, changes, .. } => {
            let paths = changes
                .iter()
                .map(|change| (change.before.as_ref(), change.after.as_ref()));
            let files = session::describe_restored(paths);
            notice(match how {
                RestoreKind::Undo => format!("Undid a turn: {files}"),
                RestoreKind::Redo => format!("Redid a turn: {files}"),
                RestoreKind::FilesKept => "The conversation was rewound; files stayed as they were".into(),
            })
        }
        Body::Reply { .. } | Body::Result { .. } | Body::Review { .. } | Body::Panels { .. } => None,
    }
}
