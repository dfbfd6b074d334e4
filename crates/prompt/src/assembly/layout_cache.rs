//! Caches the layout of a conversation, so that a request costs work only for new items.

use super::repair::repair;
use super::token_counts::TokenCountCache;
use super::view::{elided_items, is_layout_boundary};
use crate::budget::TokenBudget;
use crate::panel::PanelTexts;
use crate::text_calls::{CallProtocol, tool_catalogue, with_direct_calls, with_text_calls};
use crate::tokens::{TokenizerFamily, message_tokens, tool_tokens};
use model::{Message, Role, ToolSpec};
use session::{Body, Item, ItemId, Time};
use std::sync::Arc;

/// Sent to the model if it must continue without a new user message.
pub(crate) const CONTINUE_TEXT: &str = "Continue where you stopped.";

/// The cached layout of a session.
///
/// The cache never changes the result: an empty cache produces the same request. Items and messages are immutable and
/// identified by their address; the clones stored here keep the addresses from being reused.
#[derive(Debug, Clone, Default)]
pub struct LayoutCache {
    /// Items with final messages.
    items: Vec<Arc<Item>>,
    /// Whether an item does not name its predecessor as its parent.
    is_loose: bool,
    /// The reply after them: while it follows, no more results arrive for their calls.
    next: Option<Arc<Item>>,
    /// The messages of the last request; the first `settled` belong to `items`.
    messages: Arc<Vec<Arc<Message>>>,
    settled: usize,
    /// Tokens of the settled messages.
    tokens: u64,
    counts: TokenCountCache,
    /// Number of leading messages that are panels.
    head: usize,
    /// The parameters of the cached layout.
    params: LayoutParams,
    tools: Option<(Arc<[ToolSpec]>, TokenizerFamily, u64)>,
    /// The tools as text.
    catalogue: Option<(Arc<[ToolSpec]>, Arc<str>)>,
    system: Option<(Vec<Arc<str>>, TokenizerFamily, u64)>,
}

/// Layout parameters. A change invalidates the whole layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LayoutParams {
    pub(crate) family: TokenizerFamily,
    pub(crate) budget: Option<TokenBudget>,
    /// How calls and results are encoded.
    pub(crate) protocol: CallProtocol,
    /// The system prompt, in case it must be repeated.
    pub(crate) system: Vec<Arc<str>>,
}

/// The messages of a request.
pub(crate) struct RequestLayout {
    pub(crate) messages: Arc<Vec<Arc<Message>>>,
    /// Estimated tokens.
    pub(crate) tokens: u64,
    /// Number of leading messages that are panels.
    pub(crate) head: usize,
}

/// After this many tokens of panels, the system prompt is repeated.
const REPEAT_SYSTEM_AFTER: u64 = 20_000;

impl LayoutCache {
    /// Returns the messages that the model sees for these items.
    pub(crate) fn lay_out(&mut self, items: &[Arc<Item>], params: &LayoutParams) -> RequestLayout {
        if self.params != *params {
            self.reset();
            self.counts.set_family(params.family);
            self.params = params.clone();
        }
        let start = self.settled_items(items);
        if start == 0 {
            self.head = 0;
        }
        let summary = items[start..]
            .iter()
            .rposition(|item| is_layout_boundary(item))
            .map(|place| start + place);
        // Results may still arrive for the calls of the last reply. Everything before it is complete.
        let from = summary.map_or(start, |place| place + 1);
        let reply = items[from..].iter().rposition(is_reply).map(|place| from + place);
        if summary.is_some() {
            self.reset();
        }
        let budget = params.budget;
        let (complete, open) = match (summary, reply) {
            (None, Some(reply)) => (
                repaired(&items[start..reply], budget),
                repaired(&items[reply..], budget),
            ),
            (None, None) => (Vec::new(), repaired(&items[start..], budget)),
            (Some(_), Some(reply)) => (
                self.elided_messages(&items[..reply], params),
                repaired(&items[reply..], budget),
            ),
            (Some(_), None) => (Vec::new(), self.elided_messages(items, params)),
        };
        let (complete, open) = (
            encode_calls(complete, params.protocol),
            encode_calls(open, params.protocol),
        );
        if let Some(reply) = reply {
            self.settle(&items[self.items.len()..reply]);
            self.next = Some(Arc::clone(&items[reply]));
        }
        // The last request is usually dropped by now, so nothing is copied.
        let messages = Arc::make_mut(&mut self.messages);
        messages.truncate(self.settled);
        messages.extend(complete);
        self.tokens += self.counts.sum(&messages[self.settled..]);
        self.settled = messages.len();
        messages.extend(open);
        if messages.last().is_none_or(|last| last.role == Role::Assistant) {
            messages.push(Arc::new(Message::user(CONTINUE_TEXT)));
        }
        let tokens = self.tokens + self.counts.sum(&messages[self.settled..]);
        self.counts.evict_unused(messages);
        RequestLayout {
            messages: Arc::clone(&self.messages),
            tokens,
            head: self.head,
        }
    }

