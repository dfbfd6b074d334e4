//! Matches tags at the start of a text that may be incomplete.

/// Whether a text starts with something, and its length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagMatch {
    Yes(usize),
    /// So far.
    Maybe,
    No,
}

/// Matches `</name>`.
pub(super) fn closing(text: &str, name: &str) -> TagMatch {
    let mut rest = text;
    for part in ["</", name] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) => return TagMatch::Maybe,
            None => return TagMatch::No,
        }
    }
    tag_end(text, rest)
}

/// Matches `<name>`.
pub(super) fn opening(text: &str) -> TagMatch {
    let Some(rest) = text.strip_prefix('<') else {
        return if text.is_empty() { TagMatch::Maybe } else { TagMatch::No };
    };
    let name = word(rest);
    match (name.is_empty(), rest.is_empty()) {
        (true, true) => TagMatch::Maybe,
        (true, false) => TagMatch::No,
        (false, _) => tag_end(text, &rest[name.len()..]),
    }
}

fn tag_end(text: &str, rest: &str) -> TagMatch {
    let rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    match rest.strip_prefix('>') {
        Some(after) => TagMatch::Yes(text.len() - after.len()),
        None if rest.is_empty() => TagMatch::Maybe,
        None => TagMatch::No,
    }
}

/// Returns the name at the start of a text.
pub(super) fn word(text: &str) -> &str {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let end = text.find(|letter| !is_letter(letter)).unwrap_or(text.len());
    match text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        true => &text[..end],
        false => "",
    }
}

/// Number of trailing bytes of a text that are a prefix of `pattern`.
pub(super) fn overlap(text: &str, pattern: &str) -> usize {
    let most = text.len().min(pattern.len() - 1);
    let fits = |bytes: &usize| text.as_bytes().ends_with(&pattern.as_bytes()[..*bytes]);
    (1..=most).rev().find(fits).unwrap_or(0)
}

/// Matches `<key=name>` and returns the name. Some models add spaces or quotes.
pub(super) fn assigning<'a>(text: &'a str, key: &str) -> (TagMatch, &'a str) {
    let mut rest = text;
    for part in ["<", key, "="] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) => return (TagMatch::Maybe, ""),
            None => return (TagMatch::No, ""),
        }
        if part != "<" {
            rest = rest.trim_start_matches(' ');
        }
    }
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let name = word(rest);
    let after = &rest[name.len()..];
    if name.is_empty() {
        let found = if after.is_empty() {
            TagMatch::Maybe
        } else {
            TagMatch::No
        };
        return (found, "");
    }
    let after = after.strip_prefix(['"', '\'']).unwrap_or(after);
    (tag_end(text, after), name)
}

/// Matches `<tag name="name">` and returns the name. Other attributes are ignored.
pub(super) fn naming<'a>(text: &'a str, tag: &str) -> (TagMatch, &'a str) {
    let mut rest = text;
    for part in ["<", tag] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) => return (TagMatch::Maybe, ""),
            None => return (TagMatch::No, ""),
        }
    }
    if rest.is_empty() {
        return (TagMatch::Maybe, "");
    }
    if !rest.starts_with([' ', '\t', '\r', '\n']) {
        return (TagMatch::No, "");
    }
    let Some(end) = rest.find(['>', '<']) else {
        return (
            if rest.len() < MAX_TAG {
                TagMatch::Maybe
            } else {
                TagMatch::No
            },
            "",
        );
    };
    let attributes = &rest[..end];
    let value = attributes
        .split_once("name")
        .and_then(|(_, value)| value.trim_start().strip_prefix('='))
        .map(|value| word(value.trim_start().trim_start_matches(['"', '\''])));
    match value {
        Some(name) if !name.is_empty() && rest[end..].starts_with('>') => {
            (TagMatch::Yes(text.len() - rest.len() + end + 1), name)
        }
        Some(_) | None => (TagMatch::No, ""),
    }
}

/// Maximum length of the attributes of a tag.
const MAX_TAG: usize = 200;
