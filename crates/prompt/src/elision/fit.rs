//! Makes a conversation fit a budget without a model, as a last resort.

use super::tokens;
use crate::assembly::history;
use crate::assembly::layout_cache::layout_tokens;
use crate::assembly::view::preview_elision;
use crate::budget::{BudgetExceeded, PriorityNode, PriorityTree, SizeRequest, TokenBudget, allocate};
use crate::tokens::TokenizerFamily;
use crate::{CallProtocol, message_bytes};
use model::Part;
use session::{Body, HistoryElision, Item, ItemId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The content of a request besides the conversation, and its encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FixedContent {
    /// The system prompt, and panels that will be shown again.
    pub tokens: u64,
    /// How calls and results are encoded.
    pub protocol: CallProtocol,
}

/// If tokens must be freed, the conversation is reduced to this percentage of the budget, so that the next requests can
/// extend each other again.
const REST_PERCENT: u64 = 75;
/// Priority of the newest earlier turn.
const HISTORY: u32 = 700;
/// Priority of a summary: higher than what it omits.
const SUMMARY: u32 = 880;
/// Priority of the newest round of the current turn.
const ROUNDS: u32 = 899;
/// Priority of a turn's prompt.
const QUERY: u32 = 900;

/// Returns the elision that makes the conversation fit; `None` if it fits already.
///
/// First outdated reads and old chunks are elided, then results of earlier turns become one line each, then the oldest
/// turns and rounds are dropped, and finally the remaining items are cut.
///
/// Guarantee: the messages of the following request in their final layout plus the fixed content do not exceed the
/// budget by the family's count. The exception is a budget of a few dozen tokens that does not even fit the notes about
/// the cuts.
pub fn fit_to_budget(items: &[Arc<Item>], fixed: FixedContent, budget: TokenBudget) -> Option<HistoryElision> {
    let family = budget.family;
    let available = budget.tokens.saturating_sub(fixed.tokens);
    let measured = |items: &[Arc<Item>]| layout_tokens(items, budget, fixed.protocol);
    if measured(&crate::assembly::view::elided_items(items)) <= available {
        return None;
    }
    let rest = available * REST_PERCENT / 100;
    let mut fold = super::plan_elision(items, family);
    let folded = |fold: &HistoryElision| measured(&preview_elision(items, fold));
    if folded(&fold) <= rest {
        return Some(fold);
    }
    let stale = fold.brief.len();
    abbreviate_old_results(items, &mut fold);
    let short = folded(&fold);
    if short <= rest {
        let spacious = expand(items, &fold, stale, rest - short, family);
        return Some(Some(spacious).filter(|fold| folded(fold) <= available).unwrap_or(fold));
    }
    let seen = preview_elision(items, &fold);
    for stays in [Retained::TurnAndRound, Retained::Turn] {
        if let Some(gone) = drop_until_fits(&seen, stays, rest, family, |gone| {
            let mut fold = fold.clone();
            fold.hidden.extend(gone);
            folded(&fold).saturating_sub(available)
        }) {
            fold.hidden.extend(gone);
            return Some(fold);
        }
    }
    Some(keep_only_last(items, &seen, rest, family, folded))
}

/// Number of attempts: the placeholders for lost results are known only in the final layout.
const TRIES: usize = 8;

/// Returns the items to drop; `over` returns by how much the rest exceeds the budget.
fn drop_until_fits(
    seen: &[Arc<Item>],
    stays: Retained,
    mut available: u64,
    family: TokenizerFamily,
    over: impl Fn(&[ItemId]) -> u64,
) -> Option<Vec<ItemId>> {
    for _ in 0..TRIES {
        let gone = items_to_drop(seen, stays, available, family).ok()?;
        match over(&gone) {
            0 => return Some(gone),
            over => available = available.checked_sub(over)?,
        }
    }
    None
}

/// Minimum tokens for showing part of an abbreviated result.
const WORTH: u64 = 200;

/// Gives the remaining tokens to abbreviated results, newest first. These are the last entries of `brief`, after
/// `stale` outdated reads.
fn expand(
    items: &[Arc<Item>],
    fold: &HistoryElision,
    stale: usize,
    spare: u64,
    family: TokenizerFamily,
) -> HistoryElision {
    let mut fold = fold.clone();
    let short: HashSet<ItemId> = fold.brief.drain(stale..).collect();
    let shown: HashMap<ItemId, u64> = preview_elision(items, &fold)
        .iter()
        .map(|item| (item.id, tokens(item, family)))
        .collect();
    let short: Vec<&Arc<Item>> = items.iter().filter(|item| short.contains(&item.id)).collect();
    let parts = short.iter().enumerate().rev().filter_map(|(place, item)| {
        // Results in a history panel are one line anyway.
        let wants = *shown.get(&item.id)?;
        Some(PriorityNode::expandable(
            0,
            place,
            tokens(&history::abbreviated(item), family),
            wants,
        ))
    });
    let mut tree = PriorityTree { parts: parts.collect() };
    let grown: HashMap<usize, u64> = tree.grow(tree.tokens() + spare).into_iter().collect();
    for (place, item) in short.iter().enumerate() {
        match (grown.get(&place), shown.get(&item.id)) {
            (Some(now), Some(wants)) if now >= wants => {}
            (Some(now), Some(wants)) if *now >= WORTH => {
                let bytes = item
                    .messages()
                    .iter()
                    .map(|message| message_bytes(message))
                    .sum::<usize>() as u64;
                fold.truncated.push((item.id, bytes * now / wants.max(&1)));
            }
            (Some(_) | None, _) => fold.brief.push(item.id),
        }
    }
    fold
}

/// Abbreviates results of earlier turns to one line each.
fn abbreviate_old_results(items: &[Arc<Item>], fold: &mut HistoryElision) {
    let turn = items.iter().rposition(|item| matches!(item.body, Body::Prompt { .. }));
    let earlier = &items[..turn.unwrap_or(0)];
    let results = earlier.iter().filter(|item| matches!(item.body, Body::Result { .. }));
    let new = results.map(|item| item.id).filter(|id| !fold.brief.contains(id));
    let new: Vec<ItemId> = new.collect();
    fold.brief.extend(new);
}

/// What must be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retained {
    /// The last prompt, and the last calls with their results.
    TurnAndRound,
    /// The last prompt.
    Turn,
}

