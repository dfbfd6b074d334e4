//! Prompt records as rows.

use model::{Breakpoint, Cost};
use serde::{Deserialize, Serialize};
use session::{BlobId, ItemId, MessageRef, PromptCost, PromptDifference, PromptRecord, RequestId};
use std::borrow::Cow;
use uuid::Uuid;

/// As JSON. Most requests extend the previous one, so most fields are omitted.
#[derive(Default, Serialize, Deserialize)]
struct PromptRecordRow<'a> {
    #[serde(rename = "c")]
    cached: u64,
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    is_estimate: bool,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    difference: Option<DifferenceRow<'a>>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    frame: Option<Cow<'a, str>>,
    #[serde(rename = "fp", default, skip_serializing_if = "Vec::is_empty")]
    frame_parts: Vec<Cow<'a, str>>,
    #[serde(rename = "s")]
    shared_messages: u64,
    /// Item ids and blob ids, which are longer.
    #[serde(rename = "m")]
    messages: Vec<Cow<'a, str>>,
    #[serde(rename = "k")]
    breakpoints: String,
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    cost: Option<(i64, i64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DifferenceRow<'a> {
    First,
    At(u64, Cow<'a, str>),
    Lost(Cow<'a, str>),
    #[serde(other)]
    Unknown,
}

pub(crate) fn encode(prompt: &PromptRecord) -> serde_json::Result<String> {
    let row = PromptRecordRow {
        cached: prompt.cached,
        is_estimate: prompt.is_estimate,
        difference: match &prompt.difference {
            PromptDifference::First => Some(DifferenceRow::First),
            PromptDifference::Extends => None,
            PromptDifference::At { byte, part } => Some(DifferenceRow::At(*byte, part.into())),
            PromptDifference::CacheExpired { reason: why } => Some(DifferenceRow::Lost(why.into())),
        },
        base: prompt.base.map(|base| base.0.simple().to_string()),
        frame: prompt.frame.as_ref().map(|frame| Cow::Borrowed(&*frame.0)),
        frame_parts: prompt.frame_parts.iter().map(|part| Cow::Borrowed(&*part.0)).collect(),
        shared_messages: prompt.shared_messages,
        messages: prompt
            .messages
            .iter()
            .map(|reference| match reference {
                MessageRef::Item(id, 0) => Cow::Owned(id.0.simple().to_string()),
                MessageRef::Item(id, place) => Cow::Owned(format!("{}.{place}", id.0.simple())),
                MessageRef::Blob(blob) => Cow::Borrowed(&*blob.0),
            })
            .collect(),
        breakpoints: prompt
            .breakpoints
            .iter()
            .map(encode_breakpoint)
            .collect::<Vec<_>>()
            .join(" "),
        cost: prompt.cost.map(|paid| (paid.cached.nano_usd, paid.fresh.nano_usd)),
    };
    serde_json::to_string(&row)
}

pub(crate) fn decode(json: &str) -> serde_json::Result<PromptRecord> {
    let row: PromptRecordRow<'_> = serde_json::from_str(json)?;
    let blob = |name: Cow<'_, str>| BlobId(name.into());
    let reference = row.messages.into_iter().map(|reference| {
        let (id, place) = reference.split_once('.').unwrap_or((&reference, "0"));
        match (Uuid::try_parse(id), place.parse()) {
            (Ok(id), Ok(place)) => MessageRef::Item(ItemId(id), place),
            _ => MessageRef::Blob(blob(reference)),
        }
    });
    Ok(PromptRecord {
        cached: row.cached,
        is_estimate: row.is_estimate,
        difference: match row.difference {
            None => PromptDifference::Extends,
            Some(DifferenceRow::First) => PromptDifference::First,
            Some(DifferenceRow::At(byte, part)) => PromptDifference::At {
                byte,
                part: part.into(),
            },
            Some(DifferenceRow::Lost(why)) => PromptDifference::CacheExpired { reason: why.into() },
            Some(DifferenceRow::Unknown) => PromptDifference::CacheExpired {
                reason: "recorded by a newer version of hew".into(),
            },
        },
        base: row.base.and_then(|base| Uuid::try_parse(&base).ok()).map(RequestId),
        frame: row.frame.map(blob),
        frame_parts: row.frame_parts.into_iter().map(blob).collect(),
        shared_messages: row.shared_messages,
        messages: reference.collect(),
        breakpoints: row
            .breakpoints
            .split_whitespace()
            .filter_map(decode_breakpoint)
            .collect(),
        cost: row.cost.map(|(cached, fresh)| PromptCost {
            cached: Cost { nano_usd: cached },
            fresh: Cost { nano_usd: fresh },
        }),
    })
}

/// The blobs that a prompt references.
pub(crate) fn blobs(prompt: &PromptRecord) -> impl Iterator<Item = &BlobId> {
    let made = prompt.messages.iter().filter_map(|reference| match reference {
        MessageRef::Item(..) => None,
        MessageRef::Blob(blob) => Some(blob),
    });
    prompt.frame.iter().chain(&prompt.frame_parts).chain(made)
}

fn encode_breakpoint(mark: &Breakpoint) -> String {
    match mark {
        Breakpoint::Tools => "t".into(),
        Breakpoint::System(section) => format!("s{section}"),
        Breakpoint::Message(message) => format!("m{message}"),
    }
}

fn decode_breakpoint(text: &str) -> Option<Breakpoint> {
    match (text.get(..1)?, text.get(1..)?) {
        ("t", "") => Some(Breakpoint::Tools),
        ("s", section) => section.parse().ok().map(Breakpoint::System),
        ("m", message) => message.parse().ok().map(Breakpoint::Message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_records_round_trip() {
        let blob = |byte: &str| BlobId(byte.repeat(64).into());
        let usual = PromptRecord {
            cached: 12_345,
            is_estimate: false,
            difference: PromptDifference::Extends,
            base: Some(RequestId::new()),
            frame: None,
            frame_parts: Vec::new(),
            shared_messages: 40,
            messages: vec![
                MessageRef::Item(ItemId::new(), 0),
                MessageRef::Item(ItemId::new(), 3),
                MessageRef::Blob(blob("a")),
            ],
            breakpoints: vec![Breakpoint::Tools, Breakpoint::System(3), Breakpoint::Message(41)],
            cost: Some(PromptCost {
                cached: Cost { nano_usd: 5 },
                fresh: Cost { nano_usd: 7 },
            }),
        };
        let first = PromptRecord {
            difference: PromptDifference::First,
            base: None,
            frame: Some(blob("b")),
            frame_parts: vec![blob("c")],
            cost: None,
            ..usual.clone()
        };
        let at = PromptRecord {
            difference: PromptDifference::At {
                byte: 7,
                part: "system: rules".into(),
            },
            ..usual.clone()
        };
        let lost = PromptRecord {
            difference: PromptDifference::CacheExpired { reason: "old".into() },
            ..usual.clone()
        };
        for prompt in [&usual, &first, &at, &lost] {
            assert_eq!(decode(&encode(prompt).unwrap()).unwrap(), *prompt);
        }
        let length = encode(&PromptRecord {
            messages: vec![MessageRef::Item(ItemId::new(), 0), MessageRef::Item(ItemId::new(), 0)],
            ..usual
        })
        .unwrap()
        .len();
        assert!(length < 220, "{length}");
        assert_eq!(blobs(&first).count(), 3);
    }
}
