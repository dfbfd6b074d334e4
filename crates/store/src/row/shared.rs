//! Rows that several others hold.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct Replay<'a> {
    wire: Cow<'a, str>,
    data: Cow<'a, Value>,
}

impl<'a> From<&'a model::Replay> for Replay<'a> {
    fn from(replay: &'a model::Replay) -> Self {
        Replay {
            wire: Cow::Borrowed(&replay.wire),
            data: Cow::Borrowed(&replay.data),
        }
    }
}

impl From<Replay<'_>> for model::Replay {
    fn from(row: Replay<'_>) -> Self {
        model::Replay {
            wire: row.wire.into_owned(),
            data: row.data.into_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub(super) enum Stop<'a> {
    End,
    ToolUse,
    MaxTokens,
    Refusal {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<Cow<'a, str>>,
    },
    Other {
        word: Cow<'a, str>,
    },
    #[serde(other)]
    Unknown,
}

impl<'a> From<&'a model::Stop> for Stop<'a> {
    fn from(stop: &'a model::Stop) -> Self {
        match stop {
            model::Stop::End => Stop::End,
            model::Stop::ToolUse => Stop::ToolUse,
            model::Stop::MaxTokens => Stop::MaxTokens,
            model::Stop::Refusal { detail } => Stop::Refusal {
                detail: detail.as_deref().map(Cow::Borrowed),
            },
            model::Stop::Other { word } => Stop::Other {
                word: Cow::Borrowed(word),
            },
        }
    }
}

impl From<Stop<'_>> for model::Stop {
    fn from(row: Stop<'_>) -> Self {
        match row {
            Stop::End => model::Stop::End,
            Stop::ToolUse => model::Stop::ToolUse,
            Stop::MaxTokens => model::Stop::MaxTokens,
            Stop::Refusal { detail } => model::Stop::Refusal {
                detail: detail.map(Cow::into_owned),
            },
            Stop::Other { word } => model::Stop::Other {
                word: word.into_owned(),
            },
            Stop::Unknown => model::Stop::Other { word: "unknown".into() },
        }
    }
}
