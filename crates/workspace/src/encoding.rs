//! Text encodings of files.
//!
//! Text that is read and written back unchanged yields the same bytes.

use crate::Error;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE: [u8; 2] = [0xFF, 0xFE];
const UTF16_BE: [u8; 2] = [0xFE, 0xFF];

/// The characters of the bytes 0x80 to 0x9F in Windows-1252; NUL for unassigned bytes. All others are as in Latin-1.
const HIGH: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16 little-endian with a byte order mark.
    Utf16Le,
    /// UTF-16 big-endian with a byte order mark.
    Utf16Be,
    /// Windows-1252, a superset of Latin-1.
    Windows1252,
}

/// Why bytes could not be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// Invalid UTF-16.
    Utf16,
    /// Neither UTF-8 nor Windows-1252; the first line that is not UTF-8.
    Other { line: usize },
}

impl Encoding {
    /// Its name; `None` for UTF-8.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => None,
            Encoding::Utf16Le | Encoding::Utf16Be => Some("UTF-16"),
            Encoding::Windows1252 => Some("Windows-1252"),
        }
    }

    /// Encodes the text of the file at `path`.
    pub fn encode(self, content: &str, path: &str) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Encoding::Utf8 => content.as_bytes().to_vec(),
            Encoding::Utf8Bom => [UTF8_BOM, content.as_bytes()].concat(),
            Encoding::Utf16Le => encode_utf16(content, UTF16_LE, u16::to_le_bytes),
            Encoding::Utf16Be => encode_utf16(content, UTF16_BE, u16::to_be_bytes),
            Encoding::Windows1252 => {
                let bytes: Result<Vec<u8>, char> = content
                    .chars()
                    .map(|letter| encode_windows1252(letter).ok_or(letter))
                    .collect();
                bytes.map_err(|letter| Error::Unencodable {
                    path: path.to_owned(),
                    encoding: "Windows-1252",
                    letter,
                    line: 1 + content
                        .chars()
                        .take_while(|c| *c != letter)
                        .filter(|c| *c == '\n')
                        .count(),
                })?
            }
        })
    }
}

/// Whether bytes start with a UTF-16 byte order mark.
pub(crate) fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(&UTF16_LE) || start.starts_with(&UTF16_BE)
}

/// Decodes bytes; the text has no byte order mark.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<(Encoding, String), DecodeError> {
    if let Some(rest) = bytes.strip_prefix(&UTF16_LE) {
        return Ok((Encoding::Utf16Le, decode_utf16(rest, u16::from_le_bytes)?));
    }
    if let Some(rest) = bytes.strip_prefix(&UTF16_BE) {
        return Ok((Encoding::Utf16Be, decode_utf16(rest, u16::from_be_bytes)?));
    }
    let (encoding, bytes) = match bytes.strip_prefix(UTF8_BOM) {
        Some(rest) => (Encoding::Utf8Bom, rest.to_vec()),
        None => (Encoding::Utf8, bytes),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok((encoding, text)),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + memchr::memchr_iter(b'\n', valid).count();
            let is_plain = encoding == Encoding::Utf8 && !contains_utf8(error.as_bytes());
            let text = is_plain.then(|| decode_windows1252(error.as_bytes())).flatten();
            text.map(|text| (Encoding::Windows1252, text))
                .ok_or(DecodeError::Other { line })
        }
    }
}

/// Whether the bytes contain valid multi-byte UTF-8: then the file is damaged UTF-8, not another encoding.
fn contains_utf8(bytes: &[u8]) -> bool {
    bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

fn encode_utf16(content: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = content.encode_utf16().flat_map(bytes);
    mark.into_iter().chain(units).collect()
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let text: String = letters.collect::<Result<_, _>>().map_err(|_| DecodeError::Utf16)?;
    match rest.is_empty() {
        true => Ok(text),
        false => Err(DecodeError::Utf16),
    }
}

/// Encodes a character in Windows-1252.
fn encode_windows1252(letter: char) -> Option<u8> {
    match u32::from(letter) {
        0x80..=0x9F => None,
        code @ 0..=0xFF => u8::try_from(code).ok(),
        _ => {
            let at = HIGH.iter().position(|high| *high == letter)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

/// Decodes Windows-1252; `None` if the bytes contain control characters that text files do not have.
fn decode_windows1252(bytes: &[u8]) -> Option<String> {
    let letter = |byte: &u8| match byte {
        b'\t' | b'\n' | b'\r' | 0x0C | 0x1B | b' '..=b'~' | 0xA0.. => Some(char::from(*byte)),
        0x80..=0x9F => HIGH
            .get(usize::from(byte - 0x80))
            .copied()
            .filter(|letter| *letter != '\0'),
        _ => None,
    };
    bytes.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], encoding: Encoding, text: &str) {
        assert_eq!(decode(bytes.to_vec()), Ok((encoding, text.to_owned())));
        assert_eq!(encoding.encode(text, "f").unwrap(), bytes);
    }

    #[test]
    fn unchanged_text_is_written_back_byte_for_byte() {
        check("grüß\n".as_bytes(), Encoding::Utf8, "grüß\n");
        check(b"\xEF\xBB\xBFx", Encoding::Utf8Bom, "x");
        check(b"\xFF\xFEh\0\xAC\x20", Encoding::Utf16Le, "h€");
        check(b"\xFE\xFF\0h\xD8\x3D\xDE\x00", Encoding::Utf16Be, "h😀");
        check(b"caf\xE9 \x80 \x93x\x94\r\n", Encoding::Windows1252, "café € “x”\r\n");
        let all: Vec<u8> = (0xA0..=0xFF).collect();
        let text: String = all.iter().copied().map(char::from).collect();
        check(
            &[b"\x80\xFF ".as_slice(), &all].concat(),
            Encoding::Windows1252,
            &format!("€ÿ {text}"),
        );
    }

    #[test]
    fn invalid_text_is_rejected() {
        for (bytes, why) in [
            (b"\xFF\xFEh\0i".as_slice(), DecodeError::Utf16),
            (b"\xFF\xFE\x00\xD8", DecodeError::Utf16),
            ("gr\u{fc}\n".as_bytes(), DecodeError::Other { line: 0 }),
            (b"one\ngr\xC3\xBC\xFF", DecodeError::Other { line: 2 }),
            (b"\x01\xE9", DecodeError::Other { line: 1 }),
            (b"\x81", DecodeError::Other { line: 1 }),
        ] {
            let is_fine = why == DecodeError::Other { line: 0 };
            assert_eq!(decode(bytes.to_vec()).err(), (!is_fine).then_some(why));
        }
    }

    #[test]
    fn an_unencodable_character_is_reported() {
        let error = Encoding::Windows1252.encode("a\nb → c", "f.txt").unwrap_err();
        assert_eq!(
            error.to_string(),
            "f.txt is Windows-1252 text, which cannot represent '→' (line 2); nothing was written"
        );
    }
}
