//! The facts of a request, as JSON.

use model::SentBody;
use serde::{Deserialize, Serialize};
use session::{BlobId, ItemId, RequestFacts};
use std::borrow::Cow;
use uuid::Uuid;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct FactsRow<'a> {
    #[serde(rename = "h", skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(rename = "o", skip_serializing_if = "str::is_empty")]
    mode: Cow<'a, str>,
    #[serde(rename = "t", skip_serializing_if = "is_zero")]
    turn: u32,
    #[serde(rename = "r", skip_serializing_if = "is_zero")]
    round: u32,
    #[serde(rename = "n", skip_serializing_if = "is_zero")]
    tools: u32,
    #[serde(rename = "c", skip_serializing_if = "is_zero")]
    calls: u32,
    #[serde(rename = "x", skip_serializing_if = "is_zero")]
    malformed: u32,
    #[serde(rename = "u")]
    assembled_in: u64,
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    body: Option<(u64, String)>,
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    stream: Option<Cow<'a, str>>,
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    inputs: Option<Cow<'a, str>>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(crate) fn encode(facts: &RequestFacts) -> serde_json::Result<String> {
    let blob = |blob: &'_ Option<BlobId>| blob.as_ref().map(|blob| Cow::Owned(blob.0.to_string()));
    serde_json::to_string(&FactsRow {
        head: facts.head.map(|head| head.0.simple().to_string()),
        mode: Cow::Borrowed(&facts.mode),
        turn: facts.turn,
        round: facts.round,
        tools: facts.tools,
        calls: facts.calls,
        malformed: facts.malformed,
        assembled_in: facts.assembled_in,
        body: facts.body.map(|body| (body.bytes, hex(&body.sha256))),
        stream: blob(&facts.stream),
        inputs: blob(&facts.inputs),
    })
}

pub(crate) fn decode(json: &str) -> serde_json::Result<RequestFacts> {
    let row: FactsRow<'_> = serde_json::from_str(json)?;
    let blob = |name: Option<Cow<'_, str>>| name.map(|name| BlobId(name.into()));
    Ok(RequestFacts {
        head: row.head.and_then(|head| Uuid::try_parse(&head).ok()).map(ItemId),
        mode: row.mode.into_owned(),
        turn: row.turn,
        round: row.round,
        tools: row.tools,
        calls: row.calls,
        malformed: row.malformed,
        assembled_in: row.assembled_in,
        body: row.body.and_then(|(bytes, digest)| {
            let sha256 = unhex(&digest)?;
            Some(SentBody { bytes, sha256 })
        }),
        stream: blob(row.stream),
        inputs: blob(row.inputs),
    })
}

/// The blobs that the facts reference.
pub(crate) fn blobs(facts: &RequestFacts) -> impl Iterator<Item = &BlobId> {
    facts.stream.iter().chain(&facts.inputs)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    (text.len() == 64).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_round_trip() {
        let full = RequestFacts {
            head: Some(ItemId::new()),
            mode: "code".into(),
            turn: 2,
            round: 7,
            tools: 14,
            calls: 3,
            malformed: 1,
            assembled_in: 250,
            body: Some(SentBody {
                bytes: 9,
                sha256: [0xab; 32],
            }),
            stream: Some(BlobId("a".repeat(64).into())),
            inputs: Some(BlobId("b".repeat(64).into())),
        };
        for facts in [full.clone(), RequestFacts::default()] {
            assert_eq!(decode(&encode(&facts).unwrap()).unwrap(), facts);
        }
        assert_eq!(blobs(&full).count(), 2);
    }
}
