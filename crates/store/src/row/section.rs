//! The sections of a prompt in the ledger, as rows.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sections as a JSON list.
pub(crate) fn encode(sections: &[session::Section]) -> serde_json::Result<String> {
    let rows: Vec<Short<'_>> = sections
        .iter()
        .map(|section| {
            let name = Cow::Borrowed(section.name.as_str());
            Short(name, section.bytes, section.tokens, section.cached)
        })
        .collect();
    serde_json::to_string(&rows)
}

/// The sections of a JSON list.
pub(crate) fn decode(json: &str) -> serde_json::Result<Vec<session::Section>> {
    let rows: Vec<Section<'_>> = serde_json::from_str(json)?;
    Ok(rows
        .into_iter()
        .map(|row| match row {
            Section::Short(Short(name, bytes, tokens, cached)) => session::Section {
                name: name.into_owned(),
                bytes,
                tokens,
                cached,
            },
            Section::Long { name, bytes } => session::Section {
                name: name.into_owned(),
                bytes,
                tokens: 0,
                cached: 0,
            },
        })
        .collect())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Section<'a> {
    Short(Short<'a>),
    /// As it was before sections had tokens.
    Long {
        name: Cow<'a, str>,
        #[serde(default)]
        bytes: u64,
    },
}

/// Name, bytes, tokens, and how many of these should have been cached.
#[derive(Serialize, Deserialize)]
struct Short<'a>(Cow<'a, str>, u64, u64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_forms_are_read() {
        let sections = decode(r#"[["tools",9,3,2],{"name":"system","bytes":7}]"#).unwrap();
        let expected =
            [("tools", 9, 3, 2), ("system", 7, 0, 0)].map(|(name, bytes, tokens, cached)| session::Section {
                name: name.into(),
                bytes,
                tokens,
                cached,
            });
        assert_eq!(sections, expected);
        assert_eq!(encode(&expected[..1]).unwrap(), r#"[["tools",9,3,2]]"#);
    }
}
