//! What of a conversation has been laid out already, so that a request costs work only for what is new.

use crate::budget::Budget;
use crate::counts::Counts;
use crate::panel::Texts;
use crate::protocol::{Protocol, catalogue, written};
use crate::repair::repair;
use crate::tokens::{Family, message_tokens, tool_tokens};
use crate::view::{folded, is_boundary};
use model::{Message, Role, ToolSpec};
use session::{Body, Item, ItemId, Time};
use std::sync::Arc;

/// What a model is told when it is to go on although nobody said anything new.
pub(crate) const GO_ON: &str = "Go on where you stopped.";

/// What of a session has been laid out already.
///
/// It saves work and changes nothing: with an empty one, a request is the same. Items and messages are recognised by their
/// address: they never change, and the clones kept here keep the addresses taken.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The items whose messages nothing that follows can change any more.
    items: Vec<Arc<Item>>,
    /// Whether one of them does not name the one before it as its parent.
    is_loose: bool,
    /// The reply after them: as long as it stands there, no more results come for their calls.
    next: Option<Arc<Item>>,
    /// The messages of the last request; the first `settled` are those of `items`.
    messages: Arc<Vec<Arc<Message>>>,
    settled: usize,
    /// Of the settled messages.
    tokens: u64,
    counts: Counts,
    /// How many messages at the beginning are panels.
    head: usize,
    /// What the messages were laid out for.
    terms: Terms,
    tools: Option<(Arc<[ToolSpec]>, Family, u64)>,
    /// The tools as text.
    catalogue: Option<(Arc<[ToolSpec]>, Arc<str>)>,
    system: Option<(Vec<Arc<str>>, Family, u64)>,
}

/// What messages are laid out for: with other terms, all of them are laid out anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) family: Family,
    pub(crate) budget: Option<Budget>,
    /// How calls and results are laid out.
    pub(crate) protocol: Protocol,
    /// The system prompt, where it must be repeated.
    pub(crate) system: Vec<Arc<str>>,
}

/// The messages of a request.
pub(crate) struct Laid {
    pub(crate) messages: Arc<Vec<Arc<Message>>>,
    /// About how many tokens they have.
    pub(crate) tokens: u64,
    /// How many of them, at the beginning, are panels.
    pub(crate) head: usize,
}

/// After so many tokens of panels, the system prompt is repeated: it is far away by then.
const REPEAT_AFTER: u64 = 20_000;

impl Kept {
    /// The messages that a model sees of these items.
    pub(crate) fn lay_out(&mut self, items: &[Arc<Item>], terms: &Terms) -> Laid {
        if self.terms != *terms {
            self.forget();
            self.counts.count_by(terms.family);
            self.terms = terms.clone();
        }
        let start = self.settled_items(items);
        if start == 0 {
            self.head = 0;
        }
        let summary = items[start..]
            .iter()
            .rposition(|item| is_boundary(item))
            .map(|place| start + place);
        // Results may still come for the calls of the last reply. What stands before it is complete.
        let from = summary.map_or(start, |place| place + 1);
        let reply = items[from..].iter().rposition(is_reply).map(|place| from + place);
        if summary.is_some() {
            self.forget();
        }
        let budget = terms.budget;
        let (complete, open) = match (summary, reply) {
            (None, Some(reply)) => (
                repaired(&items[start..reply], budget),
                repaired(&items[reply..], budget),
            ),
            (None, None) => (Vec::new(), repaired(&items[start..], budget)),
            (Some(_), Some(reply)) => (self.refolded(&items[..reply], terms), repaired(&items[reply..], budget)),
            (Some(_), None) => (Vec::new(), self.refolded(items, terms)),
        };
        let (complete, open) = (shaped(complete, terms.protocol), shaped(open, terms.protocol));
        if let Some(reply) = reply {
            self.settle(&items[self.items.len()..reply]);
            self.next = Some(Arc::clone(&items[reply]));
        }
        // Nobody holds the last request any more, as a rule, so that nothing is copied.
        let messages = Arc::make_mut(&mut self.messages);
        messages.truncate(self.settled);
        messages.extend(complete);
        self.tokens += self.counts.sum(&messages[self.settled..]);
        self.settled = messages.len();
        messages.extend(open);
        if messages.last().is_none_or(|last| last.role == Role::Assistant) {
            messages.push(Arc::new(Message::user(GO_ON)));
        }
        let tokens = self.tokens + self.counts.sum(&messages[self.settled..]);
        self.counts.tidy(messages);
        Laid {
            messages: Arc::clone(&self.messages),
            tokens,
            head: self.head,
        }
    }

