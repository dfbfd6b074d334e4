//! Parses mentions in a prompt: files, directories, lines, symbols, pages, other sessions.
//!
//! A mention begins with `@` or `#` at the start of a word, or is a bare `path:10-20`. The prompt is not changed; the
//! content of mentions is added after it by [`crate::mention_context`].

mod content;

pub use content::{MentionContext, MentionedContent, mention_context};

use std::ops::RangeInclusive;

/// A mention in a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PromptMention {
    /// A file or directory, or lines of a file.
    Path {
        /// As written.
        path: String,
        /// The lines, starting at 1.
        lines: Option<RangeInclusive<usize>>,
        /// Whether it is certainly a path.
        certainty: MentionCertainty,
    },
    /// A definition in the code.
    Symbol(String),
    /// Another session, by a prefix of its id.
    Thread(String),
    /// A web page.
    Url(String),
    /// A rules file or a saved prompt, by name.
    Rule(String),
    /// Changes since the last commit.
    Diff,
    /// Diagnostics of compilers and linters.
    Diagnostics,
    /// Code that matches the rest of the line by meaning.
    Codebase(String),
}

/// How certain it is that a mention is intended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MentionCertainty {
    /// Marked as a mention: if it is not found, the user is notified.
    Marked,
    /// Marked, but names of people, packages and annotations look the same (`@alice`, `@types/node`, `@Override`): if
    /// it is not found, the user is notified only about similar names.
    Ambiguous,
    /// Looks like a mention: if it is not found, it is plain text.
    Guessed,
}

/// The maximum length of the words of `@codebase`.
const MAX_QUERY: usize = 500;
/// Maximum number of mentions per prompt.
const MAX_MENTIONS: usize = 50;

/// Returns the mentions of a prompt in order, without duplicates.
pub fn parse_mentions(text: &str) -> Vec<PromptMention> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if !fenced {
            in_line(line, &mut found);
        }
    }
    found.truncate(MAX_MENTIONS);
    found
}

/// Whether a word is a URL.
pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

fn in_line(line: &str, found: &mut Vec<PromptMention>) {
    let mut rest = line;
    let mut may_begin = true;
    while let Some(first) = rest.chars().next() {
        let at_word = may_begin;
        may_begin = first.is_whitespace() || matches!(first, '(' | '[' | '{' | '"' | '\'' | ',');
        if !at_word || may_begin {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        // Code in backticks is quoted, not mentioned.
        if first == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let (fence, after) = rest.split_at(ticks);
            rest = after.find(fence).map_or("", |end| &after[end + ticks..]);
            continue;
        }
        let (word, after) = match first {
            '@' | '#' => take_word(&rest[1..]),
            _ => take_word(rest),
        };
        if let Some(mention) = codebase(first, &word, line, after) {
            if !found.contains(&mention) {
                found.push(mention);
            }
            rest = after;
            may_begin = false;
            continue;
        }
        let mention = match first {
            '@' => marked(&word),
            '#' => symbol(&word),
            _ => selection(&word),
        };
        if let Some(mention) = mention
            && !found.contains(&mention)
        {
            found.push(mention);
        }
        rest = after;
        may_begin = false;
    }
}

/// Takes the next word, which may be quoted or contain escaped spaces, without trailing punctuation.
fn take_word(text: &str) -> (String, &str) {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some(end) = quoted.find('"')
    {
        let (word, after) = (&quoted[..end], &quoted[end + 1..]);
        let lines = after.len()
            - after
                .trim_start_matches(|c: char| c == ':' || c == '-' || c.is_ascii_digit())
                .len();
        return (format!("{word}{}", &after[..lines]), &after[lines..]);
    }
    let mut word = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if text[at + 1..].starts_with(' ') => {
                word.push(' ');
                chars.next();
            }
            c if c.is_whitespace() => {
                end = at;
                break;
            }
            c => word.push(c),
        }
    }
    let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '"', '\'', '>', ']', '}']);
    let opened = bare.matches('(').count();
    let bare = match bare.strip_suffix(')') {
        Some(without) if bare.matches(')').count() > opened => without.trim_end_matches(['.', ',', ';', ':', '!', '?']),
        _ => bare,
    };
    (bare.to_owned(), &text[end..])
}

/// `@codebase` with the words after it, or without those the words before it.
fn codebase(first: char, word: &str, line: &str, after: &str) -> Option<PromptMention> {
    if first != '@' || !matches!(word, "codebase" | "workspace") {
        return None;
    }
    let before = line.get(..line.len() - after.len()).unwrap_or_default();
    let before = before
        .trim_end()
        .trim_end_matches(|letter: char| letter.is_alphanumeric())
        .trim_end_matches('@');
    let words = match after.trim().trim_start_matches([':', ',', '.']).trim() {
        "" => before.trim(),
        after => after,
    };
    (!words.is_empty()).then(|| PromptMention::Codebase(words.chars().take(MAX_QUERY).collect()))
}

fn marked(word: &str) -> Option<PromptMention> {
    match word {
        "" => None,
        "diff" | "git-diff" | "git-changes" => Some(PromptMention::Diff),
        "diagnostics" | "problems" => Some(PromptMention::Diagnostics),
        _ if is_url(word) => Some(PromptMention::Url(word.into())),
        _ => match word.split_once(':') {
            Some(("thread", id)) if !id.is_empty() => Some(PromptMention::Thread(id.into())),
            Some(("rule", name)) if !name.is_empty() => Some(PromptMention::Rule(name.into())),
            _ => {
                let (path, lines) = split_lines(word);
                let path = path.strip_prefix('/').filter(|_| path.len() == 1).unwrap_or(path);
                let certainty = match lines.is_some() || looks_like_a_path(path) {
                    true => MentionCertainty::Marked,
                    false => MentionCertainty::Ambiguous,
                };
                (!path.is_empty() && !path.starts_with('@')).then(|| PromptMention::Path {
                    path: path.into(),
                    lines,
                    certainty,
                })
            }
        },
    }
}

