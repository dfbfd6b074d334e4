//! Folds a long conversation: old chunks become panels of history, readings that are out of date become one line.
//!
//! A fold changes what the model sees of old items and so breaks the provider's cache from there on. It is made only where that
//! breaks anyway, or where there is no room; it is kept as an item, so that every later request is laid out alike. The log
//! keeps everything.

mod fit;
mod stale;

pub use fit::{Fixed, fit};

use crate::tokens::{Family, message_tokens};
use crate::view::{fold_in_force, view};
use session::{Body, Fold, Item, ItemId};
use std::sync::Arc;

/// A chunk is detached only with so many messages,
pub const DETACH_CHUNK_MIN_MESSAGES: usize = 25;
/// and so many tokens,
pub const DETACH_CHUNK_MIN_TOKENS: u64 = 5_000;
/// if so many messages stay
pub const DETACH_KEEP_MIN_MESSAGES: usize = 25;
/// and so many tokens.
pub const DETACH_KEEP_MIN_TOKENS: u64 = 7_500;

/// How what came up to now would best be folded: what is detached already stays so, further chunks are detached as long as the
/// thresholds hold, readings that are out of date become one line.
pub fn fold(items: &[Arc<Item>], family: Family) -> Fold {
    let before = fold_in_force(items);
    let seen: Vec<&Arc<Item>> = view(items).filter(|item| item.message().is_some()).collect();
    let detached = before.history.last();
    let from = detached.and_then(|(_, last)| seen.iter().rposition(|item| item.id == *last));
    let open = &seen[from.map_or(0, |place| place + 1)..];
    let open = match open.first().map(|item| &item.body) {
        Some(Body::Summary { .. }) => &open[1..],
        _ => open,
    };
    let mut history = before.history.clone();
    history.extend(detach(open, family));
    let mut brief = before.brief.clone();
    brief.extend(stale::readings(&seen).filter(|id| !before.brief.contains(id)));
    Fold {
        history,
        brief,
        gone: before.gone,
        cut: before.cut,
    }
}

/// The chunks that can be detached from a conversation, by their first and last items. A chunk ends where a turn does.
fn detach(items: &[&Arc<Item>], family: Family) -> Vec<(ItemId, ItemId)> {
    let tokens: Vec<u64> = items.iter().map(|item| tokens(item, family)).collect();
    let mut chunks = Vec::new();
    let mut from = 0;
    while let Some(end) = chunk_end(items, &tokens, from) {
        chunks.push((items[from].id, items[end - 1].id));
        from = end;
    }
    chunks
}

/// Where the next chunk ends, if one can be detached.
fn chunk_end(items: &[&Arc<Item>], tokens: &[u64], from: usize) -> Option<usize> {
    let total: u64 = tokens[from..].iter().sum();
    let mut taken = 0;
    for end in from + 1..items.len() {
        taken += tokens[end - 1];
        let kept = (items.len() - end, total - taken);
        if kept.0 < DETACH_KEEP_MIN_MESSAGES || kept.1 < DETACH_KEEP_MIN_TOKENS {
            return None;
        }
        let is_turn = matches!(items[end].body, Body::Prompt { .. });
        if is_turn && end - from >= DETACH_CHUNK_MIN_MESSAGES && taken >= DETACH_CHUNK_MIN_TOKENS {
            return Some(end);
        }
    }
    None
}

/// About how many tokens an item takes.
pub(crate) fn tokens(item: &Item, family: Family) -> u64 {
    item.messages()
        .iter()
        .map(|message| message_tokens(family, message))
        .sum()
}

#[cfg(test)]
mod tests;
