//! Alternative readings of quoted text that does not occur in the file: line numbers, over-escaping, entities, fences.

use std::collections::HashSet;

use crate::anchor::line_hash;
use crate::fold::{is_blank, similarity};
use model::entities::{self, ENTITIES};

/// How the quoted text was normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Normalization {
    Fences,
    LineNumbers,
    Escapes,
    Entities,
}

/// An alternative reading of an old and a new text.
#[derive(Clone, Debug)]
pub(crate) struct AlternativeReading {
    pub(crate) dressing: Normalization,
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) hint: Option<usize>,
    /// Whether the text must be exactly at the hint: what was removed may be content.
    pub(crate) is_placed: bool,
    /// Whether new lines lack what was removed from the old ones, so that their indentation may be another one.
    pub(crate) is_mixed: bool,
}

/// All readings that differ, in the order in which to try them.
pub(crate) fn alternative_readings(old: &str, new: &str) -> Vec<AlternativeReading> {
    let plain = |dressing, pair: Option<(String, String)>| {
        pair.map(|(old, new)| AlternativeReading {
            dressing,
            old,
            new,
            hint: None,
            is_placed: false,
            is_mixed: false,
        })
    };
    let listings = LISTING_MARKS.iter().filter_map(|mark| without_numbers(old, new, mark));
    let others = [
        plain(Normalization::LineNumbers, both(old, new, without_anchors)),
        plain(Normalization::Fences, without_fences(old, new)),
        plain(Normalization::Fences, without_path_comment(old, new)),
        without_some_numbers(old, new),
        plain(Normalization::LineNumbers, without_bars(old, new)),
        plain(Normalization::Escapes, both(old, new, unescaped)),
        plain(Normalization::Escapes, both(old, new, unescaped_tabs)),
        plain(Normalization::Entities, both(old, new, entities::decode)),
        plain(Normalization::Escapes, both(old, new, without_markdown_escapes)),
    ];
    listings
        .chain(others.into_iter().flatten())
        .filter(|reading| reading.old != old && !reading.old.trim().is_empty())
        .collect()
}

fn both(old: &str, new: &str, change: fn(&str) -> String) -> Option<(String, String)> {
    let changed = change(old);
    (changed != old).then(|| (changed, change(new)))
}

fn without_fences(old: &str, new: &str) -> Option<(String, String)> {
    Some((unfenced(old)?, unfenced(new).unwrap_or_else(|| new.to_owned())))
}

/// The new text if it is clearly written in another notation than the old text: with diff signs, entities or escaped line
/// breaks. Lines of the old text that it contains in that notation prove it.
pub(crate) fn plain_new_text(old: &str, new: &str, file: &str) -> Option<String> {
    without_signs(old, new)
        .or_else(|| {
            let plain = entities::decode(new);
            let is_proven = is_shared_line_decoded(old, new, &plain) || is_changed_line_decoded(old, new, file);
            is_proven.then_some(plain)
        })
        .or_else(|| {
            let is_one_line = !new.trim_end_matches('\n').contains('\n') && new.contains("\\n");
            let plain = unescaped(new);
            let is_block =
                old.trim_end().contains('\n') || plain.lines().skip(1).any(|line| line.starts_with([' ', '\t']));
            let is_proven = || is_shared_line_decoded(old, new, &plain) || has_similar_lines(old, &plain);
            (is_one_line && is_block && is_proven()).then_some(plain)
        })
        .or_else(|| {
            let mut readings = ESCAPES.iter().map(|unescape| unescape(new));
            readings.find(|plain| is_shared_line_decoded(old, new, plain))
        })
        .or_else(|| without_listing(old, new, file))
        .or_else(|| without_plus_signs(old, new, file))
}

