//! What the parts of a message are, for the ledger.

use super::weigh::Weigh;
use crate::panel;
use crate::protocol::result_of;
use model::{Block, Message, Part, Role};
use std::fmt;

/// What a part of a message is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Notes that stand for what came before.
    Summary,
    /// What the person said.
    Prompts,
    /// What a prompt mentions.
    Mentions,
    /// What is told along with it: panels, reminders, what happened beside the conversation.
    Context,
    /// What the model said.
    Replies,
    /// What it thought.
    Thinking,
    /// Its calls of a tool.
    Calls(String),
    /// The results of a tool.
    Results(String),
    /// What a panel shows.
    Panel(String),
    /// Images and documents.
    Media,
}

/// About what a picture takes: its bytes say little about that.
const MEDIA: Size = Size {
    bytes: 6_000,
    weight: 1_500,
};

/// How much of a prompt something takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    /// About how many tokens that is; only relations matter.
    pub(crate) weight: u64,
}

impl Size {
    fn of(text: &str, weigh: &dyn Weigh) -> Size {
        Size {
            bytes: text.len() as u64,
            weight: weigh.text(text),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Summary => f.write_str("summary"),
            Kind::Prompts => f.write_str("prompts"),
            Kind::Mentions => f.write_str("mentions"),
            Kind::Context => f.write_str("context"),
            Kind::Replies => f.write_str("replies"),
            Kind::Thinking => f.write_str("thinking"),
            Kind::Calls(tool) => write!(f, "calls/{tool}"),
            Kind::Results(tool) => write!(f, "results/{tool}"),
            Kind::Panel(name) => write!(f, "panels/{name}"),
            Kind::Media => f.write_str("media"),
        }
    }
}

/// What a message is made of, and how much of it.
pub(crate) fn kinds(message: &Message, weigh: &dyn Weigh) -> Vec<(Kind, Size)> {
    let mut kinds: Vec<(Kind, Size)> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text { text, .. } if message.role == Role::User && panel::is_panels(text) => {
                // One message may show several of them.
                let panels = panel::shown_in(text);
                kinds.extend(panels.map(|(name, text)| (Kind::Panel(name.into()), Size::of(text, weigh))));
            }
            Part::Text { text, .. } => kinds.push((text_kind(message.role, text), Size::of(text, weigh))),
            Part::Thinking { text, .. } => kinds.push((Kind::Thinking, Size::of(text, weigh))),
            Part::ToolCall { name, input, .. } => {
                let size = Size::of(&input.to_string(), weigh);
                kinds.push((
                    part_kind(message.role, part),
                    Size {
                        bytes: size.bytes + name.len() as u64,
                        weight: size.weight + AROUND,
                    },
                ));
            }
            Part::ToolResult { content, .. } => {
                for block in content {
                    kinds.push(match block {
                        Block::Text { text } => {
                            let size = Size::of(text, weigh);
                            let weight = size.weight + AROUND;
                            (part_kind(message.role, part), Size { weight, ..size })
                        }
                        Block::Media(_) => (Kind::Media, MEDIA),
                    });
                }
            }
            Part::Media(_) => kinds.push((Kind::Media, MEDIA)),
        }
    }
    kinds
}

/// About what a call or a result takes besides its text, in tokens.
const AROUND: u64 = 20;

/// What a message is first of all.
pub(crate) fn first(message: &Message) -> Option<Kind> {
    message.parts.first().map(|part| part_kind(message.role, part))
}

fn part_kind(role: Role, part: &Part) -> Kind {
    match part {
        Part::Text { text, .. } => text_kind(role, text),
        Part::Thinking { .. } => Kind::Thinking,
        Part::ToolCall { id, name, input, .. } => match panel::called(id, input) {
            Some(panel) => Kind::Panel(panel.into()),
            None => Kind::Calls(name.clone()),
        },
        Part::ToolResult { id, name, content, .. } => match panel::answered(id, content) {
            Some(panel) => Kind::Panel(panel.into()),
            None => Kind::Results(name.clone()),
        },
        Part::Media(_) => Kind::Media,
    }
}

/// Whether the person, or something beside the conversation, speaks here.
pub(crate) fn begins_turn(message: &Message) -> bool {
    let is_result = |part: &Part| match part {
        Part::ToolResult { .. } => true,
        Part::Text { text, .. } => result_of(text).is_some(),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => false,
    };
    message.role == Role::User && !message.parts.iter().any(is_result)
}

fn text_kind(role: Role, text: &str) -> Kind {
    // A model that calls tools in its text gets results as text.
    if let (Role::User, Some(tool)) = (role, result_of(text)) {
        return Kind::Results(tool.into());
    }
    match role {
        Role::Assistant => Kind::Replies,
        Role::User if panel::is_panels(text) => Kind::Panel(panel::first(text).into()),
        Role::User if text.starts_with("<summary>") => Kind::Summary,
        Role::User if text.starts_with("<context>") => Kind::Mentions,
        // Whatever else begins with a tag of our own is told along with a prompt.
        Role::User if text.starts_with('<') && text.trim_end().ends_with('>') => Kind::Context,
        Role::User => Kind::Prompts,
    }
}

/// How long a value is as JSON, and a hash of it.
pub(crate) fn counted(value: &impl serde::Serialize) -> (u64, u64) {
    let mut counter = Counter { bytes: 0, hash: START };
    // A counter cannot fail, and neither can what is counted: it has been sent or will be.
    serde_json::to_writer(&mut counter, value).unwrap_or_default();
    (counter.bytes, counter.hash)
}

/// A hash of a text, or of one hash after another.
pub(crate) fn mixed(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Of 64-bit FNV-1a.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

struct Counter {
    bytes: u64,
    hash: u64,
}

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len() as u64;
        self.hash = mixed(self.hash, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
