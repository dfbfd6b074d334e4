//! Pieces of a reply that still streams, as rows.

use super::shared::{Replay, Stop};
use model::ChunkPart;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Chunks as a JSON list.
pub(crate) fn encode(chunks: &[model::Chunk]) -> serde_json::Result<String> {
    let rows: Vec<Chunk<'_>> = chunks.iter().map(Chunk::from).collect();
    serde_json::to_string(&rows)
}

/// The chunks of a JSON list that this version knows.
pub(crate) fn decode(json: &str) -> serde_json::Result<Vec<model::Chunk>> {
    let rows: Vec<Chunk<'_>> = serde_json::from_str(json)?;
    Ok(rows.into_iter().filter_map(Chunk::known).collect())
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Chunk<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        text: Cow<'a, str>,
    },
    Replay {
        of: Part<'a>,
        replay: Replay<'a>,
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
    Usage(Usage),
    Cost {
        nano_usd: i64,
    },
    Notice {
        text: Cow<'a, str>,
    },
    Stop {
        stop: Stop<'a>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
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
struct Usage {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
    thinking: u64,
    estimated: bool,
}

impl<'a> From<&'a model::Chunk> for Chunk<'a> {
    fn from(chunk: &'a model::Chunk) -> Self {
        match chunk {
            model::Chunk::Text(text) => Chunk::Text {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Thinking(text) => Chunk::Thinking {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Replay { of, replay } => Chunk::Replay {
                of: of.into(),
                replay: replay.into(),
            },
            model::Chunk::ToolStart { id, name } => Chunk::Call {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
            },
            model::Chunk::ToolInput { id, delta } => Chunk::Input {
                id: Cow::Borrowed(id.as_str()),
                delta: Cow::Borrowed(delta),
            },
            model::Chunk::ToolEnd { id } => Chunk::Called {
                id: Cow::Borrowed(id.as_str()),
            },
            model::Chunk::Usage(usage) => Chunk::Usage((*usage).into()),
            model::Chunk::Cost(cost) => Chunk::Cost {
                nano_usd: cost.nano_usd,
            },
            model::Chunk::Notice(text) => Chunk::Notice {
                text: Cow::Borrowed(text),
            },
            model::Chunk::Stop(stop) => Chunk::Stop { stop: stop.into() },
            // What a reply was asked with is no part of it.
            model::Chunk::Sent(_) => Chunk::Unknown,
        }
    }
}

impl Chunk<'_> {
    fn known(self) -> Option<model::Chunk> {
        Some(match self {
            Chunk::Text { text } => model::Chunk::Text(text.into_owned()),
            Chunk::Thinking { text } => model::Chunk::Thinking(text.into_owned()),
            Chunk::Replay { of, replay } => model::Chunk::Replay {
                of: of.known()?,
                replay: replay.into(),
            },
            Chunk::Call { id, name } => model::Chunk::ToolStart {
                id: id.into_owned().into(),
                name: name.into_owned(),
            },
            Chunk::Input { id, delta } => model::Chunk::ToolInput {
                id: id.into_owned().into(),
                delta: delta.into_owned(),
            },
            Chunk::Called { id } => model::Chunk::ToolEnd {
                id: id.into_owned().into(),
            },
            Chunk::Usage(usage) => model::Chunk::Usage(usage.into()),
            Chunk::Cost { nano_usd } => model::Chunk::Cost(model::Cost { nano_usd }),
            Chunk::Notice { text } => model::Chunk::Notice(text.into_owned()),
            Chunk::Stop { stop } => model::Chunk::Stop(stop.into()),
            Chunk::Unknown => return None,
        })
    }
}

impl<'a> From<&'a ChunkPart> for Part<'a> {
    fn from(part: &'a ChunkPart) -> Self {
        match part {
            ChunkPart::Text => Part::Text,
            ChunkPart::Thinking => Part::Thinking,
            ChunkPart::Call(id) => Part::Call {
                id: Cow::Borrowed(id.as_str()),
            },
        }
    }
}

impl Part<'_> {
    fn known(self) -> Option<ChunkPart> {
        match self {
            Part::Text => Some(ChunkPart::Text),
            Part::Thinking => Some(ChunkPart::Thinking),
            Part::Call { id } => Some(ChunkPart::Call(id.into_owned().into())),
            Part::Unknown => None,
        }
    }
}

impl From<model::Usage> for Usage {
    fn from(usage: model::Usage) -> Self {
        Usage {
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

impl From<Usage> for model::Usage {
    fn from(row: Usage) -> Self {
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
