//! Typographic characters in quoted lines for plain ones of the file, which added lines then have, too.

use crate::document::TextDocument;
use crate::fold::{composed, fold, is_combining, is_look_alike};
use crate::matcher::{MatchCandidate, QuotedLine};

/// The characters of the quoted lines in place of which the file has plain ones.
pub(crate) fn look_alikes(document: &TextDocument, quoted: &[QuotedLine], candidate: &MatchCandidate) -> Vec<char> {
    let pairs = || {
        let lines = quoted.iter().zip(&candidate.pairs);
        lines.filter_map(|(line, pair)| Some((line.text.as_str(), document.line((*pair)?))))
    };
    let mut found: Vec<char> = pairs()
        .filter(|(text, actual)| !text.is_ascii() && text != actual)
        .flat_map(|(text, _)| text.chars())
        .filter(|c| !c.is_ascii() && is_look_alike(*c))
        .collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|c| pairs().all(|(text, actual)| !text.contains(*c) || !actual.contains(*c)));
    // One typographic quote in place of a plain one: the others are, too.
    const QUOTES: [char; 4] = ['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'];
    if found.iter().any(|c| QUOTES.contains(c)) && !document.body().contains(QUOTES) {
        found.extend(QUOTES);
    }
    found
}

/// `line` with plain characters in place of `look_alikes`; combined characters are composed if they are among them.
pub(crate) fn with_plain_characters(line: &str, look_alikes: &[char]) -> String {
    let is_combined = look_alikes.iter().any(|c| is_combining(*c));
    let plain: String = line
        .chars()
        .map(|c| match look_alikes.contains(&c) && !is_combining(c) {
            true => fold(c.encode_utf8(&mut [0; 4])),
            false => c.to_string(),
        })
        .collect();
    if is_combined { composed(&plain) } else { plain }
}