/// The new text without the line numbers of a listing, which neither the old text nor the file has. Where the mark is usual
/// in other text, the numbers must be those of the quoted lines.
fn without_listing(old: &str, new: &str, file: &str) -> Option<String> {
    const USUAL_MARKS: [&str; 3] = ["\t", ": ", ":"];
    if solid_lines(new) < 2 || old.lines().any(|line| line.starts_with('|')) {
        return None;
    }
    let is_at = |number: usize| {
        let mut places = file.match_indices(old.trim_end_matches('\n'));
        places.any(|(at, _)| (file[..at].matches('\n').count() + 1).abs_diff(number) <= 1)
    };
    LISTING_MARKS.iter().find_map(|mark| {
        let (plain, first) = unnumbered(new, mark)?;
        let is_proven = || is_shared_line_decoded(old, new, &plain) || is_changed_line_decoded_as(old, new, &plain);
        let is_listing =
            mark.contains(['|', '\u{2192}']) || USUAL_MARKS.contains(mark) && is_proven() && first.is_some_and(is_at);
        let is_numbered = |line: &str| numbered_by(line, mark).is_some();
        (is_listing && !old.lines().chain(file.lines()).any(is_numbered)).then_some(plain)
    })
}

fn solid_lines(text: &str) -> usize {
    text.lines().filter(|line| !is_blank(line)).count()
}

/// The new text without the sign that each of its lines has and that no line of the file has, if lines of the old text
/// prove that it is one.
fn without_plus_signs(old: &str, new: &str, file: &str) -> Option<String> {
    let strip = |line| {
        if is_blank(line) {
            Some(line)
        } else {
            str::strip_prefix(line, '+')
        }
    };
    let plain: String = new.split_inclusive('\n').map(strip).collect::<Option<_>>()?;
    let is_sign = !old.lines().chain(file.lines()).any(|line| line.starts_with('+'));
    (is_sign && solid_lines(new) > 1 && is_shared_line_decoded(old, new, &plain)).then_some(plain)
}

/// Whether a line of the old text is clearly more similar to a line of the plain new text than to that line as written.
fn is_changed_line_decoded_as(old: &str, new: &str, plain: &str) -> bool {
    // Each is compared with all old lines.
    const MOST_LINES: usize = 40;
    let is_like = |(written, plain): (&str, &str)| {
        let is_more_similar = |old: &str| {
            let as_plain = similarity(old.trim(), plain.trim());
            as_plain >= 0.6 && as_plain > similarity(old.trim(), written.trim())
        };
        written != plain && !is_blank(plain) && old.lines().any(is_more_similar)
    };
    new.lines().count() == plain.lines().count() && new.lines().zip(plain.lines()).take(MOST_LINES).any(is_like)
}

/// Escapes of other notations that lines of the old text can prove.
const ESCAPES: [fn(&str) -> String; 4] = [
    |text| {
        text.replace("\\\"", "\u{0}")
            .replace("\\\u{0}", "\\\"")
            .replace('\u{0}', "\"")
    },
    |text| text.replace("\\`", "`").replace("\\${", "${"),
    without_markdown_escapes,
    without_unicode_escapes,
];

/// Replaces the escapes of printable ASCII characters, such as `\u003c`.
fn without_unicode_escapes(text: &str) -> String {
    let mut parts = text.split("\\u00");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.map(char::from).filter(char::is_ascii_graphic) {
            Some(plain) => {
                out.push(plain);
                out.push_str(&part[2..]);
            }
            None => {
                out.push_str("\\u00");
                out.push_str(part);
            }
        }
    }
    out
}

/// Whether a line of the old text is in the decoded new text and not in the new text as written.
fn is_shared_line_decoded(old: &str, new: &str, plain: &str) -> bool {
    if plain == new {
        return false;
    }
    let lines = |text: &'_ str| {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect::<HashSet<_>>()
    };
    let (written, decoded) = (lines(new), lines(plain));
    let mut is_decoded = false;
    for line in old.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        match (written.contains(line), decoded.contains(line)) {
            (true, false) => return false,
            (false, true) => is_decoded = true,
            (true, true) | (false, false) => {}
        }
    }
    is_decoded
}

