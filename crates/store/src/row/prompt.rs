//! Where a prompt left the one before it, and what it takes to show it again, as a row.

use model::{Breakpoint, Cost};
use serde::{Deserialize, Serialize};
use session::{BlobId, Difference, ItemId, Paid, Prompt, RequestId, Said};
use std::borrow::Cow;
use uuid::Uuid;

/// As JSON. Most requests extend the one before them, so that most of it is left out.
#[derive(Default, Serialize, Deserialize)]
struct Row<'a> {
    #[serde(rename = "c")]
    cached: u64,
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    is_estimate: bool,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    difference: Option<Left<'a>>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    frame: Option<Cow<'a, str>>,
    #[serde(rename = "fp", default, skip_serializing_if = "Vec::is_empty")]
    frame_parts: Vec<Cow<'a, str>>,
    #[serde(rename = "s")]
    shared: u64,
    /// Ids of items, and names of contents, which are longer.
    #[serde(rename = "m")]
    said: Vec<Cow<'a, str>>,
    #[serde(rename = "k")]
    marks: String,
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    paid: Option<(i64, i64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Left<'a> {
    First,
    At(u64, Cow<'a, str>),
    Lost(Cow<'a, str>),
    #[serde(other)]
    Unknown,
}

pub(crate) fn encode(prompt: &Prompt) -> serde_json::Result<String> {
    let row = Row {
        cached: prompt.cached,
        is_estimate: prompt.is_estimate,
        difference: match &prompt.difference {
            Difference::First => Some(Left::First),
            Difference::Extends => None,
            Difference::At { byte, part } => Some(Left::At(*byte, part.into())),
            Difference::Lost { why } => Some(Left::Lost(why.into())),
        },
        base: prompt.base.map(|base| base.0.simple().to_string()),
        frame: prompt.frame.as_ref().map(|frame| Cow::Borrowed(&*frame.0)),
        frame_parts: prompt.frame_parts.iter().map(|part| Cow::Borrowed(&*part.0)).collect(),
        shared: prompt.shared,
        said: prompt
            .said
            .iter()
            .map(|said| match said {
                Said::Item(id, 0) => Cow::Owned(id.0.simple().to_string()),
                Said::Item(id, place) => Cow::Owned(format!("{}.{place}", id.0.simple())),
                Said::Made(blob) => Cow::Borrowed(&*blob.0),
            })
            .collect(),
        marks: prompt.marks.iter().map(mark).collect::<Vec<_>>().join(" "),
        paid: prompt.paid.map(|paid| (paid.cached.nano_usd, paid.fresh.nano_usd)),
    };
    serde_json::to_string(&row)
}

pub(crate) fn decode(json: &str) -> serde_json::Result<Prompt> {
    let row: Row<'_> = serde_json::from_str(json)?;
    let blob = |name: Cow<'_, str>| BlobId(name.into());
    let said = row.said.into_iter().map(|said| {
        let (id, place) = said.split_once('.').unwrap_or((&said, "0"));
        match (Uuid::try_parse(id), place.parse()) {
            (Ok(id), Ok(place)) => Said::Item(ItemId(id), place),
            _ => Said::Made(blob(said)),
        }
    });
    Ok(Prompt {
        cached: row.cached,
        is_estimate: row.is_estimate,
        difference: match row.difference {
            None => Difference::Extends,
            Some(Left::First) => Difference::First,
            Some(Left::At(byte, part)) => Difference::At {
                byte,
                part: part.into(),
            },
            Some(Left::Lost(why)) => Difference::Lost { why: why.into() },
            Some(Left::Unknown) => Difference::Lost {
                why: "a newer hew knows why".into(),
            },
        },
        base: row.base.and_then(|base| Uuid::try_parse(&base).ok()).map(RequestId),
        frame: row.frame.map(blob),
        frame_parts: row.frame_parts.into_iter().map(blob).collect(),
        shared: row.shared,
        said: said.collect(),
        marks: row.marks.split_whitespace().filter_map(unmark).collect(),
        paid: row.paid.map(|(cached, fresh)| Paid {
            cached: Cost { nano_usd: cached },
            fresh: Cost { nano_usd: fresh },
        }),
    })
}

/// The contents that a prompt needs.
pub(crate) fn blobs(prompt: &Prompt) -> impl Iterator<Item = &BlobId> {
    let made = prompt.said.iter().filter_map(|said| match said {
        Said::Item(..) => None,
        Said::Made(blob) => Some(blob),
    });
    prompt.frame.iter().chain(&prompt.frame_parts).chain(made)
}

fn mark(mark: &Breakpoint) -> String {
    match mark {
        Breakpoint::Tools => "t".into(),
        Breakpoint::System(section) => format!("s{section}"),
        Breakpoint::Message(message) => format!("m{message}"),
    }
}

fn unmark(text: &str) -> Option<Breakpoint> {
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
    fn a_prompt_survives_being_kept() {
        let blob = |byte: &str| BlobId(byte.repeat(64).into());
        let usual = Prompt {
            cached: 12_345,
            is_estimate: false,
            difference: Difference::Extends,
            base: Some(RequestId::new()),
            frame: None,
            frame_parts: Vec::new(),
            shared: 40,
            said: vec![
                Said::Item(ItemId::new(), 0),
                Said::Item(ItemId::new(), 3),
                Said::Made(blob("a")),
            ],
            marks: vec![Breakpoint::Tools, Breakpoint::System(3), Breakpoint::Message(41)],
            paid: Some(Paid {
                cached: Cost { nano_usd: 5 },
                fresh: Cost { nano_usd: 7 },
            }),
        };
        let first = Prompt {
            difference: Difference::First,
            base: None,
            frame: Some(blob("b")),
            frame_parts: vec![blob("c")],
            paid: None,
            ..usual.clone()
        };
        let at = Prompt {
            difference: Difference::At {
                byte: 7,
                part: "system: rules".into(),
            },
            ..usual.clone()
        };
        let lost = Prompt {
            difference: Difference::Lost { why: "old".into() },
            ..usual.clone()
        };
        for prompt in [&usual, &first, &at, &lost] {
            assert_eq!(decode(&encode(prompt).unwrap()).unwrap(), *prompt);
        }
        let length = encode(&Prompt {
            said: vec![Said::Item(ItemId::new(), 0), Said::Item(ItemId::new(), 0)],
            ..usual
        })
        .unwrap()
        .len();
        assert!(length < 220, "{length}");
        assert_eq!(blobs(&first).count(), 3);
    }
}
