//! The messages of a conversation.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The id that links a tool call and its result.
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

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or the result of a tool.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation.
///
/// Adjacent messages with the same role form one turn: providers join them on the wire. Messages are shared as
/// `Arc<Message>` and immutable, so that a provider can cache their wire form by address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The author of a message.
    pub role: Role,
    /// The content.
    pub parts: Vec<Part>,
}

impl Message {
    /// A plain text message from the user.
    pub fn user(text: impl Into<String>) -> Self {
        Message {
            role: Role::User,
            parts: vec![Part::text(text)],
        }
    }

    /// A plain text message from the model.
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
        /// Who wrote the text. It is not sent to the model.
        #[serde(skip)]
        origin: PartOrigin,
        /// Vendor data to send back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayData>,
    },
    /// The model's reasoning.
    Thinking {
        /// The visible text; may be empty.
        text: String,
        /// Vendor data to send back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayData>,
    },
    /// A tool call.
    ToolCall {
        /// The id of the call.
        id: CallId,
        /// The tool's name as the model wrote it.
        name: String,
        /// A JSON object; `{}` if the model's text could not be parsed (see [`Part::ToolCall::malformed`]).
        input: Value,
        /// The model's text, if it is not JSON and cannot be repaired safely.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<String>,
        /// Vendor data to send back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayData>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        id: CallId,
        /// The tool's name; some wires require it.
        name: String,
        /// The content for the model.
        content: Vec<Block>,
        /// Whether the tool succeeded.
        outcome: ToolOutcome,
    },
    /// An image or a document.
    Media(Media),
}

impl Part {
    /// A text part by the message's author, without replay data.
    pub fn text(text: impl Into<String>) -> Self {
        Part::with_origin(text, PartOrigin::Author)
    }

    /// A text part without replay data.
    pub fn with_origin(text: impl Into<String>, origin: PartOrigin) -> Self {
        Part::Text {
            text: text.into(),
            origin,
            replay: None,
        }
    }
}

/// Who wrote a text part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PartOrigin {
    /// The author of the message: the user or the model.
    #[default]
    Author,
    /// Project rules, added by hew.
    Rules,
    /// Facts about the environment, added by hew.
    Environment,
    /// Content that the prompt mentions, added by hew.
    Mention,
    /// A file that the user attached.
    Attachment,
    /// The text of a slash command or a skill.
    Command,
    /// Context from a hook.
    Hook,
    /// The user's standing reminder.
    Reminder,
    /// A shell line that the user ran, with its output.
    Shell,
    /// A summary of the conversation so far.
    Summary,
}

/// Whether a tool succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It succeeded.
    Ok,
    /// It failed; the content contains the reason.
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
    /// The file name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The bytes; base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
}

impl Media {
    /// Whether this is a PDF document rather than an image.
    pub fn is_pdf(&self) -> bool {
        self.mime == "application/pdf"
    }
}

/// Opaque vendor data that must be sent back unchanged.
///
/// It is sent back only on the wire that produced it and omitted on any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayData {
    /// The wire that produced it, by its [`crate::Wire::name`].
    pub wire: String,
    /// The data in that wire's format.
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
