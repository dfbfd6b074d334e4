//! Properties for all sizes: the request fits its budget, calls and results stay paired, roles alternate, and
//! compaction makes the conversation smaller.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use model::{Block, CallId, Message, Part, Request, Role, ToolOutcome};
use prompt::tokens::{TokenizerFamily, message_tokens};
use prompt::{
    CallProtocol, CompactionCut, FixedContent, KeepRecent, LayoutCache, RequestFrame, TokenBudget, assemble,
    fit_to_budget, message_bytes,
};
use proptest::prelude::*;
use serde_json::json;
use session::{Body, HistoryElision, Item, ItemId, ReplyEnd, RequestId, Time};
use std::collections::HashSet;
use std::sync::Arc;

/// An event in a conversation, with its size.
#[derive(Debug, Clone)]
enum Step {
    Prompt(usize),
    Words(usize),
    /// Calls, with the sizes of their inputs and results; a result may be missing.
    Calls(Vec<(usize, Option<usize>)>),
    Notification(usize),
    Notice,
    Late(usize),
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..400_usize, 3 => 400..8_000_usize, 1 => 8_000..60_000_usize]
}

fn step() -> impl Strategy<Value = Step> {
    let call = (0..600_usize, prop::option::weighted(0.9, length()));
    prop_oneof![
        2 => length().prop_map(Step::Prompt),
        2 => (0..3_000_usize).prop_map(Step::Words),
        5 => prop::collection::vec(call, 1..4).prop_map(Step::Calls),
        1 => (0..500_usize).prop_map(Step::Notification),
        1 => Just(Step::Notice),
        1 => (0..500_usize).prop_map(Step::Late),
    ]
}

fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(1),
        body,
    })
}

fn words(bytes: usize) -> String {
    "let x = call(1); // ä\n".chars().cycle().take(bytes).collect()
}

fn reply(parts: Vec<Part>) -> Arc<Item> {
    item(Body::Reply {
        message: Arc::new(Message {
            role: Role::Assistant,
            parts,
        }),
        model: "m".into(),
        request: RequestId::new(),
        end: ReplyEnd::Interrupted,
    })
}

fn conversation(steps: &[Step]) -> Vec<Arc<Item>> {
    let mut items = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let message = |bytes: usize| Arc::new(Message::user(words(bytes)));
        match step {
            Step::Prompt(bytes) => items.push(item(Body::Prompt {
                message: message(*bytes),
            })),
            Step::Words(bytes) => items.push(reply(vec![Part::text(words(*bytes))])),
            Step::Notification(bytes) => items.push(item(Body::Notification {
                message: message(*bytes),
                source: "job".into(),
            })),
            Step::Notice => items.push(item(Body::Notice { text: "n".into() })),
            Step::Late(bytes) => items.push(item(Body::Panels {
                messages: vec![message(*bytes)],
                states: Vec::new(),
                elision: None,
            })),
            Step::Calls(calls) => {
                let id = |index: usize| CallId::from(format!("c{number}_{index}"));
                let parts = calls.iter().enumerate().map(|(index, (input, _))| Part::ToolCall {
                    id: id(index),
                    name: "terminal".into(),
                    input: json!({"command": words(*input)}),
                    malformed: None,
                    replay: None,
                });
                items.push(reply(parts.collect()));
                for (index, bytes) in calls
                    .iter()
                    .enumerate()
                    .filter_map(|(index, (_, bytes))| Some((index, (*bytes)?)))
                {
                    let part = Part::ToolResult {
                        id: id(index),
                        name: "terminal".into(),
                        content: vec![Block::text(words(bytes))],
                        outcome: ToolOutcome::Ok,
                    };
                    items.push(item(Body::Result {
                        message: Arc::new(Message {
                            role: Role::User,
                            parts: vec![part],
                        }),
                        call: id(index),
                        tool: "terminal".into(),
                        title: "t".into(),
                        summary: None,
                        exit: None,
                        millis: 1,
                        changes: Vec::new(),
                    }));
                }
            }
        }
    }
    items
}

