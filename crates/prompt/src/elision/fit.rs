//! Makes a conversation fit a budget without a model, as a last resort.

use crate::CallProtocol;
use crate::assembly::history;
use crate::assembly::layout_cache::layout_tokens;
use crate::assembly::view::preview_elision;
use crate::budget::{BudgetExceeded, ItemSize, PriorityNode, PriorityTree, SizeRequest, TokenBudget, allocate};
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
    /// The budget that bounds single results in the request; by default the one to fit.
    pub results: Option<TokenBudget>,
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
/// Results are cut to their share before anything is measured. First outdated reads and old chunks are elided, then
/// results of earlier turns and earlier rounds become one line each. If the newest results still do not fit, they are
/// cut if the rest of the conversation is short; otherwise the oldest turns and rounds are dropped, and then the newest
/// results are cut. Only what cannot fit in any other way loses the newest results or is cut itself.
///
/// Guarantee: the messages of the following request in their final layout plus the fixed content do not exceed the
/// budget by the family's count. The exception is a budget of a few dozen tokens that does not even fit the notes about
/// the cuts.
pub fn fit_to_budget(items: &[Arc<Item>], fixed: FixedContent, budget: TokenBudget) -> Option<HistoryElision> {
    let available = budget.tokens.saturating_sub(fixed.tokens);
    let results = fixed.results.unwrap_or(budget);
    let measured = |items: &[Arc<Item>]| layout_tokens(items, results, fixed.protocol);
    if measured(&crate::assembly::view::elided_items(items)) <= available {
        return None;
    }
    let rest = available * REST_PERCENT / 100;
    let mut fold = super::plan_elision(items, budget.family);
    let folded = |fold: &HistoryElision| measured(&preview_elision(items, fold));
    if folded(&fold) <= rest {
        return Some(fold);
    }
    let stale = fold.brief.len();
    for extent in [Abbreviated::EarlierTurns, Abbreviated::EarlierRounds] {
        abbreviate_results(items, extent, &mut fold);
        let short = folded(&fold);
        if short <= rest {
            let spacious = expand(items, &fold, stale, rest - short, results);
            return Some(Some(spacious).filter(|fold| folded(fold) <= available).unwrap_or(fold));
        }
    }
    let room = CutRoom {
        target: rest,
        available,
        at_least: rest / 2,
    };
    if let Some(fold) = cut_last_round(items, &fold, results, room, folded) {
        return Some(fold);
    }
    let seen = preview_elision(items, &fold);
    let dropped = |stays: Retained| {
        drop_until_fits(&seen, stays, rest, results, |dropped_items| {
            let mut fold = fold.clone();
            fold.hidden.extend(dropped_items);
            folded(&fold).saturating_sub(available)
        })
    };
    if let Some(dropped_items) = dropped(Retained::TurnAndRound) {
        fold.hidden.extend(dropped_items);
        return Some(fold);
    }
    let mut last = fold.clone();
    last.hidden.extend(all_but_last_round(&seen));
    let room = CutRoom { at_least: 0, ..room };
    let full = CutRoom {
        target: available,
        ..room
    };
    let cut = cut_last_round(items, &last, results, room, folded);
    if let Some(fold) = cut.or_else(|| cut_last_round(items, &last, results, full, folded)) {
        return Some(fold);
    }
    if let Some(dropped_items) = dropped(Retained::Turn) {
        fold.hidden.extend(dropped_items);
        return Some(fold);
    }
    Some(keep_only_last(items, &seen, rest, results, folded))
}

/// How far the newest results are cut.
#[derive(Clone, Copy)]
struct CutRoom {
    /// The desired tokens of the conversation.
    target: u64,
    /// The maximum tokens of the conversation.
    available: u64,
    /// The minimum tokens for the results; otherwise they are not cut.
    at_least: u64,
}

