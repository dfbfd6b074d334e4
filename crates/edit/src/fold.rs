//! Line equality: look-alike characters, whitespace and typos, each handled separately.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// `text` in composed form with typographic dashes, quotes and spaces replaced by their plain forms and invisible
/// characters dropped.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    if is_nfc(text) {
        text.chars().flat_map(fold_char).collect()
    } else {
        text.nfc().flat_map(fold_char).collect()
    }
}

fn fold_char(character: char) -> impl Iterator<Item = char> {
    let plain: &'static str = match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{201c}'..='\u{201f}' | '«' | '»' | '\u{2033}' | '\u{ff02}' => "\"",
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' | '\u{b4}' => "'",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2026}' => "...",
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => "",
        _ => return FoldedChar::One(Some(character)),
    };
    FoldedChar::Plain(plain.chars())
}

/// Whether `fold` changes the character, alone or after another one.
pub(crate) fn is_look_alike(character: char) -> bool {
    is_combining(character) || fold_char(character).ne([character])
}

pub(crate) fn is_combining(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
}

pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
}

enum FoldedChar {
    One(Option<char>),
    Plain(std::str::Chars<'static>),
}

impl Iterator for FoldedChar {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Self::One(one) => one.take(),
            Self::Plain(plain) => plain.next(),
        }
    }
}

/// `text` folded, without any whitespace: the loosest equality that is still equality.
pub(crate) fn squash(text: &str) -> String {
    if text.is_ascii() {
        return text
            .chars()
            .filter(|c| !c.is_ascii_whitespace() && *c != '\u{b}')
            .collect();
    }
    fold(text).chars().filter(|c| !c.is_whitespace()).collect()
}

/// `text` folded and trimmed, runs of whitespace made one space.
pub(crate) fn collapse(text: &str) -> String {
    let folded = fold(text);
    let mut out = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A hash of [`squash`] without building it for plain text.
pub(crate) fn squash_key(text: &str) -> u64 {
    const SEED: u64 = 0xcbf2_9ce4_8422_2325;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    if text.is_ascii() {
        text.bytes()
            .filter(|b| !b.is_ascii_whitespace() && *b != 0xb)
            .fold(SEED, step)
    } else {
        squash(text).bytes().fold(SEED, step)
    }
}

/// The leading whitespace of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    let body = line.trim_start();
    line.get(..line.len() - body.len()).unwrap_or_default()
}

/// Whether a line contains only invisible characters.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Whether `quoted` is a mistyped copy of `actual`: the same tokens except for punctuation and typos in words. Numbers
/// and short names must be equal, because they distinguish similar lines.
pub(crate) fn is_typo(quoted: &str, actual: &str) -> bool {
    let (quoted, actual) = (fold(quoted), fold(actual));
    let (left, right) = (tokens(&quoted), tokens(&actual));
    let words = |all: &[&'_ str]| -> Vec<String> {
        all.iter()
            .filter(|token| is_word(token))
            .map(|token| (*token).to_owned())
            .collect()
    };
    // Operators distinguish lines, too.
    let operators = |text: &str| -> String { text.chars().filter(|c| "<>=+-*/%&|^~".contains(*c)).collect() };
    if operators(&quoted) != operators(&actual) {
        return false;
    }
    let (left_words, right_words) = (words(&left), words(&right));
    if left_words.len() != right_words.len() || left_words.is_empty() {
        return false;
    }
    let punctuation = (left.len() - left_words.len()).abs_diff(right.len() - right_words.len());
    let mut slips = punctuation;
    for (one, other) in left_words.iter().zip(&right_words) {
        if one != other {
            if !is_word_typo(one, other) {
                return false;
            }
            slips += 1;
        }
    }
    slips <= 2 && similarity(quoted.trim(), actual.trim()) >= 0.8
}

fn is_word(token: &str) -> bool {
    token.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn tokens(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, character) in line.char_indices() {
        if character.is_alphanumeric() || character == '_' {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            out.extend(line.get(from..at));
        }
        if !character.is_whitespace() {
            out.extend(line.get(at..at + character.len_utf8()));
        }
    }
    out.extend(start.and_then(|from| line.get(from..)));
    out
}

/// An extra, missing or swapped letter in a longer word; never a digit, and never at the first or last letter.
fn is_word_typo(one: &str, other: &str) -> bool {
    if one.eq_ignore_ascii_case(other) {
        return one.len() > 2;
    }
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if a.len().min(b.len()) < 5 || a.first() != b.first() {
        return false;
    }
    let prefix = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - prefix;
    let suffix = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(rest)
        .take_while(|(x, y)| x == y)
        .count();
    let (left, right) = (&a[prefix..a.len() - suffix], &b[prefix..b.len() - suffix]);
    if left.iter().chain(right).any(|c| !c.is_alphabetic()) {
        return false;
    }
    match (left.len(), right.len()) {
        (0, 1) | (1, 0) => true,
        (1, 1) => suffix > 0,
        (2, 2) => left[0] == right[1] && left[1] == right[0],
        _ => false,
    }
}

/// 1 for equal texts, 0 for entirely different ones: one minus the edit distance over the longer length.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let longer = a.len().max(b.len());
    if longer > 2_000 {
        return 0.0;
    }
    1.0 - distance(&a, &b) as f64 / longer as f64
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_fold_to_plain_text() {
        for (fancy, plain) in [
            ("it’s “so”", "it's \"so\""),
            ("a–b—c", "a-b-c"),
            ("x\u{a0}y", "x y"),
            ("wait…", "wait..."),
            ("e\u{301}", "é"),
            ("a\u{200b}b", "ab"),
        ] {
            assert_eq!(fold(fancy), plain);
        }
    }

    #[test]
    fn similar_lines_are_not_typos() {
        for (quoted, actual) in [
            ("const results = fetch();", "const result = fetch();"),
            ("  enableFeature: true,", "  enableFeature: true"),
            ("recieve(message)", "receive(message)"),
            ("userId = load()", "userID = load()"),
            ("return foo(bar);", "return foo(bar)"),
        ] {
            assert!(is_typo(quoted, actual), "{quoted} / {actual}");
        }
        for (quoted, actual) in [
            ("case 1:", "case 2:"),
            ("def test_a():", "def test_b():"),
            ("getUser(x)", "setUser(x)"),
            ("startX = 0", "startY = 0"),
            ("row_10 = next()", "row_11 = next()"),
            ("const enabled = true", "removeAllUserData()"),
            ("min_value = 3", "max_value = 3"),
        ] {
            assert!(!is_typo(quoted, actual), "{quoted} / {actual}");
        }
    }
}
