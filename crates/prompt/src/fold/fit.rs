//! Makes a conversation fit a budget without a model, when nobody else makes room.

use super::tokens;
use crate::budget::{Budget, Exceeded, Flex, Node, Tree, lay_out};
use crate::history;
use crate::kept::laid_tokens;
use crate::tokens::Family;
use crate::view::folded_so;
use crate::{Protocol, message_bytes};
use model::Part;
use session::{Body, Fold, Item, ItemId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a request has beside the conversation, and how that is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The system prompt, and panels that are to be shown anew.
    pub tokens: u64,
    /// How calls and results are written.
    pub protocol: Protocol,
}

/// Once room must be made, it is made for a while: the conversation is brought down to this part of the budget, so that the
/// next requests extend each other again.
const REST_PERCENT: u64 = 75;
/// Earlier turns are worth this much, the newest of them.
const HISTORY: u32 = 700;
/// A summary is worth more than what it does not say.
const SUMMARY: u32 = 880;
/// The rounds of the turn that goes on, the newest of them.
const ROUNDS: u32 = 899;
/// What a turn is about.
const QUERY: u32 = 900;

/// How the conversation must be folded to fit; `None` where it fits as it is.
///
/// First come readings that are out of date and old chunks, then results of earlier turns become one line each, then the
/// oldest turns and rounds leave, and last what must stay is cut.
///
/// What is promised: the messages of the request that follows, as they are laid out in the end, and what is fixed have no more
/// tokens by the family's count than the budget. Only where not even what says that something was cut has room, in a few
/// dozen tokens, do they.
pub fn fit(items: &[Arc<Item>], fixed: Fixed, budget: Budget) -> Option<Fold> {
    let family = budget.family;
    let room = budget.tokens.saturating_sub(fixed.tokens);
    let measured = |items: &[Arc<Item>]| laid_tokens(items, budget, fixed.protocol);
    if measured(&crate::view::folded(items)) <= room {
        return None;
    }
    let rest = room * REST_PERCENT / 100;
    let mut fold = super::fold(items, family);
    let folded = |fold: &Fold| measured(&folded_so(items, fold));
    if folded(&fold) <= rest {
        return Some(fold);
    }
    let stale = fold.brief.len();
    shorten(items, &mut fold);
    let short = folded(&fold);
    if short <= rest {
        let spacious = expand(items, &fold, stale, rest - short, family);
        return Some(Some(spacious).filter(|fold| folded(fold) <= room).unwrap_or(fold));
    }
    let seen = folded_so(items, &fold);
    for stays in [Stays::TurnAndRound, Stays::Turn] {
        if let Some(gone) = leave_until(&seen, stays, rest, family, |gone| {
            let mut fold = fold.clone();
            fold.gone.extend(gone);
            folded(&fold).saturating_sub(room)
        }) {
            fold.gone.extend(gone);
            return Some(fold);
        }
    }
    Some(only_the_last(items, &seen, rest, family, folded))
}

/// How often what leaves is reckoned anew: what stands in for lost results is known only when all is laid out.
const TRIES: usize = 8;

/// The items that leave for the others to fit; `over` says by how much they do not.
fn leave_until(
    seen: &[Arc<Item>],
    stays: Stays,
    mut room: u64,
    family: Family,
    over: impl Fn(&[ItemId]) -> u64,
) -> Option<Vec<ItemId>> {
    for _ in 0..TRIES {
        let gone = leave(seen, stays, room, family).ok()?;
        match over(&gone) {
            0 => return Some(gone),
            over => room = room.checked_sub(over)?,
        }
    }
    None
}

/// A result that was to be one line is worth showing in part from so many tokens on.
const WORTH: u64 = 200;

/// What is left over goes to results that were to be one line, the newest first. Those are the last of `brief`, after so many
/// that are out of date.
fn expand(items: &[Arc<Item>], fold: &Fold, stale: usize, spare: u64, family: Family) -> Fold {
    let mut fold = fold.clone();
    let short: HashSet<ItemId> = fold.brief.drain(stale..).collect();
    let shown: HashMap<ItemId, u64> = folded_so(items, &fold)
        .iter()
        .map(|item| (item.id, tokens(item, family)))
        .collect();
    let short: Vec<&Arc<Item>> = items.iter().filter(|item| short.contains(&item.id)).collect();
    let parts = short.iter().enumerate().rev().filter_map(|(place, item)| {
        // What is part of a panel of history is one line there anyway.
        let wants = *shown.get(&item.id)?;
        Some(Node::expandable(0, place, tokens(&history::brief(item), family), wants))
    });
    let mut tree = Tree { parts: parts.collect() };
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
                fold.cut.push((item.id, bytes * now / wants.max(&1)));
            }
            (Some(_) | None, _) => fold.brief.push(item.id),
        }
    }
    fold
}