    /// The messages of items that begin anew, panels first.
    fn refolded(&mut self, items: &[Arc<Item>], terms: &Terms) -> Vec<Arc<Message>> {
        let mut seen = folded(items);
        let is_panel = |item: &Arc<Item>| matches!(item.body, Body::Panels { .. } | Body::Summary { .. });
        let end = seen.iter().position(|item| !is_panel(item)).unwrap_or(seen.len());
        let has_panels = seen[..end].iter().any(|item| matches!(item.body, Body::Panels { .. }));
        let head: Vec<Arc<Message>> = seen[..end].iter().flat_map(|item| item.messages()).cloned().collect();
        self.head = if has_panels { head.len() } else { 0 };
        if has_panels && !terms.system.is_empty() && self.counts.sum(&head) >= REPEAT_AFTER {
            seen.insert(end, repetition(&terms.system));
            self.head += 1;
        }
        repaired(&seen, terms.budget)
    }

    /// About how many tokens the tools have.
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>) -> u64 {
        match &self.tools {
            Some((kept, family, tokens)) if Arc::ptr_eq(kept, tools) && *family == self.terms.family => *tokens,
            Some(_) | None => {
                let tokens = tool_tokens(self.terms.family, tools);
                self.tools = Some((Arc::clone(tools), self.terms.family, tokens));
                tokens
            }
        }
    }

    /// About how many tokens the system prompt has.
    pub(crate) fn system(&mut self, system: &[Arc<str>]) -> u64 {
        let is_same =
            |kept: &[Arc<str>]| kept.len() == system.len() && kept.iter().zip(system).all(|(a, b)| Arc::ptr_eq(a, b));
        match &self.system {
            Some((kept, family, tokens)) if is_same(kept) && *family == self.terms.family => *tokens,
            Some(_) | None => {
                let tokens = system.iter().map(|section| self.terms.family.estimate(section)).sum();
                self.system = Some((system.to_vec(), self.terms.family, tokens));
                tokens
            }
        }
    }

    /// The tools as text.
    pub(crate) fn catalogue(&mut self, tools: &Arc<[ToolSpec]>) -> Arc<str> {
        match &self.catalogue {
            Some((kept, text)) if Arc::ptr_eq(kept, tools) => Arc::clone(text),
            Some(_) | None => {
                let text: Arc<str> = catalogue(tools).into();
                self.catalogue = Some((Arc::clone(tools), Arc::clone(&text)));
                text
            }
        }
    }

    /// How many of these items are settled: none when they are not those of the last request any more.
    fn settled_items(&mut self, items: &[Arc<Item>]) -> usize {
        let (before, after) = items.split_at(self.items.len().min(items.len()));
        let is_next = match (&self.next, after.first()) {
            (Some(next), Some(item)) => Arc::ptr_eq(next, item),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !is_next || !self.begins(before) {
            self.forget();
        }
        self.items.len()
    }

    /// Whether these are the settled items. A log is a tree that only grows: where each item names the one before it, the last one
    /// decides about all of them.
    fn begins(&self, items: &[Arc<Item>]) -> bool {
        let is_same = |(kept, item): (&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(kept, item);
        self.items.len() == items.len()
            && match self.is_loose {
                true => self.items.iter().zip(items).all(is_same),
                false => self.items.last().zip(items.last()).is_none_or(is_same),
            }
    }

    /// Takes note of items that nothing can change any more.
    fn settle(&mut self, items: &[Arc<Item>]) {
        for item in items {
            let is_next = |before: &Arc<Item>| item.parent == Some(before.id);
            self.is_loose |= !self.items.last().is_none_or(is_next);
            self.items.push(Arc::clone(item));
        }
    }

    fn forget(&mut self) {
        self.is_loose = false;
        self.items.clear();
        self.next = None;
        (self.settled, self.tokens, self.head) = (0, 0, 0);
    }
}

/// What a model sees of items, in the order that it demands.
fn repaired(items: &[Arc<Item>], budget: Option<Budget>) -> Vec<Arc<Message>> {
    let messages = items.iter().flat_map(|item| {
        let is_result = matches!(item.body, Body::Result { .. });
        let budget = budget.filter(|_| is_result);
        let said = item.messages().iter().filter(|message| !message.parts.is_empty());
        said.map(move |message| {
            let bound = budget.and_then(|budget| budget.bound_result(message));
            bound.unwrap_or_else(|| Arc::clone(message))
        })
    });
    repair(messages.collect())
}

/// How many tokens a request has whose model sees these items, as they are laid out in the end.
pub(crate) fn laid_tokens(items: &[Arc<Item>], budget: Budget, protocol: Protocol) -> u64 {
    let messages = shaped(repaired(items, Some(budget)), protocol);
    let go_on = messages.last().is_none_or(|last| last.role == Role::Assistant);
    let filler = go_on.then(|| Arc::new(Message::user(GO_ON)));
    let all = messages.iter().chain(&filler);
    all.map(|message| message_tokens(budget.family, message)).sum()
}

/// The system prompt once more.
fn repetition(system: &[Arc<str>]) -> Arc<Item> {
    let text = format!("{}\n\n{}", Texts::load().repeated, system.join("\n\n"));
    Arc::new(Item {
        id: ItemId::default(),
        parent: None,
        at: Time(0),
        body: Body::Panels {
            messages: vec![Arc::new(Message::user(text))],
            shown: Vec::new(),
            fold: None,
        },
    })
}

/// The messages with calls and results as the protocol has them.
fn shaped(messages: Vec<Arc<Message>>, protocol: Protocol) -> Vec<Arc<Message>> {
    match protocol {
        Protocol::Native => messages,
        Protocol::Xml => messages.into_iter().map(written).collect(),
    }
}

/// What a model sees of an item.
fn said(item: &Arc<Item>) -> Option<&Arc<Message>> {
    item.message().filter(|message| !message.parts.is_empty())
}

fn is_reply(item: &Arc<Item>) -> bool {
    said(item).is_some_and(|message| message.role == Role::Assistant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, assemble};
    use model::{Block, Outcome, Part};
    use serde_json::json;
    use session::{End, Fold, RequestId};

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
            end: End::Interrupted,
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
            outcome: Outcome::Ok,
        };
        let (role, parts) = (Role::User, vec![part]);
        item(Body::Prompt {
            message: Arc::new(Message { role, parts }),
        })
    }

    fn panels(messages: Vec<Arc<Message>>, fold: Option<Fold>) -> Arc<Item> {
        item(Body::Panels {
            messages,
            shown: Vec::new(),
            fold,
        })
    }

    /// Folds that make history of the first two, leave out the third and show the fourth in few words.
    fn folds(items: &[Arc<Item>]) -> Fold {
        let id = |place: usize| items.get(place).map(|item| item.id);
        Fold {
            history: id(0).zip(id(1)).into_iter().collect(),
            brief: id(3).into_iter().collect(),
            gone: id(2).into_iter().collect(),
            cut: Vec::new(),
        }
    }

    /// An item of each kind that may follow these.
    fn every_kind(items: &[Arc<Item>]) -> Vec<Arc<Item>> {
        let message = |text: &str| Arc::new(Message::user(text));
        let summary = |kept: Option<&Arc<Item>>| {
            item(Body::Summary {
                message: message("s"),
                kept: kept.map(|item| item.id),
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

    /// Whether items name the ones before them.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Links {
        Named,
        Missing,
    }

    /// Assembles every conversation that begins with these items and is at most so much longer.
    fn check(items: &mut Vec<Arc<Item>>, links: Links, longer: usize, kept: &mut Kept) {
        let frame = Frame::default();
        let (one, other) = (
            assemble(&frame, items, kept),
            assemble(&frame, items, &mut Kept::default()),
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
                check(items, links, longer - 1, kept);
                items.pop();
            }
        }
    }

    #[test]
    fn what_is_kept_changes_no_request_wherever_a_conversation_goes_or_is_rewound_to() {
        check(&mut Vec::new(), Links::Named, 4, &mut Kept::default());
        check(&mut Vec::new(), Links::Missing, 3, &mut Kept::default());
    }

    #[test]
    fn settled_messages_are_shared_and_the_list_is_not_copied_once_the_last_request_is_gone() {
        let mut items = vec![item(Body::Prompt {
            message: Arc::new(Message::user("p")),
        })];
        let mut kept = Kept::default();
        for _ in 0..3 {
            // The first call is never answered: what stands in for its result must stay the same as well.
            items.push(reply(vec![call("1"), call("2")]));
            items.push(result("2"));
            assemble(&Frame::default(), &items, &mut kept);
        }
        let earlier = assemble(&Frame::default(), &items, &mut kept).request.messages;
        let (list, before) = (earlier.as_ptr(), earlier[..7].to_vec());
        drop(earlier);
        items.push(reply(vec![Part::text("words")]));
        let later = assemble(&Frame::default(), &items, &mut kept).request.messages;
        assert!(before.iter().zip(later.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert!(later.len() <= 16 && later.as_ptr() == list, "{later:?}");
    }
}