    /// Returns the messages after a layout boundary, panels first.
    fn elided_messages(&mut self, items: &[Arc<Item>], params: &LayoutParams) -> Vec<Arc<Message>> {
        let mut seen = elided_items(items);
        let is_panel = |item: &Arc<Item>| matches!(item.body, Body::Panels { .. } | Body::Summary { .. });
        let end = seen.iter().position(|item| !is_panel(item)).unwrap_or(seen.len());
        let has_panels = seen[..end].iter().any(|item| matches!(item.body, Body::Panels { .. }));
        let head: Vec<Arc<Message>> = seen[..end].iter().flat_map(|item| item.messages()).cloned().collect();
        self.head = if has_panels { head.len() } else { 0 };
        if has_panels && !params.system.is_empty() && self.counts.sum(&head) >= REPEAT_SYSTEM_AFTER {
            seen.insert(end, repeated_system_prompt(&params.system));
            self.head += 1;
        }
        repaired(&seen, params.budget)
    }

    /// Estimated tokens of the tools.
    pub(crate) fn tools_tokens(&mut self, tools: &Arc<[ToolSpec]>) -> u64 {
        match &self.tools {
            Some((cached, family, tokens)) if Arc::ptr_eq(cached, tools) && *family == self.params.family => *tokens,
            Some(_) | None => {
                let tokens = tool_tokens(self.params.family, tools);
                self.tools = Some((Arc::clone(tools), self.params.family, tokens));
                tokens
            }
        }
    }

