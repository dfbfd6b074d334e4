//! Which letters the bytes of a text file are, and text as bytes of the same kind.
//!
//! What is read and written back unchanged is the same to the byte, in every encoding that is read.

use crate::Error;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE: [u8; 2] = [0xFF, 0xFE];
const UTF16_BE: [u8; 2] = [0xFE, 0xFF];

/// The letters of the bytes 0x80 to 0x9F in Windows-1252; NUL where it has none. All others are as in Latin-1.
const HIGH: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// How the letters of a text file are written as bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, the low byte first, behind a byte order mark.
    Utf16Le,
    /// UTF-16, the high byte first, behind a byte order mark.
    Utf16Be,
    /// Windows-1252, of which Latin-1 is a part.
    Windows1252,
}

/// Why bytes are not text that we read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotText {
    /// UTF-16 with half a letter in it.
    Utf16,
    /// Neither UTF-8 nor Windows-1252; the first line that is not UTF-8.
    Other { line: usize },
}

impl Encoding {
    /// Its name, where it is not UTF-8.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => None,
            Encoding::Utf16Le | Encoding::Utf16Be => Some("UTF-16"),
            Encoding::Windows1252 => Some("Windows-1252"),
        }
    }

    /// The bytes of a file at `path` that holds this text.
    pub fn encode(self, content: &str, path: &str) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Encoding::Utf8 => content.as_bytes().to_vec(),
            Encoding::Utf8Bom => [UTF8_BOM, content.as_bytes()].concat(),
            Encoding::Utf16Le => wide(content, UTF16_LE, u16::to_le_bytes),
            Encoding::Utf16Be => wide(content, UTF16_BE, u16::to_be_bytes),
            Encoding::Windows1252 => {
                let bytes: Result<Vec<u8>, char> = content.chars().map(|letter| narrow(letter).ok_or(letter)).collect();
                bytes.map_err(|letter| Error::Unfit {
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

/// Whether bytes begin as UTF-16 does.
pub(crate) fn is_wide(start: &[u8]) -> bool {
    start.starts_with(&UTF16_LE) || start.starts_with(&UTF16_BE)
}

/// The text of these bytes, without its byte order mark.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<(Encoding, String), NotText> {
    if let Some(rest) = bytes.strip_prefix(&UTF16_LE) {
        return Ok((Encoding::Utf16Le, from_wide(rest, u16::from_le_bytes)?));
    }
    if let Some(rest) = bytes.strip_prefix(&UTF16_BE) {
        return Ok((Encoding::Utf16Be, from_wide(rest, u16::from_be_bytes)?));
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
            let is_plain = encoding == Encoding::Utf8 && !holds_utf8(error.as_bytes());
            let text = is_plain.then(|| from_narrow(error.as_bytes())).flatten();
            text.map(|text| (Encoding::Windows1252, text))
                .ok_or(NotText::Other { line })
        }
    }
}

/// Whether letters of several bytes stand among what is not UTF-8: then it is UTF-8 that was damaged, not another encoding.
fn holds_utf8(bytes: &[u8]) -> bool {
    bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

fn wide(content: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = content.encode_utf16().flat_map(bytes);
    mark.into_iter().chain(units).collect()
}

fn from_wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let text: String = letters.collect::<Result<_, _>>().map_err(|_| NotText::Utf16)?;
    match rest.is_empty() {
        true => Ok(text),
        false => Err(NotText::Utf16),
    }
}

/// A letter as a byte of Windows-1252.
fn narrow(letter: char) -> Option<u8> {
    match u32::from(letter) {
        0x80..=0x9F => None,
        code @ 0..=0xFF => u8::try_from(code).ok(),
        _ => {
            let at = HIGH.iter().position(|high| *high == letter)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

/// Bytes as Windows-1252; nothing where they have control characters that texts do not have.
fn from_narrow(bytes: &[u8]) -> Option<String> {
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
    fn what_is_read_is_written_back_to_the_byte() {
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
    fn what_is_damaged_or_no_text_is_refused() {
        for (bytes, why) in [
            (b"\xFF\xFEh\0i".as_slice(), NotText::Utf16),
            (b"\xFF\xFE\x00\xD8", NotText::Utf16),
            ("gr\u{fc}\n".as_bytes(), NotText::Other { line: 0 }),
            (b"one\ngr\xC3\xBC\xFF", NotText::Other { line: 2 }),
            (b"\x01\xE9", NotText::Other { line: 1 }),
            (b"\x81", NotText::Other { line: 1 }),
        ] {
            let is_fine = why == NotText::Other { line: 0 };
            assert_eq!(decode(bytes.to_vec()).err(), (!is_fine).then_some(why));
        }
    }

    #[test]
    fn a_letter_that_does_not_fit_is_named() {
        let error = Encoding::Windows1252.encode("a\nb → c", "f.txt").unwrap_err();
        assert_eq!(
            error.to_string(),
            "f.txt is Windows-1252 text, which has no letter for '→' (line 2); nothing was written"
        );
    }
}