fn tokens(request: &Request) -> u64 {
    request
        .messages
        .iter()
        .map(|message| message_tokens(TokenizerFamily::O200k, message))
        .sum()
}

/// Every call is followed by its result, every result has a call, and the last message is not the model's.
fn is_well_formed(request: &Request) -> Result<(), String> {
    let mut open: Vec<CallId> = Vec::new();
    let mut seen = HashSet::new();
    for message in request.messages.iter() {
        for part in &message.parts {
            match part {
                Part::ToolCall { id, .. } => {
                    if !seen.insert(id.clone()) {
                        return Err(format!("{id} twice"));
                    }
                    open.push(id.clone());
                }
                Part::ToolResult { id, .. } => match open.iter().position(|call| call == id) {
                    Some(index) => drop(open.remove(index)),
                    None => return Err(format!("{id} answers nothing")),
                },
                Part::Text { .. } | Part::Thinking { .. } | Part::Media(_)
                    if !open.is_empty() && message.role == Role::User =>
                {
                    return Err("talk before a result".into());
                }
                Part::Text { .. } | Part::Thinking { .. } | Part::Media(_) => {}
            }
        }
        if message.role == Role::Assistant
            && message.parts.iter().all(|part| !matches!(part, Part::ToolCall { .. }))
            && !open.is_empty()
        {
            return Err("a call without a result".into());
        }
    }
    match request.messages.last() {
        Some(last) if last.role == Role::User && open.is_empty() => Ok(()),
        _ => Err(format!("ends with {:?}, open {open:?}", request.messages.last())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_request_fits_its_budget_and_is_well_formed(
        steps in prop::collection::vec(step(), 1..60),
        budget in 2_000..60_000_u64,
        system in 0..500_u64,
        protocol in prop_oneof![Just(CallProtocol::Native), Just(CallProtocol::Xml)],
    ) {
        let fixed = FixedContent { tokens: system, protocol, results: None };
        let budget = TokenBudget { family: TokenizerFamily::O200k, tokens: budget };
        let frame = RequestFrame { family: TokenizerFamily::O200k, budget: Some(budget), protocol, ..RequestFrame::default() };
        let mut items = conversation(&steps);
        let mut kept = LayoutCache::default();
        let before = assemble(&frame, &items, &mut kept);
        prop_assert_eq!(is_well_formed(&before.request), Ok(()));
        if let Some(fold) = fit_to_budget(&items, fixed, budget) {
            items.push(item(Body::Panels { messages: Vec::new(), states: Vec::new(), elision: Some(fold) }));
        }
        let after = assemble(&frame, &items, &mut kept);
        prop_assert_eq!(is_well_formed(&after.request), Ok(()));
        // Exact: not even the placeholders for lost results exceed the budget.
        let now = tokens(&after.request) + system;
        prop_assert!(now <= budget.tokens, "{now} of {}", budget.tokens);
        prop_assert_eq!(fit_to_budget(&items, fixed, budget), None);
        prop_assert_eq!(after.request.messages, assemble(&frame, &items, &mut LayoutCache::default()).request.messages);
    }

    /// Results are cut before they are measured: however many there are and however long, the model sees each of them.
    #[test]
    fn the_newest_results_are_cut_but_never_dropped(
        before in prop::collection::vec(step(), 0..30),
        sizes in prop::collection::vec(0..60_000_usize, 1..12),
        budget in 3_000..60_000_u64,
    ) {
        let fixed = FixedContent::default();
        let budget = TokenBudget { family: TokenizerFamily::O200k, tokens: budget };
        let frame = RequestFrame { family: TokenizerFamily::O200k, budget: Some(budget), ..RequestFrame::default() };
        let calls = sizes.iter().map(|bytes| (10, Some(*bytes))).collect();
        let mut items = conversation(&before);
        items.extend(conversation(&[Step::Prompt(200)]));
        items.extend(conversation(&[vec![Step::Notice; before.len()], vec![Step::Calls(calls)]].concat()));
        if let Some(fold) = fit_to_budget(&items, fixed, budget) {
            items.push(item(Body::Panels { messages: Vec::new(), states: Vec::new(), elision: Some(fold) }));
        }
        let request = assemble(&frame, &items, &mut LayoutCache::default()).request;
        let text: String = request.messages.iter().map(|message| format!("{:?}", message.parts)).collect();
        for (index, bytes) in sizes.iter().enumerate() {
            let id = format!("c{}_{index}", before.len());
            prop_assert!(text.contains(&id), "{id} of {bytes} bytes is missing");
        }
        let shown = text.matches("let x = call(1)").count() as u64;
        let total: usize = sizes.iter().sum();
        prop_assert!(shown >= 20.min(total as u64 / 22), "only {shown} lines of {total} bytes are shown");
        prop_assert!(tokens(&request) <= budget.tokens);
    }

    #[test]
    fn after_an_elision_every_request_extends_the_previous_one(
        steps in prop::collection::vec(step(), 4..40),
        at in 0..40_usize,
    ) {
        let frame = RequestFrame { family: TokenizerFamily::O200k, ..RequestFrame::default() };
        let mut items = conversation(&steps);
        let at = at.min(items.len());
        let fold = prompt::plan_elision(&items[..at], TokenizerFamily::O200k);
        items.insert(at, item(Body::Panels { messages: Vec::new(), states: Vec::new(), elision: Some(fold) }));
        let mut kept = LayoutCache::default();
        let mut last: Option<Request> = None;
        for end in at + 1..=items.len() {
            // Requests are sent before replies.
            let leaves = items.get(end).is_none_or(|next| matches!(next.body, Body::Reply { .. }));
            if !leaves {
                continue;
            }
            let request = assemble(&frame, &items[..end], &mut kept).request;
            if let Some(last) = last {
                let shared = last.messages.iter().zip(request.messages.iter()).take_while(|(a, b)| a == b).count();
                let is_last_filler = last.messages.last().is_some_and(|m| m.text() == "Continue where you stopped.");
                prop_assert!(shared + usize::from(is_last_filler) >= last.messages.len());
            }
            last = Some(request);
        }
    }

    #[test]
    fn compaction_strictly_shrinks(steps in prop::collection::vec(step(), 1..60), keeps in any::<bool>()) {
        let items = conversation(&steps);
        let keep = if keeps { KeepRecent::LastRound } else { KeepRecent::Nothing };
        if let Some(cut) = CompactionCut::at(&items, keep) {
            let notes = words(cut.bytes() / 2);
            if cut.validate(&notes).is_ok() {
                prop_assert!(notes.len() < cut.bytes());
            }
            let message = cut.message_without_model();
            let before: usize = prompt::elided_items(&items).iter().flat_map(|item| item.messages()).map(|m| message_bytes(m)).sum();
            // The agent rejects a replacement that is not smaller.
            if message_bytes(&message) < cut.bytes() {
                let mut after = items.clone();
                after.push(item(Body::Summary { message: Arc::new(message), first_kept: cut.kept() }));
                let now: usize = prompt::elided_items(&after).iter().flat_map(|item| item.messages()).map(|m| message_bytes(m)).sum();
                prop_assert!(now < before, "{now} after {before}");
            }
        }
    }

    #[test]
    fn elision_never_enlarges_a_conversation_by_more_than_its_headings(steps in prop::collection::vec(step(), 1..80)) {
        let items = conversation(&steps);
        let fold: HistoryElision = prompt::plan_elision(&items, TokenizerFamily::O200k);
        let bytes = |items: &[Arc<Item>]| -> usize {
            items.iter().flat_map(|item| item.messages()).map(|message| message_bytes(message)).sum()
        };
        let headings = fold.history.len() * 200 + items.len() * 16;
        prop_assert!(bytes(&prompt::preview_elision(&items, &fold)) <= bytes(&items) + headings);
    }
}
