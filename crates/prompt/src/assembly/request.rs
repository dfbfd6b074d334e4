//! Builds one request from the items of a session.

use super::layout_cache::{LayoutCache, LayoutParams, RequestLayout};
use crate::CallProtocol;
use crate::budget::TokenBudget;
use crate::tokens::TokenizerFamily;
use model::{Breakpoint, Effort, Message, OutputSchema, Request, Role, ToolSpec};
use serde_json::{Map, Value};
use session::Item;
use std::sync::Arc;

/// The part of a request that is constant within a session.
#[derive(Debug, Clone, Default)]
pub struct RequestFrame {
    /// The available tools.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, in sections.
    pub system: Vec<Arc<str>>,
    /// Identifies the session to the provider's cache.
    pub affinity: Option<Arc<str>>,
    /// Sampling and output parameters of a request.
    pub call: RequestOptions,
    /// How the model calls tools.
    pub protocol: CallProtocol,
    /// How the model's tokens are counted.
    pub family: TokenizerFamily,
    /// The token budget; `None` if unknown.
    pub budget: Option<TokenBudget>,
}

/// Sampling and output parameters of a request.
#[derive(Debug, Clone, Default)]
pub struct RequestOptions {
    /// Reasoning effort.
    pub effort: Option<Effort>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum output tokens.
    pub max_output: Option<u32>,
    /// JSON schema of the final answer.
    pub output_schema: Option<OutputSchema>,
    /// Additional fields of the request body.
    pub options: Map<String, Value>,
}

/// A request and its size.
#[derive(Debug, Clone)]
pub struct AssembledRequest {
    /// The request.
    pub request: Request,
    /// Estimated tokens.
    pub tokens: u64,
}

/// Builds one request from the items of a session, oldest first.
///
/// The cost is proportional to what is new since `cache` was last used: messages that were laid out before are shared.
pub fn assemble(frame: &RequestFrame, items: &[Arc<Item>], cache: &mut LayoutCache) -> AssembledRequest {
    let terms = LayoutParams {
        family: frame.family,
        budget: frame.budget,
        protocol: frame.protocol,
        system: frame.system.clone(),
    };
    let RequestLayout { messages, tokens, head } = cache.lay_out(items, &terms);
    let tokens = tokens + cache.tools_tokens(&frame.tools) + cache.system_tokens(&frame.system);
    let (tools, system) = tools_and_system(frame, cache);
    let breakpoints = breakpoints(&tools, &system, &messages, head);
    let RequestOptions {
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
    AssembledRequest { request, tokens }
}

/// Returns the tools and the system prompt as they are sent: natively, or as a section of the system prompt after the
/// sections that are the same in every session.
fn tools_and_system(frame: &RequestFrame, cache: &mut LayoutCache) -> (Arc<[ToolSpec]>, Vec<Arc<str>>) {
    let mut system = frame.system.clone();
    match frame.protocol {
        CallProtocol::Native => (Arc::clone(&frame.tools), system),
        CallProtocol::Xml if frame.tools.is_empty() => (Arc::default(), system),
        CallProtocol::Xml => {
            system.insert(system.len().min(1), cache.catalogue(&frame.tools));
            (Arc::default(), system)
        }
    }
}

/// Maximum number of breakpoints that providers accept.
const MAX_BREAKPOINTS: usize = 4;

/// Places breakpoints by stability: after the tools, the system prompt, the leading panels, the end of the last request
/// and the end of this one. If there are too many, the tools go without: they usually change together with the system
/// prompt.
fn breakpoints(tools: &[ToolSpec], system: &[Arc<str>], messages: &[Arc<Message>], head: usize) -> Vec<Breakpoint> {
    let mut points = Vec::new();
    if !tools.is_empty() {
        points.push(Breakpoint::Tools);
    }
    if !system.is_empty() {
        points.push(Breakpoint::System(system.len() - 1));
    }
    let last_reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    // The last request ended before the replies to it.
    let before = last_reply.and_then(|reply| messages[..reply].iter().rposition(|m| m.role == Role::User));
    let end = messages.len().checked_sub(1);
    let panels = head
        .checked_sub(1)
        .filter(|last| Some(*last) != before && Some(*last) != end);
    // Panels may contain replies of their own: then the last request ended before the panels.
    let mut places: Vec<usize> = panels.into_iter().chain(before).chain(end).collect();
    places.sort_unstable();
    places.dedup();
    points.extend(places.into_iter().map(Breakpoint::Message));
    let too_many = points.len().saturating_sub(MAX_BREAKPOINTS);
    points.drain(..too_many);
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::layout_cache::CONTINUE_TEXT;
    use session::{Body, ItemId, ReplyEnd, RequestId, Time};

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
            end: ReplyEnd::Interrupted,
        })
    }

    fn texts(items: &[Arc<Item>]) -> Vec<String> {
        assemble(&RequestFrame::default(), items, &mut LayoutCache::default())
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
            first_kept: None,
        });
        assert_eq!(texts(&[prompt("a"), reply("b"), summary, prompt("c")]), ["so far", "c"]);
    }

    #[test]
    fn notices_reviews_and_empty_replies_are_hidden_and_a_final_reply_is_continued() {
        let notice = item(Body::Notice { text: "notice".into() });
        let review = item(Body::Review {
            message: None,
            changes: Vec::new(),
        });
        let empty = item(Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts: vec![],
            }),
            model: "m".into(),
            request: RequestId::new(),
            end: ReplyEnd::Interrupted,
        });
        assert_eq!(
            texts(&[prompt("a"), notice, empty, reply("half"), review]),
            ["a", "half", CONTINUE_TEXT]
        );
    }

    #[test]
    fn breakpoints_mark_the_end_of_the_last_request_and_of_this_one() {
        let frame = RequestFrame {
            system: vec!["s".into(), "t".into()],
            ..RequestFrame::default()
        };
        let points = assemble(
            &frame,
            &[prompt("a"), reply("b"), prompt("c")],
            &mut LayoutCache::default(),
        )
        .request
        .breakpoints;
        assert_eq!(
            points,
            [Breakpoint::System(1), Breakpoint::Message(0), Breakpoint::Message(2)]
        );
    }

    #[test]
    fn each_request_extends_the_previous_one_with_shared_messages() {
        let items: Vec<_> = (0..50)
            .flat_map(|n| [prompt(&format!("p{n}")), reply(&format!("r{n}"))])
            .collect();
        let frame = RequestFrame::default();
        let earlier = assemble(&frame, &items[..41], &mut LayoutCache::default())
            .request
            .messages;
        let later = assemble(&frame, &items[..43], &mut LayoutCache::default())
            .request
            .messages;
        assert!(earlier.iter().zip(later.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
    }
}