/// Results of earlier turns become one line each.
fn shorten(items: &[Arc<Item>], fold: &mut Fold) {
    let turn = items.iter().rposition(|item| matches!(item.body, Body::Prompt { .. }));
    let earlier = &items[..turn.unwrap_or(0)];
    let results = earlier.iter().filter(|item| matches!(item.body, Body::Result { .. }));
    let new = results.map(|item| item.id).filter(|id| !fold.brief.contains(id));
    let new: Vec<ItemId> = new.collect();
    fold.brief.extend(new);
}

/// What must not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    /// What the person said last, and the last calls with their results.
    TurnAndRound,
    /// What the person said last.
    Turn,
}

/// The items that leave for the others to fit.
fn leave(seen: &[Arc<Item>], stays: Stays, room: u64, family: Family) -> Result<Vec<ItemId>, Exceeded> {
    let turn = seen
        .iter()
        .rposition(is_prompt)
        .or_else(|| seen.iter().position(|item| matches!(item.body, Body::Summary { .. })));
    let round = seen.iter().rposition(|item| matches!(item.body, Body::Reply { .. }));
    let stays = |place: usize| {
        Some(place) == turn || (stays == Stays::TurnAndRound && round.is_some_and(|round| place >= round))
    };
    let fixed: u64 = (0..seen.len())
        .filter(|place| stays(*place))
        .map(|place| tokens(&seen[place], family))
        .sum();
    let mut groups: HashMap<&str, usize> = HashMap::new();
    let mut turns: Vec<Vec<Node>> = vec![Vec::new()];
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
            (Body::Summary { .. }, _) => parts.push(Node {
                priority: SUMMARY,
                ..node
            }),
            (_, true) => parts.push(Node {
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
    let turns = turns.map(|turn| Node::branch(0, turn)).collect();
    // Of the turn that goes on, older rounds leave first; they come before its query, which stays.
    let rounds = parts.len() as u32;
    for (part, place) in parts.iter_mut().zip(1..) {
        if part.priority == ROUNDS {
            part.priority = (ROUNDS + place).saturating_sub(rounds).min(QUERY);
        }
    }
    parts.insert(0, Node::ascending(HISTORY, turns));
    let gone = Tree { parts }.prune(room.checked_sub(fixed).ok_or(Exceeded {
        tokens: fixed,
        limit: room,
    })?)?;
    Ok(gone.into_iter().map(|place| seen[place].id).collect())
}

fn is_prompt(item: &Arc<Item>) -> bool {
    matches!(item.body, Body::Prompt { .. })
}

/// A call and its results leave together.
fn node<'a>(place: usize, item: &'a Item, tokens: u64, groups: &mut HashMap<&'a str, usize>) -> Node {
    match &item.body {
        Body::Reply { message, .. } => {
            let calls = message.parts.iter().filter_map(|part| match part {
                Part::ToolCall { id, .. } => Some(id.as_str()),
                Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
            });
            groups.extend(calls.map(|call| (call, place)));
            Node::kept_with(0, place, tokens, place)
        }
        Body::Result { call, .. } => match groups.get(call.as_str()) {
            Some(group) => Node::kept_with(0, place, tokens, *group),
            None => Node::leaf(0, place, tokens),
        },
        Body::Prompt { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Mode { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => Node::leaf(0, place, tokens),
    }
}

/// Only what was said last stays, with the summary where there is one, and both are cut as far as they must be.
fn only_the_last(
    items: &[Arc<Item>],
    seen: &[Arc<Item>],
    room: u64,
    family: Family,
    folded: impl Fn(&Fold) -> u64,
) -> Fold {
    let last = seen.iter().rposition(is_prompt).or_else(|| {
        seen.iter()
            .rposition(|item| matches!(item.body, Body::Wake { .. } | Body::Summary { .. }))
    });
    let stays: Vec<&Arc<Item>> = last.iter().map(|place| &seen[*place]).collect();
    let gone = items
        .iter()
        .filter(|item| !stays.iter().any(|stays| stays.id == item.id));
    let mut fold = Fold {
        gone: gone.map(|item| item.id).collect(),
        ..Fold::default()
    };
    let wants: Vec<Flex> = stays.iter().map(|item| Flex::wanting(tokens(item, family))).collect();
    let rooms = lay_out(&wants, room);
    let mut bytes: Vec<(ItemId, u64)> = stays
        .iter()
        .zip(rooms)
        .map(|(item, room)| (item.id, family.bytes(room) as u64))
        .collect();
    loop {
        fold.cut = bytes.clone();
        let is_done = bytes.iter().all(|(_, bytes)| *bytes == 0);
        if is_done || folded(&fold) <= room {
            return fold;
        }
        bytes.iter_mut().for_each(|(_, bytes)| *bytes = *bytes * 3 / 4);
    }
}
