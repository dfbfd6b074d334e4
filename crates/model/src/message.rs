//! The turns of a conversation as a model sees them.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The name by which a tool call and its result find each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

impl CallId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        CallId(id.into())
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        CallId(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or a tool that answers.
    User,
    /// The model.
    Assistant,
}

/// One contribution to the conversation.
///
/// Adjacent messages of one role are one turn to the model: providers join them on the wire. Messages are shared as
/// `Arc<Message>` and never change, so that a provider can keep the wire form of each one by its address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of plain text from the person.
    pub fn user(text: impl Into<String>) -> Self {
        Message {
            role: Role::User,
            parts: vec![Part::text(text)],
        }
    }

    /// A message of plain text from the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message {
            role: Role::Assistant,
            parts: vec![Part::text(text)],
        }
    }

    /// All text parts, joined by blank lines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
            })
            .collect();
        texts.join("\n\n")
    }
}

/// One typed part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// What the vendor wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// The model's own thinking.
    Thinking {
        /// As far as the vendor shows it; may be empty.
        text: String,
        /// What the vendor wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// The model calls a tool.
    ToolCall {
        /// Names the call.
        id: CallId,
        /// The tool's name as the model wrote it.
        name: String,
        /// A JSON object; `{}` where the model's text could not be read (see [`Part::ToolCall::malformed`]).
        input: Value,
        /// The model's own text where it was not JSON and could not be repaired safely.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<String>,
        /// What the vendor wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// A tool answers.
    ToolResult {
        /// The call that it answers.
        id: CallId,
        /// The tool's name; some wires want it.
        name: String,
        /// What the model sees.
        content: Vec<Block>,
        /// Whether the tool did what it was asked.
        outcome: Outcome,
    },
    /// An image or a document.
    Media(Media),
}

impl Part {
    /// A text part without anything to send back.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text {
            text: text.into(),
            replay: None,
        }
    }
}

/// Whether a tool did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did.
    Ok,
    /// It did not; the content says why.
    Error,
}

/// One block of a tool's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image or a document.
    Media(Media),
}

impl Block {
    /// A block of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into() }
    }
}

/// An image or a document, with its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// Such as `image/png` or `application/pdf`.
    pub mime: String,
    /// A file name, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The bytes themselves; base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
}

impl Media {
    /// Whether this is a PDF document rather than an image.
    pub fn is_pdf(&self) -> bool {
        self.mime == "application/pdf"
    }
}

/// Data that only the vendor understands and that must go back to it unchanged.
///
/// It is sent back only on the wire that it came from; on any other it is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The wire that made it, as [`crate::Wire::name`] says it.
    pub wire: String,
    /// Whatever that wire needs.
    pub data: Value,
}

mod base64_bytes {
    //! Bytes as base64 text in JSON.
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom)
    }
}
