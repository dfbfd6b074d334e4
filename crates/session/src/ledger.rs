//! The request ledger: composition, tokens, cost and timing of every request.

use crate::{BlobId, ItemId, ReplyEnd, RequestId, Time};
use model::{Breakpoint, Cost, SentBody, Stop, Usage};
use std::fmt;

/// One request to a model, successful or not. Every token is in exactly one record.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// The request's id.
    pub id: RequestId,
    /// The resulting item.
    pub item: Option<ItemId>,
    /// Its purpose: `turn`, `title`, `summary`, or a purpose named by a tool.
    pub purpose: String,
    /// The model, as `provider/id`.
    pub model: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When it was sent.
    pub at: Time,
    /// Milliseconds until the first chunk; `None` if there was none.
    pub first_chunk: Option<u64>,
    /// Milliseconds until the end.
    pub total: u64,
    /// Its tokens.
    pub usage: Usage,
    /// Its price, if known.
    pub cost: Option<Cost>,
    /// How it ended.
    pub outcome: RequestEnd,
    /// The sections of the prompt, in the order in which they were sent.
    pub sections: Vec<LedgerSection>,
    /// Difference from the previous prompt, and the data to reproduce this one, if known.
    pub prompt: Option<PromptRecord>,
    /// Its place in the session, and what was sent.
    pub facts: RequestFacts,
}

/// The place of a request in its session, and what was sent. Requests of earlier versions have no facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// The newest item at the time.
    pub head: Option<ItemId>,
    /// The mode.
    pub mode: String,
    /// The number of the turn in the session, from 1; 0 outside turns.
    pub turn: u32,
    /// The number of the request in the turn, from 1.
    pub round: u32,
    /// The number of tools that were offered.
    pub tools: u32,
    /// The number of calls in the reply.
    pub calls: u32,
    /// The number of calls in the reply with malformed input.
    pub malformed: u32,
    /// Microseconds that assembling the request took.
    pub assembled_in: u64,
    /// The body, if it was sent.
    pub body: Option<SentBody>,
    /// The bytes of the reply, if they were recorded: a blob with a [`model::RecordedStream`] as JSON.
    pub stream: Option<BlobId>,
    /// What the request was built from, besides the items: a blob.
    pub inputs: Option<BlobId>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnd {
    /// The model finished.
    Finished(Stop),
    /// The edit in the reply was applied.
    Applied,
    /// The edit in the reply could not be applied.
    Rejected,
    /// The user or a crash interrupted it.
    Interrupted,
    /// It failed.
    Failed {
        /// The error.
        error: String,
    },
}

impl RequestEnd {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            RequestEnd::Finished(stop) => stop.name(),
            RequestEnd::Applied => "applied",
            RequestEnd::Rejected => "rejected",
            RequestEnd::Interrupted => "interrupted",
            RequestEnd::Failed { .. } => "failed",
        }
    }

    /// The error or the vendor's own words, if any.
    pub fn detail(&self) -> Option<&str> {
        match self {
            RequestEnd::Finished(stop) => stop.detail(),
            RequestEnd::Failed { error } => Some(error),
            RequestEnd::Applied | RequestEnd::Rejected | RequestEnd::Interrupted => None,
        }
    }

    /// The end with this name; an unknown name counts as a failure.
    pub fn from_name(name: &str, detail: Option<String>) -> Self {
        match name {
            "end" => RequestEnd::Finished(Stop::End),
            "tool_use" => RequestEnd::Finished(Stop::ToolUse),
            "max_tokens" => RequestEnd::Finished(Stop::MaxTokens),
            "refusal" => RequestEnd::Finished(Stop::Refusal { detail }),
            "other" => RequestEnd::Finished(Stop::Other {
                word: detail.unwrap_or_default(),
            }),
            "applied" => RequestEnd::Applied,
            "rejected" => RequestEnd::Rejected,
            "interrupted" => RequestEnd::Interrupted,
            name => RequestEnd::Failed {
                error: detail.unwrap_or_else(|| name.to_owned()),
            },
        }
    }
}

impl From<&ReplyEnd> for RequestEnd {
    fn from(end: &ReplyEnd) -> Self {
        match end {
            ReplyEnd::Finished(stop) => RequestEnd::Finished(stop.clone()),
            ReplyEnd::Interrupted => RequestEnd::Interrupted,
            ReplyEnd::Cut { error } => RequestEnd::Failed { error: error.clone() },
        }
    }
}

impl fmt::Display for RequestEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            Some(detail) => write!(f, "{}: {detail}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// A section of a prompt and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSection {
    /// Such as `tools`, `system/rules`, `history/results/read_file`, `turn/replies`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its share of the prompt's tokens.
    pub tokens: u64,
    /// The part of these tokens that was expected in the provider's cache.
    pub cached: u64,
}

/// A prompt in relation to the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRecord {
    /// Tokens expected in the provider's cache; `usage.cache_read` is the number reported by the provider.
    pub cached: u64,
    /// Whether `cached` is an estimate: the provider has not counted exactly this prefix, or rounds its counts.
    pub is_estimate: bool,
    /// The difference from the previous prompt.
    pub difference: PromptDifference,
    /// The request that this one is stored relative to.
    pub base: Option<RequestId>,
    /// The tools, the system prompt and the request parameters; `None` if the same as in the base.
    pub frame: Option<BlobId>,
    /// The blobs that the frame refers to.
    pub frame_parts: Vec<BlobId>,
    /// The number of leading messages shared with the base.
    pub shared_messages: u64,
    /// The messages after the shared ones.
    pub messages: Vec<MessageRef>,
    /// Its cache breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// The cost of the prompt tokens.
    pub cost: Option<PromptCost>,
}

/// Where a prompt differs from the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptDifference {
    /// There is no previous prompt.
    First,
    /// It extends the previous prompt.
    Extends,
    /// It differs from a byte on.
    At {
        /// The number of equal bytes.
        byte: u64,
        /// The part that changed, and how it changed.
        part: String,
    },
    /// It extends the previous prompt, but the cache entry is expected to have expired.
    CacheExpired {
        /// The reason.
        reason: String,
    },
}

/// Where a message of a prompt is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageRef {
    /// In the log: an item, and the index of the message in it.
    Item(ItemId, usize),
    /// In a blob: the message was built for this request.
    Blob(BlobId),
}

/// The cost of a prompt's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptCost {
    /// Tokens read from the cache.
    pub cached: Cost,
    /// All other tokens.
    pub fresh: Cost,
}

impl PromptDifference {
    /// A short description.
    pub fn describe(&self) -> String {
        match self {
            PromptDifference::First => "the first request".into(),
            PromptDifference::Extends => "extends".into(),
            PromptDifference::At { byte, part } => format!("{part} (from byte {byte})"),
            PromptDifference::CacheExpired { reason: why } => why.clone(),
        }
    }
}
