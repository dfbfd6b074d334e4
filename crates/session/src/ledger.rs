//! What every request was made of, and what it cost in tokens, money and time.

use crate::{BlobId, ItemId, RequestId, Time};
use model::{Breakpoint, Cost, Usage};

/// One request to a model, whether it succeeded or not. Every token is in exactly one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Names it.
    pub id: RequestId,
    /// The item that came of it.
    pub item: Option<ItemId>,
    /// What it was for: `turn`, `title`, `summary`, or what a tool says it was for.
    pub purpose: String,
    /// The model, as `provider/id`.
    pub model: String,
    /// Which attempt it was, counting from 1.
    pub attempt: u32,
    /// When it left.
    pub at: Time,
    /// Milliseconds until the first chunk came; `None` when none came.
    pub first_chunk: Option<u64>,
    /// Milliseconds until it ended.
    pub total: u64,
    /// Its tokens.
    pub usage: Usage,
    /// Its price, where one is known.
    pub cost: Option<Cost>,
    /// Why it stopped, or what went wrong.
    pub outcome: String,
    /// What the prompt was made of, in the order in which the model saw it.
    pub sections: Vec<Section>,
    /// Where the prompt left the one before it, and what it takes to show it again, where that is known.
    pub prompt: Option<Prompt>,
}

/// A part of a prompt and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Such as `tools`, `system/rules`, `history/results/read_file`, `turn/replies`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its share of the prompt's tokens.
    pub tokens: u64,
    /// Of these, those that the provider's cache should have held.
    pub cached: u64,
}

/// A prompt in relation to the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Tokens that the provider's cache should have held; `usage.cache_read` is what the provider says.
    pub cached: u64,
    /// Whether that is an estimate: the provider has counted more than this prefix, but never the prefix by itself, or its counts
    /// do not add up because it rounds them.
    pub is_estimate: bool,
    /// Where it left the one before it.
    pub difference: Difference,
    /// The request that it is told in terms of.
    pub base: Option<RequestId>,
    /// The tools, the system prompt and how the model is asked; those of the base when absent.
    pub frame: Option<BlobId>,
    /// The contents that the frame is made of.
    pub frame_parts: Vec<BlobId>,
    /// How many messages it begins with that are those of the base.
    pub shared: u64,
    /// The messages after these.
    pub said: Vec<Said>,
    /// Its cache marks.
    pub marks: Vec<Breakpoint>,
    /// What its prompt cost.
    pub paid: Option<Paid>,
}

/// Where a prompt left the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// There was none before it.
    First,
    /// Nowhere: it goes on where that one ended.
    Extends,
    /// At a byte.
    At {
        /// How many bytes are the same.
        byte: u64,
        /// The part that changed, and how.
        part: String,
    },
    /// Nowhere, but the cache is not expected to hold it any more.
    Lost {
        /// Why.
        why: String,
    },
}

/// Where the text of a message is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// In the log: an item, and which of its messages.
    Item(ItemId, usize),
    /// It was made for this request, and is kept by its content.
    Made(BlobId),
}

/// What a prompt cost, by what its tokens were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paid {
    /// Those that came from the cache.
    pub cached: Cost,
    /// The others.
    pub fresh: Cost,
}

impl Difference {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Difference::First => "the first request".into(),
            Difference::Extends => "extends".into(),
            Difference::At { byte, part } => format!("{part} (from byte {byte})"),
            Difference::Lost { why } => why.clone(),
        }
    }
}