/// Cuts the results of the newest round so that the conversation fits. Short results stay complete. `None` if
/// everything else leaves too little.
fn cut_last_round(
    items: &[Arc<Item>],
    fold: &HistoryElision,
    budget: TokenBudget,
    room: CutRoom,
    folded: impl Fn(&HistoryElision) -> u64,
) -> Option<HistoryElision> {
    let seen = preview_elision(items, fold);
    let round = seen.iter().rposition(is_reply)?;
    let results = seen[round..]
        .iter()
        .filter(|item| matches!(item.body, Body::Result { .. }));
    let results: Vec<(ItemId, ItemSize)> = results.map(|item| (item.id, budget.item_size(item))).collect();
    let mut uncut = fold.clone();
    uncut
        .truncated
        .retain(|(id, _)| !results.iter().any(|(result, _)| result == id));
    let with_cuts = |cuts: &[(ItemId, u64)]| {
        let mut fold = uncut.clone();
        fold.truncated.extend(cuts);
        fold
    };
    let nothing: Vec<(ItemId, u64)> = results.iter().map(|(id, _)| (*id, 0)).collect();
    let spare = room.target.checked_sub(folded(&with_cuts(&nothing)))?;
    if results.is_empty() || spare < room.at_least {
        return None;
    }
    let requested: Vec<SizeRequest> = results
        .iter()
        .map(|(_, size)| SizeRequest::of_size(size.tokens))
        .collect();
    let given = allocate(&requested, spare);
    let cuts = results
        .iter()
        .zip(given)
        .filter(|((_, size), given)| *given < size.tokens);
    let mut cuts: Vec<(ItemId, u64)> = cuts
        .map(|((id, size), given)| (*id, size.bytes * given / size.tokens.max(1)))
        .collect();
    loop {
        let fold = with_cuts(&cuts);
        if folded(&fold) <= room.available {
            return Some(fold);
        }
        if cuts.iter().all(|(_, bytes)| *bytes == 0) {
            return None;
        }
        cuts.iter_mut().for_each(|(_, bytes)| *bytes = *bytes * 3 / 4);
    }
}

/// All items except summaries, the last prompt and the newest round.
fn all_but_last_round(seen: &[Arc<Item>]) -> Vec<ItemId> {
    let turn = seen.iter().rposition(is_prompt);
    let round = seen.iter().rposition(is_reply).unwrap_or(seen.len());
    let dropped = seen
        .iter()
        .enumerate()
        .filter(|(index, item)| *index < round && Some(*index) != turn && !matches!(item.body, Body::Summary { .. }));
    dropped.map(|(_, item)| item.id).collect()
}

/// Number of attempts: the placeholders for lost results are known only in the final layout.
const TRIES: usize = 8;

/// Returns the items to drop; `over` returns by how much the rest exceeds the budget.
fn drop_until_fits(
    seen: &[Arc<Item>],
    stays: Retained,
    mut available: u64,
    budget: TokenBudget,
    over: impl Fn(&[ItemId]) -> u64,
) -> Option<Vec<ItemId>> {
    for _ in 0..TRIES {
        let dropped_items = items_to_drop(seen, stays, available, budget).ok()?;
        match over(&dropped_items) {
            0 => return Some(dropped_items),
            over => available = available.checked_sub(over)?,
        }
    }
    None
}

/// Minimum tokens for showing part of an abbreviated result.
const WORTH: u64 = 200;

/// Gives the remaining tokens to abbreviated results, newest first. These are the last entries of `brief`, after
/// `stale` outdated reads.
fn expand(items: &[Arc<Item>], fold: &HistoryElision, stale: usize, spare: u64, budget: TokenBudget) -> HistoryElision {
    let mut fold = fold.clone();
    let short: HashSet<ItemId> = fold.brief.drain(stale..).collect();
    let shown: HashMap<ItemId, ItemSize> = preview_elision(items, &fold)
        .iter()
        .map(|item| (item.id, budget.item_size(item)))
        .collect();
    let short: Vec<&Arc<Item>> = items.iter().filter(|item| short.contains(&item.id)).collect();
    let parts = short.iter().enumerate().rev().filter_map(|(index, item)| {
        // Results in a history panel are one line anyway.
        let requested = shown.get(&item.id)?.tokens;
        let abbreviated = budget.item_tokens(&history::abbreviated(item));
        Some(PriorityNode::expandable(0, index, abbreviated, requested))
    });
    let mut tree = PriorityTree { parts: parts.collect() };
    let grown: HashMap<usize, u64> = tree.grow(tree.tokens() + spare).into_iter().collect();
    for (index, item) in short.iter().enumerate() {
        match (grown.get(&index), shown.get(&item.id)) {
            (Some(now), Some(size)) if *now >= size.tokens => {}
            (Some(now), Some(size)) if *now >= WORTH => {
                fold.truncated.push((item.id, size.bytes * now / size.tokens.max(1)));
            }
            (Some(_) | None, _) => fold.brief.push(item.id),
        }
    }
    fold
}

/// Which results are abbreviated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Abbreviated {
    /// Results of earlier turns.
    EarlierTurns,
    /// All results except those of the newest reply.
    EarlierRounds,
}

