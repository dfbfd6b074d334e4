//! What a prompt mentions: files, folders, lines, symbols, pages, other sessions.
//!
//! A mention begins with `@` or `#` where a word may begin, or is a bare `path:10-20`. It stays in the prompt as it was
//! written; what it stands for is laid out behind it by [`crate::context`].

use std::ops::RangeInclusive;

/// Something that a prompt mentions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Mention {
    /// A file or a folder, or some lines of a file.
    Path {
        /// As it was written.
        path: String,
        /// The lines, counted from 1.
        lines: Option<RangeInclusive<usize>>,
        /// Whether it must be one.
        certainty: Certainty,
    },
    /// A definition in the code.
    Symbol(String),
    /// Another session, by the beginning of its id.
    Thread(String),
    /// A page on the network.
    Url(String),
    /// A rules file or a saved prompt, by its name.
    Rule(String),
    /// What was changed since the last commit.
    Diff,
    /// What compilers and linters complain about.
    Diagnostics,
}

/// Whether something is surely meant as a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// It was marked as one: if nothing is found, the person is told.
    Marked,
    /// It was marked, but names of people, packages and annotations are too (`@alice`, `@types/node`, `@Override`): if nothing
    /// is found, the person is told only where something has nearly the same name.
    Worded,
    /// It looks like one: if nothing is found, it was only words.
    Guessed,
}

/// At most this many mentions of one prompt are looked at.
const MOST: usize = 50;

/// What a prompt mentions, in order, each thing once.
pub fn mentions(text: &str) -> Vec<Mention> {
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
    found.truncate(MOST);
    found
}

/// Whether something is plainly a mention.
pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

fn in_line(line: &str, found: &mut Vec<Mention>) {
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

/// The next word, which may be quoted or have escaped spaces, without the punctuation of the sentence around it.
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

fn marked(word: &str) -> Option<Mention> {
    match word {
        "" => None,
        "diff" | "git-diff" | "git-changes" => Some(Mention::Diff),
        "diagnostics" | "problems" => Some(Mention::Diagnostics),
        _ if is_url(word) => Some(Mention::Url(word.into())),
        _ => match word.split_once(':') {
            Some(("thread", id)) if !id.is_empty() => Some(Mention::Thread(id.into())),
            Some(("rule", name)) if !name.is_empty() => Some(Mention::Rule(name.into())),
            _ => {
                let (path, lines) = split_lines(word);
                let path = path.strip_prefix('/').filter(|_| path.len() == 1).unwrap_or(path);
                let certainty = match lines.is_some() || looks_like_a_path(path) {
                    true => Certainty::Marked,
                    false => Certainty::Worded,
                };
                (!path.is_empty() && !path.starts_with('@')).then(|| Mention::Path {
                    path: path.into(),
                    lines,
                    certainty,
                })
            }
        },
    }
}

/// Whether nothing but a path is written like this: it has an ending, or says where it begins or that it is a folder.
fn looks_like_a_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| !ending.is_empty() && ending.chars().all(char::is_alphanumeric));
    has_ending || word.ends_with('/') || word.starts_with(['/', '.', '~'])
}

/// Words after `#` in C that are no symbols.
const DIRECTIVES: [&str; 12] = [
    "include", "define", "ifdef", "ifndef", "if", "else", "elif", "endif", "pragma", "undef", "error", "region",
];

fn symbol(word: &str) -> Option<Mention> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    let starts_well = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_colour = matches!(word.len(), 3 | 4 | 6 | 8) && word.chars().all(|c| c.is_ascii_hexdigit());
    (starts_well && word.chars().all(is_name) && !is_colour && !DIRECTIVES.contains(&word))
        .then(|| Mention::Symbol(word.into()))
}

/// A bare `path:10-20`; a path alone is only a word.
fn selection(word: &str) -> Option<Mention> {
    if is_url(word) {
        return None;
    }
    let (path, lines) = split_lines(word);
    let looks_like_a_path = path.contains(['.', '/']) && !path.contains("://");
    (looks_like_a_path && lines.is_some()).then(|| Mention::Path {
        path: path.into(),
        lines,
        certainty: Certainty::Guessed,
    })
}

/// A path and the lines behind it: `:10`, `:10-20`, `#L10`, `#L10-20`, `#L10-L20`.
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

    fn path(path: &str) -> Mention {
        Mention::Path {
            path: path.into(),
            lines: None,
            certainty: Certainty::Marked,
        }
    }

    fn worded(path: &str) -> Mention {
        Mention::Path {
            path: path.into(),
            lines: None,
            certainty: Certainty::Worded,
        }
    }

    fn lines(path: &str, lines: RangeInclusive<usize>, certainty: Certainty) -> Mention {
        Mention::Path {
            path: path.into(),
            lines: Some(lines),
            certainty,
        }
    }

    #[test]
    fn mentions_are_found_where_words_begin_and_nowhere_else() {
        use Certainty::{Guessed, Marked};
        let cases: Vec<(&str, Vec<Mention>)> = vec![
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
                vec![Mention::Url("https://example.org/a(b)?q=1".into())],
            ),
            ("https://example.org:80", vec![]),
            (
                "what about #parse_line and #Foo::bar?",
                vec![Mention::Symbol("parse_line".into()), Mention::Symbol("Foo::bar".into())],
            ),
            ("#123 #fff # Title #include x", vec![]),
            (
                "@diff @problems @thread:0199ab @rule:style",
                vec![
                    Mention::Diff,
                    Mention::Diagnostics,
                    Mention::Thread("0199ab".into()),
                    Mention::Rule("style".into()),
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
            assert_eq!(mentions(text), expected, "{text}");
        }
    }

    #[test]
    fn the_number_of_mentions_is_bounded() {
        let text: String = (0..500).map(|number| format!("@f{number} ")).collect();
        assert_eq!(mentions(&text).len(), MOST);
    }
}
