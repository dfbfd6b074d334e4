//! Detects placeholder lines for omitted code, such as "... rest unchanged". They are never written to a file.

/// Whether `line` is a placeholder for omitted code, in a comment, in brackets or bare.
pub(crate) fn is_omission(line: &str) -> bool {
    let text = line.trim();
    if text.is_empty() || text.len() > 160 {
        return false;
    }
    let Some(inner) = strip_comment(text) else { return false };
    let lower = inner.to_lowercase().replace('…', "...");
    let has_dots = lower.contains("...");
    let words = lower.replace("...", " ");
    let words = words.trim().trim_end_matches(['.', ':', '!']).trim();
    if words.is_empty() {
        return has_dots;
    }
    if has_dots && is_short(words) && WORDS.iter().any(|word| words.contains(word)) {
        return true;
    }
    PHRASES.iter().any(|phrase| words.contains(phrase)) && is_short(words)
}

/// Whether `line` contains only dots: an omission in most languages, a statement in some.
pub(crate) fn is_bare_dots(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

fn is_short(words: &str) -> bool {
    words.split_whitespace().count() <= 14
}

/// Words that indicate omitted code next to an ellipsis.
const WORDS: [&str; 20] = [
    "rest of",
    "existing",
    "unchanged",
    "remaining",
    "remains",
    "omitted",
    "same as",
    "other ",
    "previous",
    "keep",
    "snip",
    "code here",
    "as before",
    "more ",
    "truncated",
    "no changes",
    "not changed",
    "stays",
    "the rest",
    "implementation",
];

/// Phrases that indicate it without an ellipsis.
const PHRASES: [&str; 12] = [
    "rest of the code",
    "rest of the file",
    "rest of code",
    "rest of file",
    "rest of the function",
    "rest of the class",
    "rest of the method",
    "rest of your code",
    "existing code here",
    "existing code remains",
    "remains unchanged",
    "remain unchanged",
];

/// The content of a comment or bracket; the text itself if it starts or ends with dots.
fn strip_comment(text: &str) -> Option<&str> {
    for (open, close) in [
        ("/*", "*/"),
        ("<!--", "-->"),
        ("{/*", "*/}"),
        ("(", ")"),
        ("[", "]"),
        ("{#", "#}"),
        ("<", ">"),
    ] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            let inner = inner.trim();
            return (inner.starts_with("...") || inner.ends_with("...") || inner.contains('…') || open.len() > 1)
                .then_some(inner);
        }
    }
    for open in ["//", "#", "--", ";", "%", "*"] {
        if let Some(inner) = text.strip_prefix(open) {
            return Some(inner.trim_start_matches(['/', '#', '-', ';', '%', '!', '*']).trim());
        }
    }
    let spaced = |rest: &str| rest.is_empty() || rest.starts_with([' ', '.']);
    let dotted = |text: &str| {
        text.strip_prefix("...")
            .or_else(|| text.strip_prefix('…'))
            .is_some_and(spaced)
            || text.ends_with(" ...")
    };
    (dotted(text) && !text.contains(['(', ')', '=', ';', '{', '}', '"', '\'', '`', ',', '|', '&'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omissions_are_distinguished_from_code() {
        for line in [
            "// ... existing code ...",
            "    # ... rest of the function unchanged",
            "(rest of methods ...)",
            "(unchanged code ...)",
            "/* ... */",
            "<!-- ... other sections ... -->",
            "// rest of the code remains unchanged",
            "...",
            "{/* ... existing props ... */}",
            "# …",
            "... rest of file ...",
            "// ...",
        ] {
            assert!(is_omission(line), "{line}");
        }
        for line in [
            "let all = [...rest, ...existing];",
            "...props,",
            "...options.existing",
            "fn f(args: ...) {}",
            "// wait for the rest of the packets to arrive before we go on with the next one in line",
            "printf(\"existing...\");",
            "case 0...9:",
            "# Loading...",
            "console.log('...');",
            "text",
            "",
            "(a, b, ...)",
        ] {
            assert!(!is_omission(line), "{line}");
        }
    }
}