    /// Estimated tokens of the system prompt.
    pub(crate) fn system_tokens(&mut self, system: &[Arc<str>]) -> u64 {
        let is_same = |cached: &[Arc<str>]| {
            cached.len() == system.len() && cached.iter().zip(system).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        match &self.system {
            Some((cached, family, tokens)) if is_same(cached) && *family == self.params.family => *tokens,
            Some(_) | None => {
                let tokens = system.iter().map(|section| self.params.family.estimate(section)).sum();
                self.system = Some((system.to_vec(), self.params.family, tokens));
                tokens
            }
        }
    }

    /// The tools as text.
    pub(crate) fn catalogue(&mut self, tools: &Arc<[ToolSpec]>) -> Arc<str> {
        match &self.catalogue {
            Some((cached, text)) if Arc::ptr_eq(cached, tools) => Arc::clone(text),
            Some(_) | None => {
                let text: Arc<str> = tool_catalogue(tools).into();
                self.catalogue = Some((Arc::clone(tools), Arc::clone(&text)));
                text
            }
        }
    }

    /// Returns how many of these items are settled: none if they are not the items of the last request.
    fn settled_items(&mut self, items: &[Arc<Item>]) -> usize {
        let (before, after) = items.split_at(self.items.len().min(items.len()));
        let is_next = match (&self.next, after.first()) {
            (Some(next), Some(item)) => Arc::ptr_eq(next, item),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !is_next || !self.is_settled_prefix(before) {
            self.reset();
        }
        self.items.len()
    }

    /// Whether these are the settled items. The log is an append-only tree: if each item names its predecessor,
    /// comparing the last item suffices.
    fn is_settled_prefix(&self, items: &[Arc<Item>]) -> bool {
        let is_same = |(cached, item): (&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(cached, item);
        self.items.len() == items.len()
            && match self.is_loose {
                true => self.items.iter().zip(items).all(is_same),
                false => self.items.last().zip(items.last()).is_none_or(is_same),
            }
    }

    /// Records items that can no longer change.
    fn settle(&mut self, items: &[Arc<Item>]) {
        for item in items {
            let is_next = |before: &Arc<Item>| item.parent == Some(before.id);
            self.is_loose |= !self.items.last().is_none_or(is_next);
            self.items.push(Arc::clone(item));
        }
    }

    fn reset(&mut self) {
        self.is_loose = false;
        self.items.clear();
        self.next = None;
        (self.settled, self.tokens, self.head) = (0, 0, 0);
    }
}

/// Returns the messages of items, repaired and bounded.
fn repaired(items: &[Arc<Item>], budget: Option<TokenBudget>) -> Vec<Arc<Message>> {
    let messages = items.iter().flat_map(|item| {
        let is_result = matches!(item.body, Body::Result { .. });
        let budget = budget.filter(|_| is_result);
        let messages = item.messages().iter().filter(|message| !message.parts.is_empty());
        messages.map(move |message| {
            let bound = budget.and_then(|budget| budget.bound_result(message));
            bound.unwrap_or_else(|| Arc::clone(message))
        })
    });
    repair(messages.collect())
}

/// Returns the tokens of the messages for these items in their final layout.
pub(crate) fn layout_tokens(items: &[Arc<Item>], budget: TokenBudget, protocol: CallProtocol) -> u64 {
    let messages = encode_calls(repaired(items, Some(budget)), protocol);
    let go_on = messages.last().is_none_or(|last| last.role == Role::Assistant);
    let filler = go_on.then(|| Arc::new(Message::user(CONTINUE_TEXT)));
    let all = messages.iter().chain(&filler);
    all.map(|message| message_tokens(budget.family, message)).sum()
}

/// Repeats the system prompt.
fn repeated_system_prompt(system: &[Arc<str>]) -> Arc<Item> {
    let text = format!("{}\n\n{}", PanelTexts::load().repeated, system.join("\n\n"));
    Arc::new(Item {
        id: ItemId::default(),
        parent: None,
        at: Time(0),
        body: Body::Panels {
            messages: vec![Arc::new(Message::user(text))],
            states: Vec::new(),
            elision: None,
        },
    })
}

/// Encodes calls and results for the protocol.
fn encode_calls(messages: Vec<Arc<Message>>, protocol: CallProtocol) -> Vec<Arc<Message>> {
    match protocol {
        CallProtocol::Native => messages.into_iter().map(with_direct_calls).collect(),
        CallProtocol::Xml => messages.into_iter().map(with_text_calls).collect(),
    }
}

/// The message of an item that the model sees.
fn visible_message(item: &Arc<Item>) -> Option<&Arc<Message>> {
    item.message().filter(|message| !message.parts.is_empty())
}

fn is_reply(item: &Arc<Item>) -> bool {
    visible_message(item).is_some_and(|message| message.role == Role::Assistant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestFrame, assemble};
    use model::{Block, Part, ToolOutcome};
    use serde_json::json;
    use session::{HistoryElision, ReplyEnd, RequestId};

    fn item(body: Body) -> Arc<Item> {
        Arc::new(Item {
            id: ItemId::new(),
            parent: None,
            at: Time(0),
            body,
        })
    }

    fn reply(parts: Vec<Part>) -> Arc<Item> {
        let role = Role::Assistant;
        item(Body::Reply {
            message: Arc::new(Message { role, parts }),
            model: "m".into(),
            request: RequestId::new(),
            end: ReplyEnd::Interrupted,
        })
    }

    fn call(id: &str) -> Part {
        Part::ToolCall {
            id: id.into(),
            name: "f".into(),
            input: json!({"of": id}),
            malformed: None,
            replay: None,
        }
    }

    fn result(id: &str) -> Arc<Item> {
        let content = vec![Block::text(format!("result of {id}"))];
        let part = Part::ToolResult {
            id: id.into(),
            name: "f".into(),
            content,
            outcome: ToolOutcome::Ok,
        };
        let (role, parts) = (Role::User, vec![part]);
        item(Body::Prompt {
            message: Arc::new(Message { role, parts }),
        })
    }

    fn panels(messages: Vec<Arc<Message>>, fold: Option<HistoryElision>) -> Arc<Item> {
        item(Body::Panels {
            messages,
            states: Vec::new(),
            elision: fold,
        })
    }

    /// Elisions that turn the first two items into history, omit the third and abbreviate the fourth.
    fn folds(items: &[Arc<Item>]) -> HistoryElision {
        let id = |place: usize| items.get(place).map(|item| item.id);
        HistoryElision {
            history: id(0).zip(id(1)).into_iter().collect(),
            brief: id(3).into_iter().collect(),
            hidden: id(2).into_iter().collect(),
            truncated: Vec::new(),
        }
    }

    /// One item of each kind that may follow these.
    fn every_kind(items: &[Arc<Item>]) -> Vec<Arc<Item>> {
        let message = |text: &str| Arc::new(Message::user(text));
        let summary = |cached: Option<&Arc<Item>>| {
            item(Body::Summary {
                message: message("s"),
                first_kept: cached.map(|item| item.id),
            })
        };
        vec![
            item(Body::Prompt { message: message("p") }),
            summary(None),
            summary(items.iter().rev().nth(1)),
            panels(vec![message("late panel")], None),
            panels(
                vec![
                    Arc::new(Message {
                        role: Role::Assistant,
                        parts: vec![call("panel")],
                    }),
                    Arc::new(Message {
                        role: Role::User,
                        parts: result("panel").message().unwrap().parts.clone(),
                    }),
                ],
                Some(folds(items)),
            ),
            item(Body::Notice { text: "n".into() }),
            reply(vec![Part::text("words")]),
            reply(Vec::new()),
            reply(vec![call("1"), call("2")]),
            result("1"),
            result("2"),
        ]
    }

    /// Whether items name their predecessors.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Links {
        Named,
        Missing,
    }

    /// Assembles every conversation that begins with these items and has at most this many more.
    fn check(items: &mut Vec<Arc<Item>>, links: Links, longer: usize, cached: &mut LayoutCache) {
        let frame = RequestFrame::default();
        let (one, other) = (
            assemble(&frame, items, cached),
            assemble(&frame, items, &mut LayoutCache::default()),
        );
        assert_eq!(one.request.messages, other.request.messages, "{items:#?}");
        assert_eq!(one.request.breakpoints, other.request.breakpoints);
        assert_eq!(one.tokens, other.tokens);
        assert_eq!(one.tokens, other.tokens);
        if longer > 0 {
            for mut item in every_kind(items) {
                if links == Links::Named {
                    Arc::make_mut(&mut item).parent = items.last().map(|last| last.id);
                }
                items.push(item);
                check(items, links, longer - 1, cached);
                items.pop();
            }
        }
    }

    #[test]
    fn the_cache_never_changes_a_request_whatever_the_conversation_does() {
        check(&mut Vec::new(), Links::Named, 4, &mut LayoutCache::default());
        check(&mut Vec::new(), Links::Missing, 3, &mut LayoutCache::default());
    }

    #[test]
    fn settled_messages_are_shared_and_the_list_is_not_copied_after_the_last_request_was_dropped() {
        let mut items = vec![item(Body::Prompt {
            message: Arc::new(Message::user("p")),
        })];
        let mut cached = LayoutCache::default();
        for _ in 0..3 {
            // The first call is never answered: its placeholder result must stay the same as well.
            items.push(reply(vec![call("1"), call("2")]));
            items.push(result("2"));
            assemble(&RequestFrame::default(), &items, &mut cached);
        }
        let earlier = assemble(&RequestFrame::default(), &items, &mut cached).request.messages;
        let (list, before) = (earlier.as_ptr(), earlier[..7].to_vec());
        drop(earlier);
        items.push(reply(vec![Part::text("words")]));
        let later = assemble(&RequestFrame::default(), &items, &mut cached).request.messages;
        assert!(before.iter().zip(later.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert!(later.len() <= 16 && later.as_ptr() == list, "{later:?}");
    }
}