/// Whether a line of the old text is similar to a new line with entities in place of its characters. Neither the file
/// nor the old text has such entities, and the new text has none of the characters that it encodes.
fn is_changed_line_decoded(old: &str, new: &str, file: &str) -> bool {
    let used: Vec<(&str, &str)> = ENTITIES
        .into_iter()
        .filter(|(entity, _)| new.contains(entity))
        .collect();
    let is_strict = used.iter().all(|(entity, plain)| {
        let is_raw = *plain != "&" && new.contains(plain);
        !is_raw && !file.contains(entity) && !old.contains(entity)
    });
    let is_like = |line: &str| {
        let plain = entities::decode(line);
        let is_more_similar = |old: &str| {
            let (as_plain, as_written) = (
                similarity(old.trim(), plain.trim()),
                similarity(old.trim(), line.trim()),
            );
            as_plain >= 0.6 && as_plain > as_written
        };
        plain != line && old.lines().any(is_more_similar)
    };
    !used.is_empty() && is_strict && new.lines().any(is_like)
}

/// Whether several lines, none of which ends in a string, contain one that is similar to a line of the old text.
fn has_similar_lines(old: &str, plain: &str) -> bool {
    let is_whole = |line: &str| {
        ['"', '\'', '`']
            .iter()
            .all(|quote| line.matches(*quote).count() % 2 == 0)
    };
    let is_like = |line: &str| old.lines().any(|other| similarity(line.trim(), other.trim()) >= 0.7);
    old.trim_end().contains('\n')
        && plain.lines().count() > 1
        && plain.lines().all(is_whole)
        && plain.lines().any(is_like)
}

/// The lines that a diff of the whole old text keeps and adds.
fn without_signs(old: &str, new: &str) -> Option<String> {
    let solid = |lines: Vec<&str>| -> Vec<String> {
        let lines = lines.into_iter().filter(|line| !is_blank(line));
        lines.map(|line| line.trim_end().to_owned()).collect()
    };
    let wanted = solid(old.lines().collect());
    // Context lines may lack their sign if there are removed ones.
    [" ", ""].into_iter().find_map(|sign| {
        let (mut before, mut after, mut signs) = (Vec::new(), String::new(), Vec::new());
        for line in new.split_inclusive('\n') {
            if let Some(added) = line.strip_prefix('+') {
                signs.push('+');
                after.push_str(added);
            } else if let Some(removed) = line.strip_prefix('-') {
                signs.push('-');
                before.push(removed.trim_end_matches('\n'));
            } else {
                let kept = match line.strip_prefix(sign) {
                    Some(kept) => kept,
                    None if is_blank(line) => line,
                    None => return None,
                };
                before.push(kept.trim_end_matches('\n'));
                after.push_str(kept);
            }
        }
        let is_diff = if sign.is_empty() {
            signs.contains(&'-')
        } else {
            !signs.is_empty()
        };
        if !old.ends_with('\n') && after.ends_with('\n') {
            after.pop();
        }
        (is_diff && solid(before) == wanted).then_some(after)
    })
}

/// The content of a text that is one code fence.
pub(crate) fn unfenced(text: &str) -> Option<String> {
    let trimmed = text.trim_matches('\n');
    let (open, rest) = trimmed.split_once('\n')?;
    let open = open.trim();
    let mark = ['`', '~'].into_iter().find(|mark| open.starts_with(*mark))?;
    let info = open.trim_start_matches(mark);
    let fence = &open[..open.len() - info.len()];
    if fence.len() < 3 || info.contains(mark) {
        return None;
    }
    let (inside, close) = rest.rsplit_once('\n').unwrap_or(("", rest));
    (close.trim() == fence).then(|| format!("{inside}\n"))
}

/// Some models repeat the file name in a comment on the first line.
fn without_path_comment(old: &str, new: &str) -> Option<(String, String)> {
    let strip = |text: &str| {
        let (first, rest) = text.split_once('\n')?;
        let inner = first.trim().trim_start_matches(['/', '#', '<', '!', '-', '*', ' ']);
        (inner.to_lowercase().starts_with("filepath:") && inner != first.trim()).then(|| rest.to_owned())
    };
    Some((strip(old)?, strip(new).unwrap_or_else(|| new.to_owned())))
}

/// What separates a line number from the line in a listing.
const LISTING_MARKS: [&str; 14] = [
    " | ", "| ", " |", "|", "\u{2192}", "\t", ": ", ":", "- ", ". ", ") ", "   ", "  ", " ",
];

