//! Kinds of message parts in the ledger.

use super::token_counter::TokenCounter;
use crate::panel;
use crate::text_calls::result_of;
use model::{Block, Message, Part, PartOrigin, Role};
use std::fmt;

/// The kind of a message part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MessageKind {
    /// A summary of earlier messages.
    Summary,
    /// Text of the user.
    Prompts,
    /// Content of mentions.
    Mentions,
    /// Attached context: panels, reminders, notifications.
    Context,
    /// Text of the model.
    Replies,
    /// Reasoning of the model.
    Thinking,
    /// Calls of a tool.
    Calls(String),
    /// Results of a tool.
    Results(String),
    /// Content of a panel.
    Panel(String),
    /// Images and documents.
    Media,
}

/// Approximate size of an image, independent of its bytes.
const MEDIA: PartSize = PartSize {
    bytes: 6_000,
    weight: 1_500,
};

/// The size of a part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PartSize {
    pub(crate) bytes: u64,
    /// Approximate tokens; only ratios matter.
    pub(crate) weight: u64,
}

impl PartSize {
    fn of(text: &str, weigh: &dyn TokenCounter) -> PartSize {
        PartSize {
            bytes: text.len() as u64,
            weight: weigh.text(text),
        }
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageKind::Summary => f.write_str("summary"),
            MessageKind::Prompts => f.write_str("prompts"),
            MessageKind::Mentions => f.write_str("mentions"),
            MessageKind::Context => f.write_str("context"),
            MessageKind::Replies => f.write_str("replies"),
            MessageKind::Thinking => f.write_str("thinking"),
            MessageKind::Calls(tool) => write!(f, "calls/{tool}"),
            MessageKind::Results(tool) => write!(f, "results/{tool}"),
            MessageKind::Panel(name) => write!(f, "panels/{name}"),
            MessageKind::Media => f.write_str("media"),
        }
    }
}

/// Returns the kinds and sizes of a message's parts.
pub(crate) fn kinds(message: &Message, weigh: &dyn TokenCounter) -> Vec<(MessageKind, PartSize)> {
    let mut kinds: Vec<(MessageKind, PartSize)> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text { text, .. } if message.role == Role::User && panel::is_panels(text) => {
                // One message may show several panels.
                let panels = panel::split_panels(text);
                kinds.extend(panels.map(|(name, text)| (MessageKind::Panel(name.into()), PartSize::of(text, weigh))));
            }
            Part::Text { text, origin, .. } => {
                kinds.push((text_kind(message.role, text, *origin), PartSize::of(text, weigh)));
            }
            Part::Thinking { text, .. } => kinds.push((MessageKind::Thinking, PartSize::of(text, weigh))),
            Part::ToolCall { name, input, .. } => {
                let size = PartSize::of(&input.to_string(), weigh);
                kinds.push((
                    part_kind(message.role, part),
                    PartSize {
                        bytes: size.bytes + name.len() as u64,
                        weight: size.weight + CALL_OVERHEAD,
                    },
                ));
            }
            Part::ToolResult { content, .. } => {
                for block in content {
                    kinds.push(match block {
                        Block::Text { text } => {
                            let size = PartSize::of(text, weigh);
                            let weight = size.weight + CALL_OVERHEAD;
                            (part_kind(message.role, part), PartSize { weight, ..size })
                        }
                        Block::Media(_) => (MessageKind::Media, MEDIA),
                    });
                }
            }
            Part::Media(_) => kinds.push((MessageKind::Media, MEDIA)),
        }
    }
    kinds
}

/// Approximate tokens of a call or result besides its text.
const CALL_OVERHEAD: u64 = 20;

/// The kind of a message's first part.
pub(crate) fn first_kind(message: &Message) -> Option<MessageKind> {
    message.parts.first().map(|part| part_kind(message.role, part))
}

fn part_kind(role: Role, part: &Part) -> MessageKind {
    match part {
        Part::Text { text, origin, .. } => text_kind(role, text, *origin),
        Part::Thinking { .. } => MessageKind::Thinking,
        Part::ToolCall { id, name, input, .. } => match panel::panel_of_call(id, input) {
            Some(panel) => MessageKind::Panel(panel.into()),
            None => MessageKind::Calls(name.clone()),
        },
        Part::ToolResult { id, name, content, .. } => match panel::panel_of_result(id, content) {
            Some(panel) => MessageKind::Panel(panel.into()),
            None => MessageKind::Results(name.clone()),
        },
        Part::Media(_) => MessageKind::Media,
    }
}

/// Whether the message starts a turn.
pub(crate) fn begins_turn(message: &Message) -> bool {
    let is_result = |part: &Part| match part {
        Part::ToolResult { .. } => true,
        Part::Text { text, .. } => result_of(text).is_some(),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => false,
    };
    message.role == Role::User && !message.parts.iter().any(is_result)
}

fn text_kind(role: Role, text: &str, origin: PartOrigin) -> MessageKind {
    // A model that calls tools in its text gets results as text.
    if let (Role::User, Some(tool)) = (role, result_of(text)) {
        return MessageKind::Results(tool.into());
    }
    match role {
        Role::Assistant => MessageKind::Replies,
        Role::User if panel::is_panels(text) => MessageKind::Panel(panel::first_panel(text).into()),
        Role::User => match origin {
            PartOrigin::Author => MessageKind::Prompts,
            PartOrigin::Summary => MessageKind::Summary,
            PartOrigin::Mention => MessageKind::Mentions,
            PartOrigin::Rules
            | PartOrigin::Environment
            | PartOrigin::Attachment
            | PartOrigin::Command
            | PartOrigin::Hook
            | PartOrigin::Reminder
            | PartOrigin::Shell => MessageKind::Context,
        },
    }
}

/// The JSON size of a value, and its hash.
pub(crate) fn json_size_and_hash(value: &impl serde::Serialize) -> (u64, u64) {
    let mut counter = HashingCounter {
        bytes: 0,
        hash: FNV_OFFSET,
    };
    // The writer cannot fail, and requests are always serialisable.
    serde_json::to_writer(&mut counter, value).unwrap_or_default();
    (counter.bytes, counter.hash)
}

/// Extends an FNV-1a hash.
pub(crate) fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// 64-bit FNV-1a.
pub(crate) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

struct HashingCounter {
    bytes: u64,
    hash: u64,
}

impl std::io::Write for HashingCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len() as u64;
        self.hash = fnv1a(self.hash, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
