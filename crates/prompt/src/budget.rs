//! How many tokens a request may have, and who gets how many of them.
//!
//! Two questions, one tree each: [`lay_out`] divides room among parts that want some before they are written, [`Tree::prune`]
//! decides what leaves when too much was written, and [`Tree::grow`] who may say more where something is left over. What they
//! are asked about is in [`Budget`].

mod flex;
mod tree;

pub use flex::{Flex, Reserve, lay_out};
pub use tree::{Exceeded, Leaf, Node, Tree};

use crate::tokens::Family;
use model::{Block, Info, Message, Part};
use std::sync::Arc;

/// This part of what the tools leave is used: estimates are not exact, and a reply needs room.
const USED_PERCENT: u64 = 85;
/// A tool's result takes at most this part of the budget.
const RESULT_PERCENT: u64 = 50;
/// What a prompt mentions takes at most one part of so many.
const MENTIONS_PART: u64 = 6;
/// Panels take at most one part of so many.
const PANELS_PART: u64 = 4;
/// Of a text that is cut, this part is its beginning; the rest is its end.
const HEAD_PERCENT: usize = 40;

/// How many tokens a request may have beside its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How they are counted.
    pub family: Family,
    /// System prompt and messages together.
    pub tokens: u64,
}

impl Budget {
    /// The budget for a model whose tools take so many tokens: the smaller of the threshold and the window, less the tools,
    /// times 0.85; all of it where there are no tools. `None` where nobody knows the window and nobody set a threshold.
    pub fn of(info: &Info, threshold: Option<u64>, tools: u64) -> Option<Self> {
        let window = Some(info.limits.window).filter(|window| *window > 0);
        let base = match (threshold, window) {
            (Some(threshold), Some(window)) => threshold.min(window),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        let tokens = match tools {
            0 => base,
            tools => base.saturating_sub(tools) * USED_PERCENT / 100,
        };
        let family = Family::of(info);
        Some(Budget { family, tokens })
    }

    /// The most tokens of one tool's result.
    pub fn result(self) -> u64 {
        self.tokens * RESULT_PERCENT / 100
    }

    /// The most tokens of what a prompt mentions.
    pub fn mentions(self) -> u64 {
        self.tokens / MENTIONS_PART
    }

    /// The most tokens of all panels together.
    pub fn panels(self) -> u64 {
        self.tokens / PANELS_PART
    }

    /// A result that takes no more than its part, cut where it must be; `None` where it may stay as it is.
    pub(crate) fn bound_result(self, message: &Arc<Message>) -> Option<Arc<Message>> {
        let most = self.result();
        // A token has a byte at least, so that nothing short needs to be looked at.
        let texts = || message.parts.iter().filter_map(result_text);
        let bytes: usize = texts().map(str::len).sum();
        if bytes as u64 <= most {
            return None;
        }
        let tokens: u64 = texts().map(|text| self.family.estimate(text)).sum();
        if tokens <= most {
            return None;
        }
        // In proportion, so that dense texts are cut to fewer bytes.
        let keep = (bytes as u64).saturating_mul(most) / tokens.max(1);
        Some(Arc::new(cut_message(message, keep as usize)))
    }
}

fn result_text(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult { content, .. } => content.iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Media(_) => None,
        }),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => None,
    }
}

/// The message with its texts cut to so many bytes in all, each in proportion to its length.
pub(crate) fn cut_message(message: &Message, bytes: usize) -> Message {
    let total: usize = message.parts.iter().map(text_bytes).sum();
    let share = |text: &str| match total {
        0 => 0,
        total => (text.len() as u128 * bytes as u128 / total as u128) as usize,
    };
    let cut_block = |block: &Block| match block {
        Block::Text { text } => Block::text(cut(text, share(text))),
        Block::Media(media) => Block::Media(media.clone()),
    };
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text, replay: None } => Part::text(cut(text, share(text))),
        Part::ToolResult {
            id,
            name,
            content,
            outcome,
        } => Part::ToolResult {
            id: id.clone(),
            name: name.clone(),
            content: content.iter().map(cut_block).collect(),
            outcome: *outcome,
        },
        // What is signed must go back as it came.
        Part::Text { replay: Some(_), .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => {
            part.clone()
        }
    });
    Message {
        role: message.role,
        parts: parts.collect(),
    }
}

/// The bytes of a part that can be cut.
fn text_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text, replay: None } => text.len(),
        Part::ToolResult { content, .. } => content
            .iter()
            .map(|block| match block {
                Block::Text { text } => text.len(),
                Block::Media(_) => 0,
            })
            .sum(),
        Part::Text { replay: Some(_), .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => 0,
    }
}

/// A text of at most about so many bytes: its beginning, what was left out, its end.
pub fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes * HEAD_PERCENT / 100);
    let tail = text.ceil_char_boundary(text.len() - (bytes - bytes * HEAD_PERCENT / 100).min(text.len()));
    let tail = tail.max(head);
    format!(
        "{}\n[… {} of {} bytes left out for lack of room …]\n{}",
        &text[..head],
        tail - head,
        text.len(),
        &text[tail..]
    )
}

#[cfg(test)]
mod tests;