fn without_numbers(old: &str, new: &str, mark: &str) -> Option<AlternativeReading> {
    let (old, hint) = unnumbered(old, mark)?;
    // With a mark that also occurs in code, other numbers at the start of a new line are content.
    let first = hint.unwrap_or(0);
    let range = first.saturating_sub(1)..first + old.lines().count() + new.lines().count() + 1;
    let strip = |line| match numbered_by(line, mark) {
        Some((number, rest)) if range.contains(&number) || mark.contains(['|', '\u{2192}']) => rest,
        Some(_) | None => line,
    };
    Some(AlternativeReading {
        dressing: Normalization::LineNumbers,
        old,
        new: new.split_inclusive('\n').map(strip).collect(),
        hint,
        is_placed: !mark.contains(['|', '\u{2192}', '\t']),
        is_mixed: new
            .lines()
            .any(|line| !is_blank(line) && numbered_by(line, mark).is_none()),
    })
}

/// The text without the line numbers of a whole listing.
pub(crate) fn unnumbered_listing(text: &str) -> Option<String> {
    let (plain, first) = numbered_listing(text).filter(|_| text.lines().count() > 2)?;
    (first == 1).then_some(plain)
}

/// The text of a listing without its line numbers, and the first of them.
pub(crate) fn numbered_listing(text: &str) -> Option<(String, usize)> {
    let marks = ["\t", "\u{2192}", " | ", "|"];
    let all = |mark: &str| text.lines().all(|line| numbered_by(line, mark).is_some());
    let mark = marks.into_iter().find(|mark| all(mark))?;
    let (plain, first) = unnumbered(text, mark)?;
    Some((plain, first?))
}

fn without_some_numbers(old: &str, new: &str) -> Option<AlternativeReading> {
    let hint = old.lines().find_map(numbered).map(|(number, _)| number)?;
    Some(AlternativeReading {
        dressing: Normalization::LineNumbers,
        old: stripped(old),
        new: stripped(new),
        hint: Some(hint),
        is_placed: false,
        is_mixed: new.lines().any(|line| !is_blank(line) && numbered(line).is_none()),
    })
}

/// The text without the line numbers on some of its lines, in hew's own listing.
fn stripped(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| numbered(line).map_or(line, |(_, rest)| rest))
        .collect()
}

/// The text without the line numbers on all of its lines, which must be consecutive, and the first number.
fn unnumbered(text: &str, mark: &str) -> Option<(String, Option<usize>)> {
    let (mut first, mut next) = (None, None);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_blank(line) {
            out.push_str(line);
            next = next.map(|next: usize| next + 1);
            continue;
        }
        let (number, rest) = numbered_by(line, mark)?;
        if next.replace(number + 1).is_some_and(|next| next != number) {
            return None;
        }
        first.get_or_insert(number);
        out.push_str(rest);
    }
    // Numbers without text are content.
    let has_text = out.lines().any(|line| line.contains(char::is_alphanumeric));
    first.filter(|_| has_text).map(|first| (out, Some(first)))
}

/// Splits a line of a listing. The number of an empty line may have no space after it.
fn numbered_by<'a>(line: &'a str, mark: &str) -> Option<(usize, &'a str)> {
    let trimmed = line.trim_start_matches([' ', '\t']);
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = trimmed.split_at_checked(digits)?;
    let number = number.parse().ok()?;
    let after = rest.strip_prefix(mark).or_else(|| {
        rest.strip_prefix(mark.trim_end())
            .filter(|rest| is_blank(rest) && mark != " ")
    })?;
    Some((number, after))
}

/// Splits `12 | text`, `12→text` or `12\ttext`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start_matches([' ', '\t']);
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = trimmed.split_at_checked(digits)?;
    let number = number.parse().ok()?;
    for mark in [" | ", "→", " |", "| ", "|", "\t"] {
        if let Some(rest) = rest.strip_prefix(mark) {
            return Some((number, rest));
        }
    }
    None
}