/// Whether a word can only be a path: it has an extension, ends with a slash, or starts like a path.
fn looks_like_a_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| !ending.is_empty() && ending.chars().all(char::is_alphanumeric));
    has_ending || word.ends_with('/') || word.starts_with(['/', '.', '~'])
}

/// C preprocessor directives, which are not symbols.
const DIRECTIVES: [&str; 12] = [
    "include", "define", "ifdef", "ifndef", "if", "else", "elif", "endif", "pragma", "undef", "error", "region",
];

fn symbol(word: &str) -> Option<PromptMention> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    let starts_well = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_colour = matches!(word.len(), 3 | 4 | 6 | 8) && word.chars().all(|c| c.is_ascii_hexdigit());
    (starts_well && word.chars().all(is_name) && !is_colour && !DIRECTIVES.contains(&word))
        .then(|| PromptMention::Symbol(word.into()))
}

/// Parses a bare `path:10-20`; a path alone is only a word.
fn selection(word: &str) -> Option<PromptMention> {
    if is_url(word) {
        return None;
    }
    let (path, lines) = split_lines(word);
    let looks_like_a_path = path.contains(['.', '/']) && !path.contains("://");
    (looks_like_a_path && lines.is_some()).then(|| PromptMention::Path {
        path: path.into(),
        lines,
        certainty: MentionCertainty::Guessed,
    })
}

/// Splits a path from its lines: `:10`, `:10-20`, `#L10`, `#L10-20`, `#L10-L20`.
fn split_lines(word: &str) -> (&str, Option<RangeInclusive<usize>>) {
    let split = word.rsplit_once("#L").or_else(|| word.rsplit_once(':'));
    let Some((path, lines)) = split else {
        return (word, None);
    };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let last = last.strip_prefix('L').unwrap_or(last);
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first > 0 && first <= last && !path.is_empty() => (path, Some(first..=last)),
        _ => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> PromptMention {
        PromptMention::Path {
            path: path.into(),
            lines: None,
            certainty: MentionCertainty::Marked,
        }
    }

    fn worded(path: &str) -> PromptMention {
        PromptMention::Path {
            path: path.into(),
            lines: None,
            certainty: MentionCertainty::Ambiguous,
        }
    }

    fn lines(path: &str, lines: RangeInclusive<usize>, certainty: MentionCertainty) -> PromptMention {
        PromptMention::Path {
            path: path.into(),
            lines: Some(lines),
            certainty,
        }
    }

    #[test]
    fn mentions_are_found_only_at_word_starts() {
        use MentionCertainty::{Guessed, Marked};
        let cases: Vec<(&str, Vec<PromptMention>)> = vec![
            ("look at @src/main.rs, please", vec![path("src/main.rs")]),
            ("(@src/lib.rs).", vec![path("src/lib.rs")]),
            ("@docs/ and @docs/ again", vec![path("docs/")]),
            (r"@my\ file.txt", vec![path("my file.txt")]),
            (r#"@"my file.txt":3-4 now"#, vec![lines("my file.txt", 3..=4, Marked)]),
            ("@a.rs:10-20", vec![lines("a.rs", 10..=20, Marked)]),
            ("@a.rs#L10-L20", vec![lines("a.rs", 10..=20, Marked)]),
            ("see src/a.rs:7.", vec![lines("src/a.rs", 7..=7, Guessed)]),
            ("at 10:30-11 or 3:4", vec![]),
            ("mail me@example.org", vec![]),
            (
                "@https://example.org/a(b)?q=1.",
                vec![PromptMention::Url("https://example.org/a(b)?q=1".into())],
            ),
            ("https://example.org:80", vec![]),
            (
                "what about #parse_line and #Foo::bar?",
                vec![
                    PromptMention::Symbol("parse_line".into()),
                    PromptMention::Symbol("Foo::bar".into()),
                ],
            ),
            ("#123 #fff # Title #include x", vec![]),
            (
                "@diff @problems @thread:0199ab @rule:style",
                vec![
                    PromptMention::Diff,
                    PromptMention::Diagnostics,
                    PromptMention::Thread("0199ab".into()),
                    PromptMention::Rule("style".into()),
                ],
            ),
            ("`@quoted` and ``a `@b` c`` @real", vec![worded("real")]),
            ("```\n@in/fence\n```\n@out", vec![worded("out")]),
            (
                "@alice: @types/node, @Override",
                vec![worded("alice"), worded("types/node"), worded("Override")],
            ),
            ("@./x @~/y @.env", vec![path("./x"), path("~/y"), path(".env")]),
            ("@ @@ @. nothing", vec![]),
            ("@äöü/ß.txt", vec![path("äöü/ß.txt")]),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_mentions(text), expected, "{text}");
        }
    }

    #[test]
    fn the_number_of_mentions_is_bounded() {
        let text: String = (0..500).map(|number| format!("@f{number} ")).collect();
        assert_eq!(parse_mentions(&text).len(), MAX_MENTIONS);
    }
}
