//! Lays out one request from what a session has said.

use crate::Protocol;
use crate::budget::Budget;
use crate::kept::{Kept, Laid, Terms};
use crate::tokens::Family;
use model::{Breakpoint, Effort, Message, OutputSchema, Request, Role, ToolSpec};
use serde_json::{Map, Value};
use session::Item;
use std::sync::Arc;

/// What stays the same from request to request of a session.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, in sections.
    pub system: Vec<Arc<str>>,
    /// Names the session to the provider's cache.
    pub affinity: Option<Arc<str>>,
    /// How the model is asked.
    pub call: Call,
    /// How the model calls tools.
    pub protocol: Protocol,
    /// How the model's tokens are counted.
    pub family: Family,
    /// How many of them there may be; `None` where nobody knows.
    pub budget: Option<Budget>,
}

/// How the model is asked.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// How hard to think.
    pub effort: Option<Effort>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens that a reply may have.
    pub max_output: Option<u32>,
    /// The JSON schema that the final answer must follow.
    pub output_schema: Option<OutputSchema>,
    /// Extra fields of the request body.
    pub options: Map<String, Value>,
}

/// A request and its size.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The request.
    pub request: Request,
    /// About how many tokens it has.
    pub tokens: u64,
}

/// One request from a session's items, oldest first.
///
/// Costs work in proportion to what is new since `kept` was last used: messages that were laid out before are shared.
pub fn assemble(frame: &Frame, items: &[Arc<Item>], kept: &mut Kept) -> Assembled {
    let terms = Terms {
        family: frame.family,
        budget: frame.budget,
        protocol: frame.protocol,
        system: frame.system.clone(),
    };
    let Laid { messages, tokens, head } = kept.lay_out(items, &terms);
    let tokens = tokens + kept.tools(&frame.tools) + kept.system(&frame.system);
    let (tools, system) = offer(frame, kept);
    let breakpoints = breakpoints(&tools, &system, &messages, head);
    let Call {
        effort,
        temperature,
        max_output,
        output_schema,
        options,
    } = frame.call.clone();
    let request = Request {
        tools,
        system,
        messages,
        breakpoints,
        max_output,
        effort,
        temperature,
        output_schema,
        affinity: frame.affinity.clone(),
        options,
        ..Request::default()
    };
    Assembled { request, tokens }
}

/// The tools and the system prompt as the model gets them: by the provider's means, or as a part of the system prompt after
/// what is the same in every session.
fn offer(frame: &Frame, kept: &mut Kept) -> (Arc<[ToolSpec]>, Vec<Arc<str>>) {
    let mut system = frame.system.clone();
    match frame.protocol {
        Protocol::Native => (Arc::clone(&frame.tools), system),
        Protocol::Xml if frame.tools.is_empty() => (Arc::default(), system),
        Protocol::Xml => {
            system.insert(system.len().min(1), kept.catalogue(&frame.tools));
            (Arc::default(), system)
        }
    }
}

/// Providers take so many marks at most.
const MOST_MARKS: usize = 4;

/// Marks by what is stable: after the tools, after the system prompt, after the panels at the beginning, where the last request
/// ended, and at the end. Where that is too many, the tools go without: they change with the system prompt as a rule.
fn breakpoints(tools: &[ToolSpec], system: &[Arc<str>], messages: &[Arc<Message>], head: usize) -> Vec<Breakpoint> {
    let mut marks = Vec::new();
    if !tools.is_empty() {
        marks.push(Breakpoint::Tools);
    }
    if !system.is_empty() {
        marks.push(Breakpoint::System(system.len() - 1));
    }
    let last_reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    // The last request ended before the run of replies that answered it.
    let before = last_reply.and_then(|reply| messages[..reply].iter().rposition(|m| m.role == Role::User));
    let end = messages.len().checked_sub(1);
    let panels = head
        .checked_sub(1)
        .filter(|last| Some(*last) != before && Some(*last) != end);
    // Panels may hold replies of their own: then the last request ended before the panels did.
    let mut places: Vec<usize> = panels.into_iter().chain(before).chain(end).collect();
    places.sort_unstable();
    places.dedup();
    marks.extend(places.into_iter().map(Breakpoint::Message));
    let too_many = marks.len().saturating_sub(MOST_MARKS);
    marks.drain(..too_many);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::GO_ON;
    use session::{Body, End, ItemId, RequestId, Time};

    fn item(body: Body) -> Arc<Item> {
        Arc::new(Item {
            id: ItemId::new(),
            parent: None,
            at: Time(0),
            body,
        })
    }

    fn prompt(text: &str) -> Arc<Item> {
        item(Body::Prompt {
            message: Arc::new(Message::user(text)),
        })
    }

    fn reply(text: &str) -> Arc<Item> {
        item(Body::Reply {
            message: Arc::new(Message::assistant(text)),
            model: "m".into(),
            request: RequestId::new(),
            end: End::Interrupted,
        })
    }

    fn texts(items: &[Arc<Item>]) -> Vec<String> {
        assemble(&Frame::default(), items, &mut Kept::default())
            .request
            .messages
            .iter()
            .map(|message| message.text())
            .collect()
    }

    #[test]
    fn the_view_begins_at_the_newest_summary() {
        let summary = item(Body::Summary {
            message: Arc::new(Message::user("so far")),
            kept: None,
        });
        assert_eq!(texts(&[prompt("a"), reply("b"), summary, prompt("c")]), ["so far", "c"]);
    }

    #[test]
    fn notices_reviews_and_empty_replies_are_not_shown_and_a_reply_at_the_end_is_asked_to_go_on() {
        let notice = item(Body::Notice { text: "told".into() });
        let review = item(Body::Review { changes: Vec::new() });
        let empty = item(Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts: vec![],
            }),
            model: "m".into(),
            request: RequestId::new(),
            end: End::Interrupted,
        });
        assert_eq!(
            texts(&[prompt("a"), notice, empty, reply("half"), review]),
            ["a", "half", GO_ON]
        );
    }

    #[test]
    fn marks_stand_where_the_last_request_ended_and_at_the_end() {
        let frame = Frame {
            system: vec!["s".into(), "t".into()],
            ..Frame::default()
        };
        let marks = assemble(&frame, &[prompt("a"), reply("b"), prompt("c")], &mut Kept::default())
            .request
            .breakpoints;
        assert_eq!(
            marks,
            [Breakpoint::System(1), Breakpoint::Message(0), Breakpoint::Message(2)]
        );
    }

    #[test]
    fn each_request_extends_the_one_before_it_with_the_same_shared_messages() {
        let items: Vec<_> = (0..50)
            .flat_map(|n| [prompt(&format!("p{n}")), reply(&format!("r{n}"))])
            .collect();
        let frame = Frame::default();
        let earlier = assemble(&frame, &items[..41], &mut Kept::default()).request.messages;
        let later = assemble(&frame, &items[..43], &mut Kept::default()).request.messages;
        assert!(earlier.iter().zip(later.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
    }
}
