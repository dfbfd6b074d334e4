//! The pieces in which a model's reply arrives.

use crate::{CallId, Cost, PromptSize, ReplayData, Usage};
use serde::{Deserialize, Serialize};

/// One piece of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// The size of the prompt as sent. Comes first, but not every model reports it.
    PromptSize(PromptSize),
    /// A delta of the reply's text.
    Text(String),
    /// A delta of the model's visible thinking.
    Thinking(String),
    /// Vendor data to send back verbatim with a part: a signature, an encrypted reasoning item, an item id.
    ///
    /// It completes the newest part of that kind: the next delta of the kind starts a new part. If there is no open
    /// part of the kind (redacted thinking), an empty part carries the data.
    Replay {
        /// The part it belongs to.
        of: ChunkPart,
        /// The data itself.
        replay: ReplayData,
    },
    /// A tool call starts; its input follows.
    ToolStart {
        /// Unique within the reply, regardless of the id that the provider sent.
        id: CallId,
        /// The tool's name as the model wrote it.
        name: String,
    },
    /// A delta of a tool call's input, as raw JSON text.
    ToolInput {
        /// The call it belongs to.
        id: CallId,
        /// Raw JSON text.
        delta: String,
    },
    /// A tool call's input is complete.
    ToolEnd {
        /// The call that is complete.
        id: CallId,
    },
    /// The provider's running totals for this request; a later one replaces an earlier one.
    Usage(Usage),
    /// The cost of this request as reported by the provider.
    Cost(Cost),
    /// A notice for the user, such as an attachment that the model does not support.
    Notice(String),
    /// The reply is complete. Always the last chunk of a complete stream.
    Stop(Stop),
}

/// The kind of part that a [`Chunk::Replay`] completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkPart {
    /// The newest text.
    Text,
    /// The newest thinking.
    Thinking,
    /// A tool call.
    Call(CallId),
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Stop {
    /// The model finished its reply.
    End,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The reply reached the output limit.
    MaxTokens,
    /// The model, or a content filter, declined.
    Refusal {
        /// The vendor's explanation, if any.
        detail: Option<String>,
    },
    /// A stop reason that hew does not know.
    Other {
        /// The vendor's name for the reason.
        word: String,
    },
}

impl Stop {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Stop::End => "end",
            Stop::ToolUse => "tool_use",
            Stop::MaxTokens => "max_tokens",
            Stop::Refusal { .. } => "refusal",
            Stop::Other { .. } => "other",
        }
    }

    /// The vendor's own words, if any.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Stop::End | Stop::ToolUse | Stop::MaxTokens => None,
            Stop::Refusal { detail } => detail.as_deref(),
            Stop::Other { word } => Some(word),
        }
    }
}
