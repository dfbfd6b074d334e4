//! What of a conversation has been laid out already, so that a request costs work only for what is new.

use crate::protocol::{Protocol, catalogue, written};
use crate::repair::repair;
use crate::sizes::{self, Sizes};
use crate::view;
use model::{Message, Role, ToolSpec};
use session::{Body, Item};
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
    /// The reply after them: as long as it stands there, no more results come for their calls.
    next: Option<Arc<Item>>,
    /// The messages of the last request; the first `settled` are those of `items`.
    messages: Arc<Vec<Arc<Message>>>,
    settled: usize,
    /// Of the settled messages.
    sizes: Sizes,
    tools: Option<(Arc<[ToolSpec]>, usize)>,
    /// The tools as text.
    catalogue: Option<(Arc<[ToolSpec]>, Arc<str>)>,
    /// How calls and results are laid out.
    protocol: Protocol,
}

impl Kept {
    /// The messages that a model sees of these items, and their sizes.
    pub(crate) fn lay_out(&mut self, items: &[Arc<Item>], protocol: Protocol) -> (Arc<Vec<Arc<Message>>>, Sizes) {
        if self.protocol != protocol {
            self.forget();
            self.protocol = protocol;
        }
        let start = self.settled_items(items);
        let is_summary = |item: &Arc<Item>| matches!(item.body, Body::Summary { .. });
        let summary = items[start..].iter().rposition(is_summary).map(|place| start + place);
        // Results may still come for the calls of the last reply. What stands before it is complete.
        let from = summary.map_or(start, |place| place + 1);
        let reply = items[from..].iter().rposition(is_reply).map(|place| from + place);
        if summary.is_some() {
            self.forget();
        }
        let (complete, open) = match (summary, reply) {
            (None, Some(reply)) => (repaired(&items[start..reply]), repaired(&items[reply..])),
            (None, None) => (Vec::new(), repaired(&items[start..])),
            (Some(_), Some(reply)) => (repaired(view(&items[..reply])), repaired(&items[reply..])),
            (Some(_), None) => (Vec::new(), repaired(view(items))),
        };
        let (complete, open) = (shaped(complete, protocol), shaped(open, protocol));
        // Nobody holds the last request any more, as a rule, so that nothing is copied.
        let messages = Arc::make_mut(&mut self.messages);
        messages.truncate(self.settled);
        messages.extend(complete);
        self.sizes.add_all(&messages[self.settled..]);
        self.settled = messages.len();
        if let Some(reply) = reply {
            self.items.extend_from_slice(&items[self.items.len()..reply]);
            self.next = Some(Arc::clone(&items[reply]));
        }
        messages.extend(open);
        if messages.last().is_none_or(|last| last.role == Role::Assistant) {
            messages.push(Arc::new(Message::user(GO_ON)));
        }
        let mut sizes = self.sizes;
        sizes.add_all(&messages[self.settled..]);
        (Arc::clone(&self.messages), sizes)
    }

    /// About how long the tools are.
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>) -> usize {
        match &self.tools {
            Some((kept, size)) if Arc::ptr_eq(kept, tools) => *size,
            Some(_) | None => {
                let size = sizes::of_tools(tools);
                self.tools = Some((Arc::clone(tools), size));
                size
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
        let kept = self.items.iter().chain(&self.next);
        let same = kept.clone().zip(items).all(|(a, b)| Arc::ptr_eq(a, b));
        if !same || items.len() < kept.count() {
            self.forget();
        }
        self.items.len()
    }

    fn forget(&mut self) {
        self.items.clear();
        self.next = None;
        (self.settled, self.sizes) = (0, Sizes::default());
    }
}

/// What a model sees of items, in the order that it demands.
fn repaired<'a>(items: impl IntoIterator<Item = &'a Arc<Item>>) -> Vec<Arc<Message>> {
    repair(items.into_iter().filter_map(said).cloned().collect())
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
    use session::{End, ItemId, RequestId, Time};

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
            item(Body::Notice { text: "n".into() }),
            reply(vec![Part::text("words")]),
            reply(Vec::new()),
            reply(vec![call("1"), call("2")]),
            result("1"),
            result("2"),
        ]
    }

    /// Assembles every conversation that begins with these items and is at most so much longer.
    fn check(items: &mut Vec<Arc<Item>>, longer: usize, kept: &mut Kept) {
        let frame = Frame::default();
        let (one, other) = (
            assemble(&frame, items, kept),
            assemble(&frame, items, &mut Kept::default()),
        );
        assert_eq!(one.request.messages, other.request.messages, "{items:#?}");
        assert_eq!(one.request.breakpoints, other.request.breakpoints);
        assert_eq!(one.sections, other.sections);
        if longer > 0 {
            for item in every_kind(items) {
                items.push(item);
                check(items, longer - 1, kept);
                items.pop();
            }
        }
    }

    #[test]
    fn what_is_kept_changes_no_request_wherever_a_conversation_goes_or_is_rewound_to() {
        check(&mut Vec::new(), 5, &mut Kept::default());
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
