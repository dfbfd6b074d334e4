//! Token budgets and their distribution.
//!
//! [`allocate`] divides a budget among parts before they are written, [`PriorityTree::prune`] removes parts that do not
//! fit, and [`PriorityTree::grow`] distributes what remains. [`TokenBudget`] is the budget of a request.

mod allocation;
mod priority_tree;

pub use allocation::{Reservation, SizeRequest, allocate};
pub use priority_tree::{BudgetExceeded, PriorityNode, PriorityTree, TextLeaf};

use crate::message_bytes;
use crate::tokens::{TokenizerFamily, message_tokens};
use model::{Block, Info, Message, Part};
use session::{Body, Item};
use std::sync::Arc;

/// Percentage used of what the tools leave: estimates are not exact, and a reply needs tokens too.
const USABLE_PERCENT: u64 = 85;
/// Maximum percentage of the budget for one tool result.
const RESULT_PERCENT: u64 = 50;
/// Mentions get at most this fraction of the budget.
const MENTIONS_DIVISOR: u64 = 6;
/// Panels get at most this fraction of the budget.
const PANELS_DIVISOR: u64 = 4;
/// Percentage of a cut text that is taken from its beginning; the rest is its end.
const HEAD_PERCENT: usize = 40;

/// How many tokens a request may have, excluding its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// How tokens are counted.
    pub family: TokenizerFamily,
    /// System prompt and messages.
    pub tokens: u64,
}

impl TokenBudget {
    /// Returns the budget for a model: the smaller of threshold and context window, minus the tokens of the tools,
    /// times 0.85; without tools, all of it. `None` if neither the window nor a threshold is known.
    pub fn of(info: &Info, threshold: Option<u64>, tools: u64) -> Option<Self> {
        let window = Some(info.limits.window).filter(|window| *window > 0);
        let base = match (threshold, window) {
            (Some(threshold), Some(window)) => threshold.min(window),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        let tokens = match tools {
            0 => base,
            tools => base.saturating_sub(tools) * USABLE_PERCENT / 100,
        };
        let family = TokenizerFamily::of(info);
        Some(TokenBudget { family, tokens })
    }

    /// Returns a budget that bounds nothing.
    pub fn unlimited(family: TokenizerFamily) -> Self {
        TokenBudget {
            family,
            tokens: u64::MAX / 100,
        }
    }

    /// Maximum tokens of one tool result.
    pub fn result(self) -> u64 {
        self.tokens * RESULT_PERCENT / 100
    }

    /// Maximum tokens of the content of mentions.
    pub fn mentions(self) -> u64 {
        self.tokens / MENTIONS_DIVISOR
    }

    /// Maximum tokens of all panels.
    pub fn panels(self) -> u64 {
        self.tokens / PANELS_DIVISOR
    }

    /// Estimated tokens of an item as it is sent: a result counts after it was cut to its share.
    pub fn item_tokens(self, item: &Item) -> u64 {
        self.item_size(item).tokens
    }

    /// The size of an item as it is sent.
    pub(crate) fn item_size(self, item: &Item) -> ItemSize {
        let is_result = matches!(item.body, Body::Result { .. });
        let mut size = ItemSize::default();
        for message in item.messages() {
            let bound = if is_result { self.bound_result(message) } else { None };
            let message = bound.as_ref().unwrap_or(message);
            size.tokens += message_tokens(self.family, message);
            size.bytes += message_bytes(message) as u64;
        }
        size
    }

    /// Returns the result cut to its share, or `None` if it fits.
    pub(crate) fn bound_result(self, message: &Arc<Message>) -> Option<Arc<Message>> {
        let most = self.result();
        // A token has at least one byte, so short texts need no estimate.
        let texts = || message.parts.iter().flat_map(result_texts);
        let bytes: usize = texts().map(str::len).sum();
        if bytes as u64 <= most {
            return None;
        }
        let tokens: u64 = texts().map(|text| self.family.estimate(text)).sum();
        if tokens <= most {
            return None;
        }
        // Cut proportionally, so that dense texts are cut to fewer bytes.
        let keep = (bytes as u64).saturating_mul(most) / tokens.max(1);
        Some(Arc::new(cut_message(message, keep as usize)))
    }
}

/// The size of an item as it is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ItemSize {
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
}

fn result_texts(part: &Part) -> impl Iterator<Item = &str> {
    let content = match part {
        Part::ToolResult { content, .. } => content.as_slice(),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => &[],
    };
    content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Media(_) => None,
    })
}

/// Cuts the texts of a message to a total number of bytes, each in proportion to its length.
pub(crate) fn cut_message(message: &Message, bytes: usize) -> Message {
    let total: usize = message.parts.iter().map(text_bytes).sum();
    let share = |text: &str| match total {
        0 => 0,
        total => (text.len() as u128 * bytes as u128 / total as u128) as usize,
    };
    let cut_block = |block: &Block| match block {
        Block::Text { text } => Block::text(cut_middle(text, share(text))),
        Block::Media(media) => Block::Media(media.clone()),
    };
    let parts = message.parts.iter().map(|part| match part {
        Part::Text {
            text,
            origin,
            replay: None,
        } => Part::with_origin(cut_middle(text, share(text)), *origin),
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
        // Signed parts must be sent back unchanged.
        Part::Text { replay: Some(_), .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => {
            part.clone()
        }
    });
    Message {
        role: message.role,
        parts: parts.collect(),
    }
}

/// Number of bytes of a part that can be cut.
fn text_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text, replay: None, .. } => text.len(),
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

/// Cuts the middle out of a text so that it has about this many bytes, and notes how much is missing.
pub fn cut_middle(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes * HEAD_PERCENT / 100);
    let tail = text.ceil_char_boundary(text.len() - (bytes - bytes * HEAD_PERCENT / 100).min(text.len()));
    let tail = tail.max(head);
    format!(
        "{}\n[… {} of {} bytes omitted …]\n{}",
        &text[..head],
        tail - head,
        text.len(),
        &text[tail..]
    )
}

#[cfg(test)]
mod tests;
