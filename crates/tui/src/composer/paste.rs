//! Classifies pastes: short text, long text that is folded, or paths of dropped images.

/// Pastes with more lines are folded.
const MAX_INLINE_LINES: usize = 10;
/// Pastes with more characters are folded.
const MAX_INLINE_CHARS: usize = 1_000;
/// Pastes with more bytes are rejected.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// The content of a paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PasteContent {
    /// Text to insert.
    Text(String),
    /// Long text, shown as a label.
    Folded { label: String, text: String },
    /// Paths of images.
    Images(Vec<String>),
    /// The paste is too large.
    TooLong,
}

/// Classifies a paste.
pub(crate) fn classify(text: &str) -> PasteContent {
    if text.len() > MAX_BYTES {
        return PasteContent::TooLong;
    }
    if let Some(images) = image_paths(text) {
        return PasteContent::Images(images);
    }
    let text = super::attachments::sanitise_input(text);
    let lines = text.lines().count();
    if lines > MAX_INLINE_LINES {
        let label = format!("[pasted {lines} lines]");
        return PasteContent::Folded { label, text };
    }
    if text.chars().nth(MAX_INLINE_CHARS).is_some() {
        let label = format!("[pasted {} characters]", text.chars().count());
        return PasteContent::Folded { label, text };
    }
    PasteContent::Text(text)
}

/// Image paths: terminals paste dropped files quoted, with escaped spaces, or as `file://` URLs.
fn image_paths(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if text.is_empty() || text.lines().count() > 20 || text.len() > 20_000 {
        return None;
    }
    let words = words(text);
    let is_image = |path: &String| {
        let path = path.to_ascii_lowercase();
        let absolute = path.starts_with(['/', '~']) || path.starts_with("./") || path.get(1..3) == Some(":\\");
        absolute
            && [".png", ".jpg", ".jpeg", ".gif", ".webp"]
                .iter()
                .any(|end| path.ends_with(end))
    };
    (!words.is_empty() && words.iter().all(is_image)).then_some(words)
}

/// Splits text into words like a shell; each word is a path.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') if chars.peek().is_some_and(|next| !next.is_alphanumeric()) => word.extend(chars.next()),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(path(&std::mem::take(&mut word)));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(path(&word));
    }
    words
}

/// Decodes a path, which may be a `file://` URL.
fn path(word: &str) -> String {
    let Some(rest) = word.strip_prefix("file://") else {
        return word.to_owned();
    };
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    while let Some(&byte) = rest.as_bytes().get(at) {
        let code = rest
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                at += 3;
            }
            _ => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pastes_are_classified() {
        let text = |text: &str| PasteContent::Text(text.into());
        let images = |paths: &[&str]| PasteContent::Images(paths.iter().map(|path| (*path).to_owned()).collect());
        let folded = |label: &str, text: &str| PasteContent::Folded {
            label: label.into(),
            text: text.into(),
        };
        let long = "x".repeat(1_001);
        let lines = "x\n".repeat(11);
        let cases = [
            ("hello", text("hello")),
            ("one\r\ntwo", text("one\ntwo")),
            (&lines, folded("[pasted 11 lines]", &lines)),
            (&long, folded("[pasted 1001 characters]", &long)),
            ("/tmp/a.png", images(&["/tmp/a.png"])),
            ("'/tmp/a b.PNG' ", images(&["/tmp/a b.PNG"])),
            ("/tmp/a\\ b.jpg /tmp/c.gif", images(&["/tmp/a b.jpg", "/tmp/c.gif"])),
            ("file:///tmp/a%20b.webp", images(&["/tmp/a b.webp"])),
            ("C:\\shots\\a.png", images(&["C:\\shots\\a.png"])),
            ("see /tmp/a.png", text("see /tmp/a.png")),
            ("a.png", text("a.png")),
            ("/tmp/a.rs", text("/tmp/a.rs")),
            ("", text("")),
        ];
        for (pasted, expected) in cases {
            assert_eq!(classify(pasted), expected, "{pasted:?}");
        }
    }
}
