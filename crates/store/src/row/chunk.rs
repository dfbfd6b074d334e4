//! Chunks of a streaming reply as rows.

use super::shared::{ReplayRow, StopRow};
use model::ChunkPart;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Chunks as a JSON list.
pub(crate) fn encode(chunks: &[model::Chunk]) -> serde_json::Result<String> {
    let rows: Vec<ChunkRow<'_>> = chunks.iter().map(ChunkRow::from).collect();
    serde_json::to_string(&rows)
}

/// The known chunks of a JSON list.
pub(crate) fn decode(json: &str) -> serde_json::Result<Vec<model::Chunk>> {
    let rows: Vec<ChunkRow<'_>> = serde_json::from_str(json)?;
    Ok(rows.into_iter().filter_map(ChunkRow::known).collect())
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChunkRow<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        text: Cow<'a, str>,
    },
    Replay {
        of: ChunkPartRow<'a>,
        replay: ReplayRow<'a>,
    },
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
    },
    Input {
        id: Cow<'a, str>,
        delta: Cow<'a, str>,
    },
    Called {
        id: Cow<'a, str>,
    },
    Usage(UsageRow),
    Cost {
        nano_usd: i64,
    },
    Notice {
        text: Cow<'a, str>,
    },
    Stop {
        stop: StopRow<'a>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChunkPartRow<'a> {
    Text,
    Thinking,
    Call {
        id: Cow<'a, str>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct UsageRow {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
    thinking: u64,
    estimated: bool,
}

impl<'a> From<&'a model::Chunk> for ChunkRow<'a> {
    fn from(chunk: &'a model::Chunk) -> Self {
        match chunk {
            model::Chunk::Text(text) => ChunkRow::Text {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Thinking(text) => ChunkRow::Thinking {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Replay { of, replay } => ChunkRow::Replay {
                of: of.into(),
                replay: replay.into(),
            },
            model::Chunk::ToolStart { id, name } => ChunkRow::Call {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
            },
            model::Chunk::ToolInput { id, delta } => ChunkRow::Input {
                id: Cow::Borrowed(id.as_str()),
                delta: Cow::Borrowed(delta),
            },
            model::Chunk::ToolEnd { id } => ChunkRow::Called {
                id: Cow::Borrowed(id.as_str()),
            },
            model::Chunk::Usage(usage) => ChunkRow::Usage((*usage).into()),
            model::Chunk::Cost(cost) => ChunkRow::Cost {
                nano_usd: cost.nano_usd,
            },
            model::Chunk::Notice(text) => ChunkRow::Notice {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Stop(stop) => ChunkRow::Stop { stop: stop.into() },
            // The sent request is not part of the reply.
            model::Chunk::PromptSize(_) => ChunkRow::Unknown,
        }
    }
}

impl ChunkRow<'_> {
    fn known(self) -> Option<model::Chunk> {
        Some(match self {
            ChunkRow::Text { text } => model::Chunk::Text(text.into_owned()),
            ChunkRow::Thinking { text } => model::Chunk::Thinking(text.into_owned()),
            ChunkRow::Replay { of, replay } => model::Chunk::Replay {
                of: of.known()?,
                replay: replay.into(),
            },
            ChunkRow::Call { id, name } => model::Chunk::ToolStart {
                id: id.into_owned().into(),
                name: name.into_owned(),
            },
            ChunkRow::Input { id, delta } => model::Chunk::ToolInput {
                id: id.into_owned().into(),
                delta: delta.into_owned(),
            },
            ChunkRow::Called { id } => model::Chunk::ToolEnd {
                id: id.into_owned().into(),
            },
            ChunkRow::Usage(usage) => model::Chunk::Usage(usage.into()),
            ChunkRow::Cost { nano_usd } => model::Chunk::Cost(model::Cost { nano_usd }),
            ChunkRow::Notice { text } => model::Chunk::Notice(text.into_owned()),
            ChunkRow::Stop { stop } => model::Chunk::Stop(stop.into()),
            ChunkRow::Unknown => return None,
        })
    }
}

impl<'a> From<&'a ChunkPart> for ChunkPartRow<'a> {
    fn from(part: &'a ChunkPart) -> Self {
        match part {
            ChunkPart::Text => ChunkPartRow::Text,
            ChunkPart::Thinking => ChunkPartRow::Thinking,
            ChunkPart::Call(id) => ChunkPartRow::Call {
                id: Cow::Borrowed(id.as_str()),
            },
        }
    }
}

impl ChunkPartRow<'_> {
    fn known(self) -> Option<ChunkPart> {
        match self {
            ChunkPartRow::Text => Some(ChunkPart::Text),
            ChunkPartRow::Thinking => Some(ChunkPart::Thinking),
            ChunkPartRow::Call { id } => Some(ChunkPart::Call(id.into_owned().into())),
            ChunkPartRow::Unknown => None,
        }
    }
}

impl From<model::Usage> for UsageRow {
    fn from(usage: model::Usage) -> Self {
        UsageRow {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cache_write_1h: usage.cache_write_1h,
            output: usage.output,
            thinking: usage.thinking,
            estimated: usage.estimated,
        }
    }
}

impl From<UsageRow> for model::Usage {
    fn from(row: UsageRow) -> Self {
        model::Usage {
            input: row.input,
            cache_read: row.cache_read,
            cache_write: row.cache_write,
            cache_write_1h: row.cache_write_1h,
            output: row.output,
            thinking: row.thinking,
            estimated: row.estimated,
        }
    }
}
