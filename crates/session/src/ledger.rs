//! What every request cost, in tokens, money and time.

use crate::{ItemId, RequestId, Time};
use model::{Cost, Usage};

/// One request to a model, whether it succeeded or not. Every token is in exactly one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Names it.
    pub id: RequestId,
    /// The item that came of it.
    pub item: Option<ItemId>,
    /// What it was for: `turn`, `title`, or what a tool says it was for.
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
    /// What the prompt was made of.
    pub sections: Vec<Section>,
}

/// A part of a prompt and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Such as `tools`, `system`, `messages`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}
