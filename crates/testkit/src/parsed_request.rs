//! A parsed request in one format for all wires.

use http::HeaderMap;
use serde_json::Value;

use crate::script::Turn;
use crate::wire::Wire;

/// A parsed request.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    /// The API.
    pub wire: Wire,
    /// The requested model.
    pub model: String,
    /// Path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Whether it requests a stream.
    pub streaming: bool,
    /// Whether it enables thinking.
    pub thinking: bool,
    /// The text of the system prompt.
    pub system: String,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// The conversation; adjacent messages with the same role are merged.
    pub messages: Vec<Message>,
    /// The selected turn.
    pub turn: usize,
    /// How often this turn was requested before.
    pub attempt: u32,
    /// The body.
    pub raw: Value,
    /// The cacheable units of the prompt, in order.
    pub(crate) blocks: Vec<PromptBlock>,
}

/// The author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, or a tool.
    User,
    /// The model.
    Assistant,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// Its text parts, one per line.
    pub text: String,
    /// Its thinking, if readable.
    pub thinking: String,
    /// The tool calls in it.
    pub calls: Vec<ParsedCall>,
    /// The tool results in it.
    pub results: Vec<ParsedResult>,
}

/// A tool call in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedCall {
    /// Its id; empty if the wire has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input; a string if the arguments are not JSON.
    pub input: Value,
}

/// A tool result in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedResult {
    /// The id of the call; the tool's name if the wire has no ids.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether it is marked as an error, if the wire supports that.
    pub error: bool,
}

impl ParsedRequest {
    /// The result of a call.
    pub fn result(&self, call: &str) -> Option<&str> {
        self.results()
            .find(|result| result.id == call)
            .map(|result| result.text.as_str())
    }

    /// All tool results, in order.
    pub fn results(&self) -> impl Iterator<Item = &ParsedResult> {
        self.messages.iter().flat_map(|message| &message.results)
    }

    /// All tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ParsedCall> {
        self.messages.iter().flat_map(|message| &message.calls)
    }

    /// The last text of the user.
    pub fn last_user_text(&self) -> &str {
        let has_user_text = |message: &&Message| message.role == Role::User && !message.text.is_empty();
        self.messages
            .iter()
            .rev()
            .find(has_user_text)
            .map_or("", |message| &message.text)
    }

    /// A header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether a tool is available.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    pub(crate) fn new(wire: Wire, model: String, raw: Value) -> Self {
        Self {
            wire,
            model,
            path: String::new(),
            headers: HeaderMap::new(),
            streaming: false,
            thinking: false,
            system: String::new(),
            tools: Vec::new(),
            messages: Vec::new(),
            turn: 0,
            attempt: 0,
            raw,
            blocks: Vec::new(),
        }
    }

    /// The message for a part with this role.
    pub(crate) fn message(&mut self, role: Role) -> &mut Message {
        if self.messages.last().is_none_or(|last| last.role != role) {
            let empty = Message {
                role,
                text: String::new(),
                thinking: String::new(),
                calls: vec![],
                results: vec![],
            };
            self.messages.push(empty);
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    pub(crate) fn add_system(&mut self, text: &str) {
        add_line(&mut self.system, text);
    }

    /// Adds a part of the prompt; `marked` if it has a cache breakpoint.
    pub(crate) fn block(&mut self, part: &Value, marked: bool) {
        self.blocks.push(PromptBlock::of(&part.to_string(), marked));
    }

    pub(crate) fn prompt_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// The turn that the history leads to (see `TurnOrder::Progress`).
    pub(crate) fn progress(&self, turns: &[Turn]) -> usize {
        let mut turn = 0;
        for message in self.messages.iter().filter(|message| message.role == Role::Assistant) {
            let step = message.calls.iter().filter_map(|call| step_number(&call.id)).max();
            let was_interrupted = message.calls.is_empty() && turns.get(turn).is_some_and(Turn::must_call);
            turn = match step {
                Some(step) => step + 1,
                None if was_interrupted => turn,
                None => turn + 1,
            };
        }
        turn
    }
}

impl Message {
    pub(crate) fn add_text(&mut self, text: &str) {
        add_line(&mut self.text, text);
    }
}

/// The turn in an id created by the server.
fn step_number(id: &str) -> Option<usize> {
    id.strip_prefix("call_step")?.split('_').next()?.parse().ok()
}

fn add_line(all: &mut String, text: &str) {
    if !all.is_empty() && !text.is_empty() {
        all.push('\n');
    }
    all.push_str(text);
}

/// A cacheable unit of the prompt.
#[derive(Clone, Debug)]
pub(crate) struct PromptBlock {
    pub(crate) hash: u64,
    pub(crate) bytes: u64,
    pub(crate) marked: bool,
}

impl PromptBlock {
    pub(crate) fn of(text: &str, marked: bool) -> Self {
        Self {
            hash: crate::signatures::hash(text.as_bytes(), 0),
            bytes: text.len() as u64,
            marked,
        }
    }
}
