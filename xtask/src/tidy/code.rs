//! Rule: no unfinished code, and no disabled test without a reason.
//!
//! Comments and string literals are blanked out first, because tests and the demo project contain source code in
//! strings.

use super::{File, Problem};

const UNFINISHED: &[&str] = &["todo!", "unimplemented!"];

/// Checks every Rust file of the repository.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Data folders contain other projects' sources.
    for file in files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && !file.path.contains("/data/"))
    {
        for (index, line) in blank(&file.text).lines().enumerate() {
            let place = || format!("{}:{}", file.path, index + 1);
            for name in UNFINISHED.iter().filter(|name| calls(line, name)) {
                problems.push(Problem::new(place(), format!("`{name}` is unfinished work")));
            }
            let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
            if dense.contains("#[ignore]") || dense.contains("#[ignore=\"\"]") {
                problems.push(Problem::new(
                    place(),
                    "an ignored test needs a reason: #[ignore = \"reason\"]",
                ));
            }
        }
    }
    problems
}

/// Whether `line` calls the macro `name`, not another macro with the same ending.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// The text with the insides of comments and of string and character literals replaced by dots, line by line.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let Token { open, hidden, close } = token(rest, first);
        let (shown, after) = rest.split_at(open);
        let (secret, after) = after.split_at(hidden);
        let (end, after) = after.split_at(close);
        out.push_str(shown);
        out.extend(secret.chars().map(|c| if c == '\n' { '\n' } else { '.' }));
        out.push_str(end);
        rest = after;
    }
    out
}

/// A piece of source as three byte lengths: visible, hidden, and visible again.
struct Token {
    open: usize,
    hidden: usize,
    close: usize,
}

fn token(rest: &str, first: char) -> Token {
    if rest.starts_with("//") {
        return Token {
            open: 0,
            hidden: rest.find('\n').unwrap_or(rest.len()),
            close: 0,
        };
    }
    if rest.starts_with("/*") {
        return Token {
            open: 0,
            hidden: block_comment(rest),
            close: 0,
        };
    }
    if first == '"' {
        return literal(rest, 1, string_body(&rest[1..]), 1);
    }
    if first == '\'' {
        return match character_body(&rest[1..]) {
            Some(body) => literal(rest, 1, body, 1),
            None => Token {
                open: 1,
                hidden: 0,
                close: 0,
            },
        };
    }
    if first.is_alphabetic() || first == '_' {
        return word(rest);
    }
    Token {
        open: first.len_utf8(),
        hidden: 0,
        close: 0,
    }
}

/// A literal, which may lack its end in broken source.
fn literal(rest: &str, open: usize, hidden: usize, close: usize) -> Token {
    Token {
        open,
        hidden,
        close: close.min(rest.len() - open - hidden),
    }
}

/// An identifier, or a prefixed raw literal such as `r#"…"#`.
fn word(rest: &str) -> Token {
    let length = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    let (name, after) = rest.split_at(length);
    let hashes = after.len() - after.trim_start_matches('#').len();
    if matches!(name, "r" | "br" | "cr") && after[hashes..].starts_with('"') {
        let open = length + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        let body = rest[open..].find(&end).unwrap_or(rest.len() - open);
        return literal(rest, open, body, end.len());
    }
    Token {
        open: length,
        hidden: 0,
        close: 0,
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a string up to its closing quote.
fn string_body(inside: &str) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    inside.len()
}

/// Length of a character literal up to its closing quote, or `None` for a lifetime.
fn character_body(inside: &str) -> Option<usize> {
    let mut chars = inside.char_indices();
    match chars.next()? {
        (_, '\\') => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map(|(at, _)| at)
        }
        (_, _) => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        check(&[File::new("crates/a/src/lib.rs", text)])
            .into_iter()
            .map(|problem| problem.place)
            .collect()
    }

    #[test]
    fn unfinished_code_is_reported_with_its_line() {
        assert_eq!(lines("fn a() {\n    todo!()\n}\n"), ["crates/a/src/lib.rs:2"]);
        assert_eq!(
            lines("fn a() { std::unimplemented!(\"later\") }\n"),
            ["crates/a/src/lib.rs:1"]
        );
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        for bad in ["#[ignore]", "#[ ignore ]", "#[ignore = \"\"]"] {
            assert_eq!(lines(bad), ["crates/a/src/lib.rs:1"], "{bad}");
        }
        assert_eq!(lines("#[ignore = \"needs a gigabyte\"]"), Vec::<String>::new());
    }

    #[test]
    fn words_in_comments_and_literals_are_not_code() {
        let fine = [
            "// todo!()\n",
            "/* a /* nested */ todo!() */ fn a() {}\n",
            "let s = \"todo!()\";",
            "let s = \"a \\\" todo!()\";",
            "let s = r#\"say \"todo!()\" here\"#;",
            "let s = br\"todo!()\";",
            "let s = \"over\ntwo lines todo!()\";",
            "my_todo!()",
        ];
        for text in fine {
            assert_eq!(lines(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn code_after_a_literal_is_code_again() {
        let bad = [
            "let s = \"x\"; todo!()",
            "let s = \"\"; todo!()",
            "let s = r\"\"; todo!()",
            "let s = r##\"x\"# \"##; todo!()",
            "let c = '\"'; todo!()",
            "let c = '\\''; todo!()",
            "let c = '\\u{1F600}'; todo!()",
            "fn a<'a>(x: &'a str) { todo!() }",
            "/* done */ todo!()",
            "let s = \"ends with a backslash \\\\\"; todo!()",
        ];
        for text in bad {
            assert_eq!(lines(text), ["crates/a/src/lib.rs:1"], "{text}");
        }
    }

    #[test]
    fn broken_source_is_read_without_a_panic() {
        for text in ["\"open", "r#\"open", "/* open", "'", "'\\", "r", "é'ü'", "r#", "\"\\"] {
            assert_eq!(lines(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn sources_in_test_data_are_ignored() {
        let file = File::new("crates/edit/tests/data/before.rs", "todo!()");
        assert_eq!(check(&[file]), []);
    }
}