/// Returns the items to drop so that the others fit.
fn items_to_drop(
    seen: &[Arc<Item>],
    stays: Retained,
    available: u64,
    family: TokenizerFamily,
) -> Result<Vec<ItemId>, BudgetExceeded> {
    let turn = seen
        .iter()
        .rposition(is_prompt)
        .or_else(|| seen.iter().position(|item| matches!(item.body, Body::Summary { .. })));
    let round = seen.iter().rposition(|item| matches!(item.body, Body::Reply { .. }));
    let stays = |place: usize| {
        Some(place) == turn || (stays == Retained::TurnAndRound && round.is_some_and(|round| place >= round))
    };
    let fixed: u64 = (0..seen.len())
        .filter(|place| stays(*place))
        .map(|place| tokens(&seen[place], family))
        .sum();
    let mut groups: HashMap<&str, usize> = HashMap::new();
    let mut turns: Vec<Vec<PriorityNode>> = vec![Vec::new()];
    let mut parts = Vec::new();
    for (place, item) in seen.iter().enumerate() {
        if stays(place) {
            // Its results stay with it.
            continue;
        }
        if is_prompt(item) {
            turns.push(Vec::new());
        }
        let node = node(place, item, tokens(item, family), &mut groups);
        match (&item.body, turn.is_some_and(|turn| place > turn)) {
            (Body::Summary { .. }, _) => parts.push(PriorityNode {
                priority: SUMMARY,
                ..node
            }),
            (_, true) => parts.push(PriorityNode {
                priority: ROUNDS,
                ..node
            }),
            (_, false) => {
                if let Some(turn) = turns.last_mut() {
                    turn.push(node);
                }
            }
        }
    }
    let turns = turns.into_iter().filter(|turn| !turn.is_empty());
    let turns = turns.map(|turn| PriorityNode::branch(0, turn)).collect();
    // Older rounds of the current turn are dropped first; the prompt is kept.
    let rounds = parts.len() as u32;
    for (part, place) in parts.iter_mut().zip(1..) {
        if part.priority == ROUNDS {
            part.priority = (ROUNDS + place).saturating_sub(rounds).min(QUERY);
        }
    }
    parts.insert(0, PriorityNode::ascending(HISTORY, turns));
    let gone = PriorityTree { parts }.prune(available.checked_sub(fixed).ok_or(BudgetExceeded {
        tokens: fixed,
        limit: available,
    })?)?;
    Ok(gone.into_iter().map(|place| seen[place].id).collect())
}

fn is_prompt(item: &Arc<Item>) -> bool {
    matches!(item.body, Body::Prompt { .. })
}

/// A call and its results are dropped together.
fn node<'a>(place: usize, item: &'a Item, tokens: u64, groups: &mut HashMap<&'a str, usize>) -> PriorityNode {
    match &item.body {
        Body::Reply { message, .. } => {
            let calls = message.parts.iter().filter_map(|part| match part {
                Part::ToolCall { id, .. } => Some(id.as_str()),
                Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
            });
            groups.extend(calls.map(|call| (call, place)));
            PriorityNode::grouped(0, place, tokens, place)
        }
        Body::Result { call, .. } => match groups.get(call.as_str()) {
            Some(group) => PriorityNode::grouped(0, place, tokens, *group),
            None => PriorityNode::leaf(0, place, tokens),
        },
        _ => PriorityNode::leaf(0, place, tokens),
    }
}

/// Keeps only the last prompt, and the summary if there is one, cut as far as necessary.
fn keep_only_last(
    items: &[Arc<Item>],
    seen: &[Arc<Item>],
    available: u64,
    family: TokenizerFamily,
    folded: impl Fn(&HistoryElision) -> u64,
) -> HistoryElision {
    let last = seen.iter().rposition(is_prompt).or_else(|| {
        seen.iter()
            .rposition(|item| matches!(item.body, Body::Notification { .. } | Body::Summary { .. }))
    });
    let stays: Vec<&Arc<Item>> = last.iter().map(|place| &seen[*place]).collect();
    let gone = items
        .iter()
        .filter(|item| !stays.iter().any(|stays| stays.id == item.id));
    let mut fold = HistoryElision {
        hidden: gone.map(|item| item.id).collect(),
        ..HistoryElision::default()
    };
    let wants: Vec<SizeRequest> = stays
        .iter()
        .map(|item| SizeRequest::of_size(tokens(item, family)))
        .collect();
    let rooms = allocate(&wants, available);
    let mut bytes: Vec<(ItemId, u64)> = stays
        .iter()
        .zip(rooms)
        .map(|(item, available)| (item.id, family.bytes(available) as u64))
        .collect();
    loop {
        fold.truncated = bytes.clone();
        let is_done = bytes.iter().all(|(_, bytes)| *bytes == 0);
        if is_done || folded(&fold) <= available {
            return fold;
        }
        bytes.iter_mut().for_each(|(_, bytes)| *bytes = *bytes * 3 / 4);
    }
}
