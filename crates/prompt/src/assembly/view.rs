//! The model's view of a log: a summary replaces what came before it; an elision determines the form of older items.

use super::history;
use crate::budget::cut_message;
use session::{Body, HistoryElision, Item, ItemId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns the visible items, oldest first, without applying elisions.
///
/// The newest summary comes first, then the items that it kept, then everything after it.
pub fn visible_items(items: &[Arc<Item>]) -> impl Iterator<Item = &Arc<Item>> + Clone {
    let at = items.iter().rposition(|item| matches!(item.body, Body::Summary { .. }));
    let (summary, kept, after) = match at {
        None => (None, &items[..0], items),
        Some(at) => (Some(&items[at]), &items[kept_from(items, at)..at], &items[at + 1..]),
    };
    // Panels shown before a summary are shown again after it.
    let kept = kept
        .iter()
        .filter(|item| !matches!(item.body, Body::Summary { .. } | Body::Panels { .. }));
    summary.into_iter().chain(kept).chain(after)
}

/// Whether everything before this item changes its form.
pub(crate) fn is_layout_boundary(item: &Item) -> bool {
    matches!(item.body, Body::Summary { .. } | Body::Panels { elision: Some(_), .. })
}

/// Returns what the model sees, oldest first, with elisions applied.
///
/// After an elision: the summary, history panels, panels, items before the elision, items after it.
pub fn elided_items(items: &[Arc<Item>]) -> Vec<Arc<Item>> {
    let seen: Vec<&Arc<Item>> = visible_items(items).collect();
    let at = seen.iter().rposition(|item| is_fold(item));
    let fold = at.and_then(|at| match &seen[at].body {
        Body::Panels {
            elision: Some(fold), ..
        } => Some(fold),
        _ => None,
    });
    match (at, fold) {
        (Some(at), Some(fold)) => lay_out(&seen[..at], Some(seen[at]), fold, &seen[at + 1..]),
        _ => seen.into_iter().cloned().collect(),
    }
}

/// Returns what the model would see with this elision. Panels would be shown again and are omitted.
pub fn preview_elision(items: &[Arc<Item>], fold: &HistoryElision) -> Vec<Arc<Item>> {
    let seen: Vec<&Arc<Item>> = visible_items(items).collect();
    lay_out(&seen, None, fold, &[])
}

/// Returns the current elision, or an empty one.
pub fn current_elision(items: &[Arc<Item>]) -> HistoryElision {
    let newest = items.iter().rev().find(|item| is_layout_boundary(item));
    match newest.map(|item| &item.body) {
        Some(Body::Panels {
            elision: Some(fold), ..
        }) => fold.clone(),
        _ => HistoryElision::default(),
    }
}

fn is_fold(item: &Item) -> bool {
    matches!(item.body, Body::Panels { elision: Some(_), .. })
}

fn lay_out(
    before: &[&Arc<Item>],
    panels: Option<&Arc<Item>>,
    fold: &HistoryElision,
    after: &[&Arc<Item>],
) -> Vec<Arc<Item>> {
    let form = ElisionIndex::of(fold);
    let mut out: Vec<Arc<Item>> = Vec::with_capacity(before.len() + after.len() + 1);
    let summary = before.iter().filter(|item| matches!(item.body, Body::Summary { .. }));
    out.extend(summary.map(|item| Arc::clone(item)));
    let mut rest = Vec::new();
    let mut chunk: Option<(ElidedChunk, Vec<&Arc<Item>>)> = None;
    for &item in before {
        if matches!(item.body, Body::Summary { .. } | Body::Panels { .. }) {
            continue;
        }
        if chunk.is_none()
            && let Some(found) = form.chunks.get(&item.id)
        {
            chunk = Some((*found, Vec::new()));
        }
        match chunk.take() {
            Some((found, mut members)) => {
                members.push(item);
                match item.id == found.last {
                    true if members.first().is_some_and(|first| form.hidden.contains(&first.id)) => {}
                    true => out.push(history::history_panel(&members, &form.brief, found.number)),
                    false => chunk = Some((found, members)),
                }
            }
            None => rest.extend(form.shown(item)),
        }
    }
    // A chunk without its end, for example after a rewind.
    if let Some((_, members)) = chunk {
        rest.extend(members.into_iter().filter_map(|item| form.shown(item)));
    }
    out.extend(panels.cloned());
    out.extend(rest);
    out.extend(after.iter().map(|item| Arc::clone(item)));
    out
}

/// A chunk that is shown as a history panel.
#[derive(Clone, Copy)]
struct ElidedChunk {
    last: ItemId,
    /// Its number, from 1.
    number: usize,
}

/// Lookup tables for an elision.
struct ElisionIndex {
    /// The chunks by their first item.
    chunks: HashMap<ItemId, ElidedChunk>,
    brief: HashSet<ItemId>,
    hidden: HashSet<ItemId>,
    cut: HashMap<ItemId, u64>,
}

impl ElisionIndex {
    fn of(fold: &HistoryElision) -> Self {
        ElisionIndex {
            chunks: fold
                .history
                .iter()
                .zip(1..)
                .map(|((first, last), number)| (*first, ElidedChunk { last: *last, number }))
                .collect(),
            brief: fold.brief.iter().copied().collect(),
            hidden: fold.hidden.iter().copied().collect(),
            cut: fold.truncated.iter().copied().collect(),
        }
    }

    /// Returns the item in its form; `None` if it is hidden.
    fn shown(&self, item: &Arc<Item>) -> Option<Arc<Item>> {
        if self.hidden.contains(&item.id) {
            return None;
        }
        if self.brief.contains(&item.id) {
            return Some(history::abbreviated(item));
        }
        match self.cut.get(&item.id) {
            Some(bytes) => Some(cut(item, *bytes)),
            None => Some(Arc::clone(item)),
        }
    }
}

fn cut(item: &Arc<Item>, bytes: u64) -> Arc<Item> {
    let mut short = Item::clone(item);
    if let Some(message) = short.message_mut() {
        *message = Arc::new(cut_message(message, usize::try_from(bytes).unwrap_or(usize::MAX)));
    }
    Arc::new(short)
}

/// Returns the index of the first item that the summary at `at` kept.
fn kept_from(items: &[Arc<Item>], at: usize) -> usize {
    let Body::Summary {
        first_kept: Some(kept), ..
    } = &items[at].body
    else {
        return at;
    };
    items[..at].iter().rposition(|item| item.id == *kept).unwrap_or(at)
}
