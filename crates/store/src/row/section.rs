//! The sections of a prompt in the ledger, as rows.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sections as a JSON list.
pub(crate) fn encode(sections: &[session::Section]) -> serde_json::Result<String> {
    let rows: Vec<Section<'_>> = sections
        .iter()
        .map(|section| Section {
            name: Cow::Borrowed(&section.name),
            bytes: section.bytes,
        })
        .collect();
    serde_json::to_string(&rows)
}

/// The sections of a JSON list.
pub(crate) fn decode(json: &str) -> serde_json::Result<Vec<session::Section>> {
    let rows: Vec<Section<'_>> = serde_json::from_str(json)?;
    Ok(rows
        .into_iter()
        .map(|row| session::Section {
            name: row.name.into_owned(),
            bytes: row.bytes,
        })
        .collect())
}

#[derive(Serialize, Deserialize)]
struct Section<'a> {
    name: Cow<'a, str>,
    #[serde(default)]
    bytes: u64,
}
