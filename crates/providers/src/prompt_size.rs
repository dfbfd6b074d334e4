//! Measures the prompt block by block while it is written (see [`model::Sent`]).

use crate::wire::write_json;
use bytes::Bytes;
use serde::Serialize;

/// A wire form and the size of its blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedForm {
    pub(crate) form: Bytes,
    pub(crate) bytes: u64,
}

/// Comma-separated objects, each of them a block.
#[derive(Debug, Default)]
pub(crate) struct ObjectList {
    out: Vec<u8>,
    bytes: u64,
}

impl ObjectList {
    /// Adds an object with this role.
    pub(crate) fn push(&mut self, role: &str, object: &impl Serialize) {
        if !self.out.is_empty() {
            self.out.push(b',');
        }
        let before = self.out.len();
        write_json(&mut self.out, object);
        self.bytes += block_size(role, self.out.len() - before);
    }

    pub(crate) fn finish(self) -> RenderedForm {
        RenderedForm {
            form: Bytes::from(self.out),
            bytes: self.bytes,
        }
    }
}

/// The size of a block: a line with its role and a line with its JSON.
pub(crate) fn block_size(role: &str, json: usize) -> u64 {
    (role.len() + 1 + json + 1) as u64
}

/// The length of a plain text part as JSON.
pub(crate) fn text_part_len(quoted: usize) -> usize {
    r#"{"type":"text","text":}"#.len() + quoted
}

/// The length of a text as JSON, with its quotes.
pub(crate) fn quoted_len(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// The length of several texts as one JSON string, joined by blank lines.
pub(crate) fn joined_len<'a>(texts: impl IntoIterator<Item = &'a str>) -> usize {
    let (count, inside) = texts.into_iter().fold((0, 0), |(count, inside), text| {
        (count + 1, inside + quoted_len(text) - 2)
    });
    2 + inside + BLANK_LINE * usize::saturating_sub(count, 1)
}

/// The length of a blank line in a JSON string.
pub(crate) const BLANK_LINE: usize = r"\n\n".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_lengths_equal_the_json_lengths() {
        for text in [
            "",
            "plain",
            "\"quoted\\\"",
            "a\tb\r\nc\u{8}\u{c}\u{1b}\u{7f}",
            "größer → 日本 🦀",
        ] {
            assert_eq!(quoted_len(text), serde_json::to_string(text).unwrap().len(), "{text:?}");
            let part = serde_json::json!({"type": "text", "text": text}).to_string();
            assert_eq!(text_part_len(quoted_len(text)), part.len());
        }
        let texts = ["a\"", "b", "c"];
        assert_eq!(
            joined_len(texts),
            serde_json::to_string(&texts.join("\n\n")).unwrap().len()
        );
    }
}
