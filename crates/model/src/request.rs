//! Everything that is said to a model at once.

use crate::{Effort, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One request, laid out from what changes least to what changes most: tools, system, messages.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The tools on offer, in a stable order.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, in sections from the most stable to the most volatile.
    pub system: Vec<Arc<str>>,
    /// The conversation. Each message is shared, so that its wire form can be kept (see [`Message`]), and so is the list: the
    /// next request goes on with it once this one is gone.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// Ends of prefixes that are worth caching, where the API has explicit marks. In order.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether and which tool must be called.
    pub tool_choice: ToolChoice,
    /// The most tokens that the reply may have; the model's own limit when absent.
    pub max_output: Option<u32>,
    /// How hard to think; the model's own default when absent.
    pub effort: Option<Effort>,
    /// Sampling temperature, where the model takes one.
    pub temperature: Option<f64>,
    /// The JSON schema that the answer's text must follow.
    pub output_schema: Option<OutputSchema>,
    /// Names the conversation, so that a provider can keep its cache warm. Never anything about the person.
    pub affinity: Option<Arc<str>>,
    /// Extra fields of the request body: the last layer of the options merge (catalogue < provider < model < call).
    pub options: Map<String, Value>,
}

/// The end of a prefix that is worth caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakpoint {
    /// After the last tool.
    Tools,
    /// After this section of the system prompt.
    System(usize),
    /// After this message.
    Message(usize),
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of its input, an object.
    pub input_schema: Value,
}

/// Whether and which tool must be called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called, though they are listed so that the cache prefix stays the same.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

/// The JSON schema that an answer must follow.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A short name; some APIs want one.
    pub name: String,
    /// The schema.
    pub schema: Value,
}
