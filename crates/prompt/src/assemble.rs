//! Lays out one request from what a session has said.

use crate::repair::repair;
use crate::view;
use model::{Block, Breakpoint, Effort, Message, OutputSchema, Part, Request, Role, ToolSpec};
use serde_json::{Map, Value};
use session::{Item, Section};
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

/// A request and what it is made of.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The request.
    pub request: Request,
    /// Its parts and their sizes.
    pub sections: Vec<Section>,
}

/// What a model is told when it is to go on although nobody said anything new.
const GO_ON: &str = "Go on where you stopped.";

/// One request from a session's items, oldest first.
///
/// Costs work in proportion to the number of items, not to their size: messages are shared, not copied.
pub fn assemble(frame: &Frame, items: &[Arc<Item>]) -> Assembled {
    let said = view(items).filter_map(|item| item.message());
    let mut messages = repair(said.filter(|message| !message.parts.is_empty()).cloned().collect());
    if messages.last().is_none_or(|last| last.role == Role::Assistant) {
        messages.push(Arc::new(Message::user(GO_ON)));
    }
    let sections = sections(frame, &messages);
    let breakpoints = breakpoints(frame, &messages);
    let Call {
        effort,
        temperature,
        max_output,
        output_schema,
        options,
    } = frame.call.clone();
    let request = Request {
        tools: Arc::clone(&frame.tools),
        system: frame.system.clone(),
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
    Assembled { request, sections }
}

/// Marks after the tools, after the system prompt, where the last request ended, and at the end.
fn breakpoints(frame: &Frame, messages: &[Arc<Message>]) -> Vec<Breakpoint> {
    let mut marks = Vec::new();
    if !frame.tools.is_empty() {
        marks.push(Breakpoint::Tools);
    }
    if !frame.system.is_empty() {
        marks.push(Breakpoint::System(frame.system.len() - 1));
    }
    let last_reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    // The last request ended before the run of replies that answered it.
    let before = last_reply.and_then(|reply| messages[..reply].iter().rposition(|m| m.role == Role::User));
    marks.extend(before.map(Breakpoint::Message));
    marks.extend(messages.len().checked_sub(1).map(Breakpoint::Message));
    marks
}

fn sections(frame: &Frame, messages: &[Arc<Message>]) -> Vec<Section> {
    let tools: usize = frame
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + size(&tool.input_schema))
        .sum();
    let system: usize = frame.system.iter().map(|section| section.len()).sum();
    let mut sizes = Sizes::default();
    for message in messages {
        message.parts.iter().for_each(|part| sizes.add(message.role, part));
    }
    let Sizes {
        prompts,
        replies,
        results,
        media,
    } = sizes;
    [
        ("tools", tools),
        ("system", system),
        ("prompts", prompts),
        ("replies", replies),
        ("results", results),
        (MEDIA, media),
    ]
    .into_iter()
    .map(|(name, bytes)| Section {
        name: name.into(),
        bytes: bytes as u64,
    })
    .collect()
}

/// The section of images and documents, whose bytes say little about their tokens.
pub const MEDIA: &str = "media";

/// How many bytes of each kind the messages have.
#[derive(Default)]
struct Sizes {
    prompts: usize,
    replies: usize,
    results: usize,
    media: usize,
}

impl Sizes {
    fn add(&mut self, role: Role, part: &Part) {
        match part {
            Part::Text { text, .. } | Part::Thinking { text, .. } => match role {
                Role::User => self.prompts += text.len(),
                Role::Assistant => self.replies += text.len(),
            },
            Part::ToolCall { name, input, .. } => self.replies += name.len() + size(input),
            Part::ToolResult { content, .. } => content.iter().for_each(|block| match block {
                Block::Text { text } => self.results += text.len(),
                Block::Media(media) => self.media += media.data.len(),
            }),
            Part::Media(media) => self.media += media.data.len(),
        }
    }
}

/// About how long a value is as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 3,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 1,
        Value::Object(object) => {
            object
                .iter()
                .map(|(key, value)| key.len() + 4 + size(value))
                .sum::<usize>()
                + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assemble(&Frame::default(), items)
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
        let marks = assemble(&frame, &[prompt("a"), reply("b"), prompt("c")])
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
        let earlier = assemble(&frame, &items[..41]).request.messages;
        let later = assemble(&frame, &items[..43]).request.messages;
        assert!(earlier.iter().zip(&later).all(|(a, b)| Arc::ptr_eq(a, b)));
    }
}