/// The text without the anchors that a model has copied to the start of its lines: all lines have one, or the hash of
/// one is that of its line.
pub(crate) fn without_anchors(text: &str) -> String {
    let hash = |line: &str| line.split(['#', '\t', ':', '|', '-']).nth(1).map(str::to_owned);
    let is_copy = |line: &str| anchored_line(line).is_some_and(|rest| hash(line) == Some(line_hash(rest)));
    let mut solid = text.lines().filter(|line| !is_blank(line));
    if !text.lines().any(is_copy) && !solid.all(|line| anchored_line(line).is_some()) {
        return text.to_owned();
    }
    text.split_inclusive('\n')
        .map(|line| anchored_line(line).unwrap_or(line))
        .collect()
}

/// The line after an anchor and its separator.
fn anchored_line(line: &str) -> Option<&str> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line[digits..].strip_prefix('#').filter(|_| digits > 0)?;
    let hash = rest.len()
        - rest
            .trim_start_matches(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            .len();
    let after = rest.get(hash..).filter(|_| hash == 3)?;
    after
        .strip_prefix(['\t', ':', '|', '-'])
        .or(is_blank(after).then_some(after))
}

fn without_bars(old: &str, new: &str) -> Option<(String, String)> {
    let strip = |text: &str| {
        text.split_inclusive('\n')
            .map(|line| {
                if is_blank(line) {
                    Some(line)
                } else {
                    line.strip_prefix("| ").or_else(|| line.strip_prefix('|'))
                }
            })
            .collect::<Option<String>>()
    };
    Some((strip(old)?, strip(new).unwrap_or_else(|| new.to_owned())))
}

/// Undoes one level of backslash escapes.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.clone().next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(plain @ ('"' | '\'' | '`' | '\\' | '/' | '$')) => out.push(plain),
            _ => {
                out.push('\\');
                continue;
            }
        }
        characters.next();
    }
    crate::document::normalize_newlines(&out)
}

/// Replaces `\t` at the start of lines by tabs.
pub(crate) fn unescaped_tabs(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let body = line.trim_start_matches("\\t");
            let tabs = (line.len() - body.len()) / 2;
            format!("{}{body}", "\t".repeat(tabs))
        })
        .collect()
}

/// The new text of code without the backslashes of Markdown, if neither the old text nor the file has any.
pub(crate) fn code_without_markdown_escapes(old: &str, new: &str, file: &str) -> Option<String> {
    let has_escapes = |text: &str| text.contains("\\_");
    // Several other backslashes between words are parts of a path.
    let is_part = |pair: (&str, &str)| {
        let is_word = |c: char| c.is_alphanumeric();
        pair.0.ends_with(is_word) && pair.1.starts_with(is_word)
    };
    let is_path = |line: &str| {
        let parts: Vec<&str> = line.split('\\').collect();
        has_escapes(line) && parts.windows(2).filter(|pair| is_part((pair[0], pair[1]))).count() > 1
    };
    if new.lines().any(is_path) {
        return None;
    }
    let is_certain = without_markdown_escapes(new) != new || new.contains("\\_\\_");
    (is_certain && !has_escapes(old) && !has_escapes(file)).then(|| new.replace("\\_", "_"))
}

/// Removes the backslash that Markdown requires before an underscore inside a word.
fn without_markdown_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\_") {
        let is_inside = before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
        out.push_str(before);
        out.push_str(if is_inside { "_" } else { "\\_" });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_removed_from_both_texts_if_the_old_one_has_them() {
        let readings = alternative_readings("10 | a\n11 |   b\n", "20 | c\n21 |   d\n");
        let expected = ("a\n  b\n", "c\n  d\n", Some(10));
        assert!(
            readings
                .iter()
                .any(|one| (one.old.as_str(), one.new.as_str(), one.hint) == expected)
        );
        assert!(
            alternative_readings("| a\n|---|\n", "1 | | a\n")
                .iter()
                .all(|reading| reading.new == "1 | | a\n")
        );
    }

    #[test]
    fn escapes_and_entities_are_undone_once() {
        assert_eq!(unescaped(r#"say(\"hi\\n\");\n\tdone"#), "say(\"hi\\n\");\n\tdone");
        assert_eq!(entities::decode("a &lt; b &amp;&amp; c"), "a < b && c");
        assert_eq!(unfenced("```rust\nlet x;\n```\n").as_deref(), Some("let x;\n"));
    }
}
