//! Rows used by several others.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct ReplayRow<'a> {
    wire: Cow<'a, str>,
    data: Cow<'a, Value>,
}

impl<'a> From<&'a model::ReplayData> for ReplayRow<'a> {
    fn from(replay: &'a model::ReplayData) -> Self {
        ReplayRow {
            wire: Cow::Borrowed(&replay.wire),
            data: Cow::Borrowed(&replay.data),
        }
    }
}

impl From<ReplayRow<'_>> for model::ReplayData {
    fn from(row: ReplayRow<'_>) -> Self {
        model::ReplayData {
            wire: row.wire.into_owned(),
            data: row.data.into_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub(super) enum StopRow<'a> {
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

impl<'a> From<&'a model::Stop> for StopRow<'a> {
    fn from(stop: &'a model::Stop) -> Self {
        match stop {
            model::Stop::End => StopRow::End,
            model::Stop::ToolUse => StopRow::ToolUse,
            model::Stop::MaxTokens => StopRow::MaxTokens,
            model::Stop::Refusal { detail } => StopRow::Refusal {
                detail: detail.as_deref().map(Cow::Borrowed),
            },
            model::Stop::Other { word } => StopRow::Other {
                word: Cow::Borrowed(word),
            },
        }
    }
}

impl From<StopRow<'_>> for model::Stop {
    fn from(row: StopRow<'_>) -> Self {
        match row {
            StopRow::End => model::Stop::End,
            StopRow::ToolUse => model::Stop::ToolUse,
            StopRow::MaxTokens => model::Stop::MaxTokens,
            StopRow::Refusal { detail } => model::Stop::Refusal {
                detail: detail.map(Cow::into_owned),
            },
            StopRow::Other { word } => model::Stop::Other {
                word: word.into_owned(),
            },
            StopRow::Unknown => model::Stop::Other { word: "unknown".into() },
        }
    }
}
