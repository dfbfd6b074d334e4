//! What messages and tools cost beside their texts.

use super::{Family, media};
use model::{Block, Message, Part, ToolSpec};

/// What a message costs beside what it says.
const MESSAGE: u64 = 3;
/// What a call or a result costs beside what it says: its name and the id by which they find each other.
const CALL: u64 = 12;
/// What tools cost in all, and each of them, beside what they say.
const TOOLS: u64 = 16;
const TOOL: u64 = 8;

/// About how many tokens a message takes.
pub fn message_tokens(family: Family, message: &Message) -> u64 {
    let said: u64 = message.parts.iter().map(|part| part_tokens(family, part)).sum();
    MESSAGE + said
}

fn part_tokens(family: Family, part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => family.estimate(text),
        Part::ToolCall { name, input, .. } => CALL + family.estimate(name) + family.estimate(&input.to_string()),
        Part::ToolResult { content, .. } => {
            let said: u64 = content
                .iter()
                .map(|block| match block {
                    Block::Text { text } => family.estimate(text),
                    Block::Media(media) => media::tokens(family, media),
                })
                .sum();
            CALL + said
        }
        Part::Media(media) => media::tokens(family, media),
    }
}

/// About how many tokens the tools take.
pub fn tool_tokens(family: Family, tools: &[ToolSpec]) -> u64 {
    if tools.is_empty() {
        return 0;
    }
    let each = |tool: &ToolSpec| {
        TOOL + family.estimate(&tool.name)
            + family.estimate(&tool.description)
            + family.estimate(&tool.input_schema.to_string())
    };
    TOOLS + tools.iter().map(each).sum::<u64>()
}
