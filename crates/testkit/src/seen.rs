//! What a request says, in one form for all wires.

use http::HeaderMap;
use serde_json::Value;

use crate::script::Turn;
use crate::wire::Wire;

/// A parsed request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The API it came by.
    pub wire: Wire,
    /// The model it names.
    pub model: String,
    /// Path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Whether it wants a stream.
    pub streaming: bool,
    /// Whether it asks for thinking to be sent.
    pub thinking: bool,
    /// The text of the system prompt.
    pub system: String,
    /// The names of the tools it offers.
    pub tools: Vec<String>,
    /// The conversation; neighbours of one role are one message.
    pub messages: Vec<Message>,
    /// The turn it is due.
    pub turn: usize,
    /// How often this turn was asked for before.
    pub attempt: u32,
    /// The body.
    pub raw: Value,
    /// The cacheable units of the prompt, in order.
    pub(crate) blocks: Vec<Block>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person, or the tools.
    User,
    /// The model.
    Assistant,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its text parts, one to a line.
    pub text: String,
    /// Its thinking, where it is readable.
    pub thinking: String,
    /// The tool calls in it.
    pub calls: Vec<CallSeen>,
    /// The tool results in it.
    pub results: Vec<ResultSeen>,
}

/// A tool call in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSeen {
    /// Its id; empty where the wire has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input; a string where the arguments were no JSON.
    pub input: Value,
}

/// A tool result in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultSeen {
    /// The id of the call; the tool's name where the wire has no ids.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether it is marked as an error, where the wire can say that.
    pub error: bool,
}

impl Seen {
    /// The result of a call.
    pub fn result(&self, call: &str) -> Option<&str> {
        self.results()
            .find(|result| result.id == call)
            .map(|result| result.text.as_str())
    }

    /// All tool results, in order.
    pub fn results(&self) -> impl Iterator<Item = &ResultSeen> {
        self.messages.iter().flat_map(|message| &message.results)
    }

    /// All tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallSeen> {
        self.messages.iter().flat_map(|message| &message.calls)
    }

    /// The text of the last thing the person said.
    pub fn last_user_text(&self) -> &str {
        let said = |message: &&Message| message.role == Role::User && !message.text.is_empty();
        self.messages
            .iter()
            .rev()
            .find(said)
            .map_or("", |message| &message.text)
    }

    /// A header, if it is readable text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether a tool is offered.
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

    /// The message that a part of this role belongs to.
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

    /// Counts a part of the prompt; `marked` where it carries a cache breakpoint.
    pub(crate) fn block(&mut self, part: &Value, marked: bool) {
        self.blocks.push(Block::of(&part.to_string(), marked));
    }

    pub(crate) fn prompt_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// The turn that the history asks for (see `Order::Progress`).
    pub(crate) fn progress(&self, turns: &[Turn]) -> usize {
        let mut turn = 0;
        for message in self.messages.iter().filter(|message| message.role == Role::Assistant) {
            let step = message.calls.iter().filter_map(|call| step(&call.id)).max();
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

/// The turn in an id that the server made.
fn step(id: &str) -> Option<usize> {
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
pub(crate) struct Block {
    pub(crate) hash: u64,
    pub(crate) bytes: u64,
    pub(crate) marked: bool,
}

impl Block {
    pub(crate) fn of(text: &str, marked: bool) -> Self {
        Self {
            hash: crate::seal::hash(text.as_bytes(), 0),
            bytes: text.len() as u64,
            marked,
        }
    }
}
