//! Tags at the beginning of a text that may end in the middle of one.

/// Whether something stands at the beginning of a text; with how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Yes(usize),
    /// As far as the text goes.
    Maybe,
    No,
}

/// Whether a text begins with `</name>`.
pub(super) fn closing(text: &str, name: &str) -> Found {
    let mut rest = text;
    for part in ["</", name] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) => return Found::Maybe,
            None => return Found::No,
        }
    }
    tag_end(text, rest)
}

/// Whether a text begins with `<word>`.
pub(super) fn opening(text: &str) -> Found {
    let Some(rest) = text.strip_prefix('<') else {
        return if text.is_empty() { Found::Maybe } else { Found::No };
    };
    let name = word(rest);
    match (name.is_empty(), rest.is_empty()) {
        (true, true) => Found::Maybe,
        (true, false) => Found::No,
        (false, _) => tag_end(text, &rest[name.len()..]),
    }
}

fn tag_end(text: &str, rest: &str) -> Found {
    let rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    match rest.strip_prefix('>') {
        Some(after) => Found::Yes(text.len() - after.len()),
        None if rest.is_empty() => Found::Maybe,
        None => Found::No,
    }
}

/// The name at the beginning of a text.
pub(super) fn word(text: &str) -> &str {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let end = text.find(|letter| !is_letter(letter)).unwrap_or(text.len());
    match text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        true => &text[..end],
        false => "",
    }
}

/// With how many of its last bytes a text begins what is looked for.
pub(super) fn overlap(text: &str, wanted: &str) -> usize {
    let most = text.len().min(wanted.len() - 1);
    let fits = |bytes: &usize| text.as_bytes().ends_with(&wanted.as_bytes()[..*bytes]);
    (1..=most).rev().find(fits).unwrap_or(0)
}

/// Whether a text begins with `<key=name>`, and the name. Some models put spaces or quotes around it.
pub(super) fn assigning<'a>(text: &'a str, key: &str) -> (Found, &'a str) {
    let mut rest = text;
    for part in ["<", key, "="] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) => return (Found::Maybe, ""),
            None => return (Found::No, ""),
        }
        if part != "<" {
            rest = rest.trim_start_matches(' ');
        }
    }
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let name = word(rest);
    let after = &rest[name.len()..];
    if name.is_empty() {
        let found = if after.is_empty() { Found::Maybe } else { Found::No };
        return (found, "");
    }
    let after = after.strip_prefix(['"', '\'']).unwrap_or(after);
    (tag_end(text, after), name)
}
