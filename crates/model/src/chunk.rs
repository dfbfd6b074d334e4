//! The pieces in which a model's reply arrives.

use crate::{CallId, Cost, Replay, Sent, Usage};
use serde::{Deserialize, Serialize};

/// One piece of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// How long the prompt was as it left, before anything else. Not every model says so.
    Sent(Sent),
    /// More of the answer's text.
    Text(String),
    /// More of the model's visible thinking.
    Thinking(String),
    /// What the vendor wants back verbatim with a part: a signature, an encrypted reasoning item, an item id.
    ///
    /// It seals the newest part of that kind: the next delta of the kind begins a new part. Where no open part of the kind
    /// exists (redacted thinking), an empty one is made to carry it.
    Replay {
        /// The part it belongs to.
        of: Part,
        /// The data itself.
        replay: Replay,
    },
    /// A tool call begins; its input follows.
    ToolStart {
        /// Unique within the reply, whatever the provider sent.
        id: CallId,
        /// The tool's name as the model wrote it.
        name: String,
    },
    /// More of a tool call's input, as raw JSON text.
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
    /// What the provider itself says that this request cost.
    Cost(Cost),
    /// Something that the person should know, such as an attachment the model cannot take.
    Notice(String),
    /// The reply is complete. Always the last chunk of a whole stream.
    Stop(Stop),
}

/// The kind of part that a [`Chunk::Replay`] seals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
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
    /// The model has said what it wanted to say.
    End,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The output limit cut the reply.
    MaxTokens,
    /// The model, or a filter in front of it, declined.
    Refusal {
        /// The vendor's own words, where it gives any.
        detail: Option<String>,
    },
    /// A reason that hew has no name for, in the vendor's own words.
    Other {
        /// The vendor's own word.
        word: String,
    },
}
