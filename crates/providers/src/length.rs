//! How long what is sent is, block by block (see [`model::Sent`]), counted while it is written.

use crate::wire::write_json;
use bytes::Bytes;
use serde::Serialize;

/// A wire form and how long its blocks are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rendered {
    pub(crate) form: Bytes,
    pub(crate) bytes: u64,
}

/// Objects, comma-separated, each of them a block.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    out: Vec<u8>,
    bytes: u64,
}

impl Objects {
    /// Adds one that this role says.
    pub(crate) fn push(&mut self, role: &str, object: &impl Serialize) {
        if !self.out.is_empty() {
            self.out.push(b',');
        }
        let before = self.out.len();
        write_json(&mut self.out, object);
        self.bytes += block(role, self.out.len() - before);
    }

    pub(crate) fn finish(self) -> Rendered {
        Rendered {
            form: Bytes::from(self.out),
            bytes: self.bytes,
        }
    }
}

/// How long a block is: the line with its role, the line with its JSON.
pub(crate) fn block(role: &str, json: usize) -> u64 {
    (role.len() + 1 + json + 1) as u64
}

/// How long a part of plain text is as JSON.
pub(crate) fn text_part(quoted: usize) -> usize {
    r#"{"type":"text","text":}"#.len() + quoted
}

/// How long a text is as JSON, with its quotes.
pub(crate) fn quoted(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// How long texts are as one JSON text, joined by blank lines.
pub(crate) fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> usize {
    let (count, inside) = texts
        .into_iter()
        .fold((0, 0), |(count, inside), text| (count + 1, inside + quoted(text) - 2));
    2 + inside + BLANK_LINE * usize::saturating_sub(count, 1)
}

/// How long a blank line is inside JSON text.
pub(crate) const BLANK_LINE: usize = r"\n\n".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_long_as_their_json() {
        for text in [
            "",
            "plain",
            "\"quoted\\\"",
            "a\tb\r\nc\u{8}\u{c}\u{1b}\u{7f}",
            "größer → 日本 🦀",
        ] {
            assert_eq!(quoted(text), serde_json::to_string(text).unwrap().len(), "{text:?}");
            let part = serde_json::json!({"type": "text", "text": text}).to_string();
            assert_eq!(text_part(quoted(text)), part.len());
        }
        let texts = ["a\"", "b", "c"];
        assert_eq!(joined(texts), serde_json::to_string(&texts.join("\n\n")).unwrap().len());
    }
}
