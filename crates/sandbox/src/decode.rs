//! Bytes as they come, as text, although a read may end in the middle of a character.

use crate::capture::incomplete_end;

/// Holds back the start of a character until the rest arrives.
#[derive(Debug, Default)]
pub(crate) struct Decode {
    pending: Vec<u8>,
}

impl Decode {
    /// The text that is complete after these bytes. Bytes that can never be text are replaced.
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
    fn text_survives_being_read_byte_by_byte() {
        let text = "plain, grüße, 日本語, 🦀";
        let mut decode = Decode::default();
        let read: String = text.as_bytes().iter().map(|byte| decode.add(&[*byte])).collect();
        assert_eq!(read, text);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_at_once() {
        let mut decode = Decode::default();
        assert_eq!(decode.add(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(decode.add(b"\x80"), "\u{FFFD}");
        assert_eq!(decode.add(b"\xE6\x97"), "");
        assert_eq!(decode.add(b"x"), "\u{FFFD}x");
    }
}
