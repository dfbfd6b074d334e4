//! The input for one model request.

use crate::{Effort, Message, WireTrace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One request, ordered from the most stable to the most volatile content: tools, system, messages.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The available tools, in a stable order.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, in sections from the most stable to the most volatile.
    pub system: Vec<Arc<str>>,
    /// The conversation. Each message is shared, so that its wire form can be cached (see [`Message`]). The list is
    /// shared too: the next request reuses it.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// Ends of prefixes worth caching, in order, for APIs with explicit breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether a tool must be called, and which.
    pub tool_choice: ToolChoice,
    /// The maximum reply in tokens; the model's limit if absent.
    pub max_output: Option<u32>,
    /// The reasoning effort; the model's default if absent.
    pub effort: Option<Effort>,
    /// The sampling temperature, if the model supports one.
    pub temperature: Option<f64>,
    /// The JSON schema for the reply's text.
    pub output_schema: Option<OutputSchema>,
    /// Identifies the conversation for the provider's cache. Contains no user data.
    pub affinity: Option<Arc<str>>,
    /// Extra fields of the request body: the last layer of the options merge (catalogue < provider < model < call).
    pub options: Map<String, Value>,
    /// Observes the request on the wire.
    pub trace: WireTrace,
}

/// The end of a prefix worth caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakpoint {
    /// After the last tool.
    Tools,
    /// After this section of the system prompt.
    System(usize),
    /// After this message.
    Message(usize),
}

/// A tool, as presented to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// Its purpose and when to use it.
    pub description: String,
    /// The JSON schema of its input, an object.
    pub input_schema: Value,
}

/// Whether a tool must be called, and which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called; the tools are still listed to keep the cache prefix unchanged.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

/// The JSON schema for a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A short name; some APIs require one.
    pub name: String,
    /// The schema.
    pub schema: Value,
}
