//! Decodes bytes to text incrementally, even if a read ends inside a character.

use crate::capture::incomplete_end;

/// Holds the start of a character until the rest arrives.
#[derive(Debug, Default)]
pub(crate) struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Returns the text completed by these bytes. Invalid bytes are replaced.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let complete = self.pending.len() - incomplete_end(&self.pending);
        let text = String::from_utf8_lossy(&self.pending[..complete]).into_owned();
        self.pending.drain(..complete);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_byte_by_byte_decoding() {
        let text = "plain, grüße, 日本語, 🦀";
        let mut decode = Utf8Decoder::default();
        let read: String = text.as_bytes().iter().map(|byte| decode.add(&[*byte])).collect();
        assert_eq!(read, text);
    }

    #[test]
    fn invalid_bytes_are_replaced_immediately() {
        let mut decode = Utf8Decoder::default();
        assert_eq!(decode.add(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(decode.add(b"\x80"), "\u{FFFD}");
        assert_eq!(decode.add(b"\xE6\x97"), "");
        assert_eq!(decode.add(b"x"), "\u{FFFD}x");
    }
}
