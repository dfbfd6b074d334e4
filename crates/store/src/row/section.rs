//! The sections of a prompt in the ledger, as rows.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sections as a JSON list.
pub(crate) fn encode(sections: &[session::LedgerSection]) -> serde_json::Result<String> {
    let rows: Vec<SectionTuple<'_>> = sections
        .iter()
        .map(|section| {
            let name = Cow::Borrowed(section.name.as_str());
            SectionTuple(name, section.bytes, section.tokens, section.cached)
        })
        .collect();
    serde_json::to_string(&rows)
}

/// The sections of a JSON list.
pub(crate) fn decode(json: &str) -> serde_json::Result<Vec<session::LedgerSection>> {
    let rows: Vec<SectionRow<'_>> = serde_json::from_str(json)?;
    Ok(rows
        .into_iter()
        .map(|row| match row {
            SectionRow::Short(SectionTuple(name, bytes, tokens, cached)) => session::LedgerSection {
                name: name.into_owned(),
                bytes,
                tokens,
                cached,
            },
            SectionRow::Long { name, bytes } => session::LedgerSection {
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
enum SectionRow<'a> {
    Short(SectionTuple<'a>),
    /// The form before sections had tokens.
    Long {
        name: Cow<'a, str>,
        #[serde(default)]
        bytes: u64,
    },
}

/// Name, bytes, tokens, and tokens expected in the cache.
#[derive(Serialize, Deserialize)]
struct SectionTuple<'a>(Cow<'a, str>, u64, u64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_forms_are_read() {
        let sections = decode(r#"[["tools",9,3,2],{"name":"system","bytes":7}]"#).unwrap();
        let expected =
            [("tools", 9, 3, 2), ("system", 7, 0, 0)].map(|(name, bytes, tokens, cached)| session::LedgerSection {
                name: name.into(),
                bytes,
                tokens,
                cached,
            });
        assert_eq!(sections, expected);
        assert_eq!(encode(&expected[..1]).unwrap(), r#"[["tools",9,3,2]]"#);
    }
}