/// Abbreviates results to one line each.
fn abbreviate_results(items: &[Arc<Item>], extent: Abbreviated, fold: &mut HistoryElision) {
    let end = match extent {
        Abbreviated::EarlierTurns => items.iter().rposition(is_prompt),
        Abbreviated::EarlierRounds => items.iter().rposition(is_reply),
    };
    let earlier = &items[..end.unwrap_or(0)];
    let results = earlier.iter().filter(|item| matches!(item.body, Body::Result { .. }));
    let brief: HashSet<ItemId> = fold.brief.iter().copied().collect();
    fold.brief
        .extend(results.map(|item| item.id).filter(|id| !brief.contains(id)));
}

/// The items that must be kept.
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
    budget: TokenBudget,
) -> Result<Vec<ItemId>, BudgetExceeded> {
    let turn = seen
        .iter()
        .rposition(is_prompt)
        .or_else(|| seen.iter().position(|item| matches!(item.body, Body::Summary { .. })));
    let round = seen.iter().rposition(is_reply);
    let stays = |index: usize| {
        Some(index) == turn || (stays == Retained::TurnAndRound && round.is_some_and(|round| index >= round))
    };
    let fixed: u64 = (0..seen.len())
        .filter(|index| stays(*index))
        .map(|index| budget.item_tokens(&seen[index]))
        .sum();
    let mut groups: HashMap<&str, usize> = HashMap::new();
    let mut turns: Vec<Vec<PriorityNode>> = vec![Vec::new()];
    let mut parts = Vec::new();
    for (index, item) in seen.iter().enumerate() {
        if stays(index) {
            // Its results stay with it.
            continue;
        }
        if is_prompt(item) {
            turns.push(Vec::new());
        }
        let node = node(index, item, budget.item_tokens(item), &mut groups);
        match (&item.body, turn.is_some_and(|turn| index > turn)) {
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
    for (part, index) in parts.iter_mut().zip(1..) {
        if part.priority == ROUNDS {
            part.priority = (ROUNDS + index).saturating_sub(rounds).min(QUERY);
        }
    }
    parts.insert(0, PriorityNode::ascending(HISTORY, turns));
    let dropped_items = PriorityTree { parts }.prune(available.checked_sub(fixed).ok_or(BudgetExceeded {
        tokens: fixed,
        limit: available,
    })?)?;
    Ok(dropped_items.into_iter().map(|index| seen[index].id).collect())
}

fn is_prompt(item: &Arc<Item>) -> bool {
    matches!(item.body, Body::Prompt { .. })
}

fn is_reply(item: &Arc<Item>) -> bool {
    matches!(item.body, Body::Reply { .. })
}

/// A call and its results are dropped together.
fn node<'a>(index: usize, item: &'a Item, tokens: u64, groups: &mut HashMap<&'a str, usize>) -> PriorityNode {
    match &item.body {
        Body::Reply { message, .. } => {
            let calls = message.parts.iter().filter_map(|part| match part {
                Part::ToolCall { id, .. } => Some(id.as_str()),
                Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
            });
            groups.extend(calls.map(|call| (call, index)));
            PriorityNode::grouped(0, index, tokens, index)
        }
        Body::Result { call, .. } => match groups.get(call.as_str()) {
            Some(group) => PriorityNode::grouped(0, index, tokens, *group),
            None => PriorityNode::leaf(0, index, tokens),
        },
        _ => PriorityNode::leaf(0, index, tokens),
    }
}

/// Keeps only the last prompt, and the summary if there is one, cut as far as necessary.
fn keep_only_last(
    items: &[Arc<Item>],
    seen: &[Arc<Item>],
    available: u64,
    budget: TokenBudget,
    folded: impl Fn(&HistoryElision) -> u64,
) -> HistoryElision {
    let last = seen.iter().rposition(is_prompt).or_else(|| {
        seen.iter()
            .rposition(|item| matches!(item.body, Body::Notification { .. } | Body::Summary { .. }))
    });
    let stays: Vec<&Arc<Item>> = last.iter().map(|index| &seen[*index]).collect();
    let dropped_items = items
        .iter()
        .filter(|item| !stays.iter().any(|stays| stays.id == item.id));
    let mut fold = HistoryElision {
        hidden: dropped_items.map(|item| item.id).collect(),
        ..HistoryElision::default()
    };
    let requested: Vec<SizeRequest> = stays
        .iter()
        .map(|item| SizeRequest::of_size(budget.item_tokens(item)))
        .collect();
    let rooms = allocate(&requested, available);
    let mut bytes: Vec<(ItemId, u64)> = stays
        .iter()
        .zip(rooms)
        .map(|(item, available)| (item.id, budget.family.bytes(available) as u64))
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
