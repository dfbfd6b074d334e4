//! History elision: old parts of a conversation become history panels, outdated file reads become one line.
//!
//! Elision changes the model's view of old items and so invalidates the provider's cache from there on. It happens only
//! where the cache is invalid anyway or the budget is exceeded, and is stored as an item, so that later requests have
//! the same layout. The log keeps everything.

mod fit;
mod stale_reads;

pub use fit::{FixedContent, fit_to_budget};

use crate::assembly::view::{current_elision, visible_items};
use crate::tokens::{TokenizerFamily, message_tokens};
use session::{Body, HistoryElision, Item, ItemId};
use std::sync::Arc;

/// Minimum messages of a detached chunk.
pub const DETACH_CHUNK_MIN_MESSAGES: usize = 25;
/// Minimum tokens of a detached chunk.
pub const DETACH_CHUNK_MIN_TOKENS: u64 = 5_000;
/// Minimum messages that stay after a chunk is detached.
pub const DETACH_KEEP_MIN_MESSAGES: usize = 25;
/// Minimum tokens that stay after a chunk is detached.
pub const DETACH_KEEP_MIN_TOKENS: u64 = 7_500;

/// Plans the elision of the conversation so far: detached chunks stay detached, further chunks are detached while the
/// thresholds allow it, and outdated reads become one line.
pub fn plan_elision(items: &[Arc<Item>], family: TokenizerFamily) -> HistoryElision {
    let before = current_elision(items);
    let seen: Vec<&Arc<Item>> = visible_items(items).filter(|item| item.message().is_some()).collect();
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
    brief.extend(stale_reads::stale_reads(&seen).filter(|id| !before.brief.contains(id)));
    HistoryElision {
        history,
        brief,
        hidden: before.hidden,
        truncated: before.truncated,
    }
}

/// Returns the chunks that can be detached, by their first and last items. A chunk ends at the end of a turn.
fn detach(items: &[&Arc<Item>], family: TokenizerFamily) -> Vec<(ItemId, ItemId)> {
    let tokens: Vec<u64> = items.iter().map(|item| tokens(item, family)).collect();
    let mut chunks = Vec::new();
    let mut from = 0;
    while let Some(end) = chunk_end(items, &tokens, from) {
        chunks.push((items[from].id, items[end - 1].id));
        from = end;
    }
    chunks
}

/// Returns the end of the next chunk that can be detached.
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

/// Estimated tokens of an item.
fn tokens(item: &Item, family: TokenizerFamily) -> u64 {
    item.messages()
        .iter()
        .map(|message| message_tokens(family, message))
        .sum()
}

#[cfg(test)]
mod tests;
