//! Edits by line anchors: the number of a line and a hash of its content, as in `12#k3f`.

use std::ops::Range;

use crate::alternative_readings::without_anchors;
use crate::document::{FinalNewline, TextDocument, normalize_newlines};
use crate::fold::is_blank;
use crate::matcher::Haystack;
use crate::refusal::RefusalReason;
use crate::resolve::placement::{is_unique, refuse_repeated};
use crate::resolve::{MatchMethod, ResolvedEdit};

/// The characters of a hash.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const HASH_LENGTH: usize = 3;

/// The hash of a line, for anchors. Whitespace at its end does not count.
pub fn line_hash(line: &str) -> String {
    // FNV-1a, folded to 15 bits.
    let hash = line.trim_end().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut bits = hash ^ (hash >> 32) ^ (hash >> 15);
    (0..HASH_LENGTH)
        .map(|_| {
            let letter = ALPHABET[usize::try_from(bits & 31).unwrap_or(0)];
            bits >>= 5;
            char::from(letter)
        })
        .collect()
}

/// The anchor of a line, counted from 1.
pub fn line_anchor(number: u64, line: &str) -> String {
    format!("{number}#{}", line_hash(line))
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAnchor {
    /// Its number, counted from 1.
    pub line: usize,
    /// The hash of its content.
    pub hash: String,
}

impl LineAnchor {
    /// Parses `12#k3f`; text after it is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, rest) = text.trim().trim_matches(['`', '"', '\'']).split_once('#')?;
        let hash: String = rest
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        let line = number.trim().parse().ok()?;
        (hash.len() == HASH_LENGTH && line > 0).then_some(Self { line, hash })
    }
}

impl std::fmt::Display for LineAnchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.line, self.hash)
    }
}

/// An edit of whole lines at anchors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchoredEdit {
    /// The effect.
    pub op: AnchorOp,
    /// The first line.
    pub start: LineAnchor,
    /// The last line of a range.
    pub end: Option<LineAnchor>,
    /// The new lines.
    pub text: String,
}

/// The effect of an anchored edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorOp {
    /// Replaces the lines.
    Replace,
    /// Removes the lines.
    Delete,
    /// Inserts above the first line.
    InsertBefore,
    /// Inserts below the last line.
    InsertAfter,
}

/// Places the edit. A line that has moved is used only if the history of the file shows exactly where it is.
pub(crate) fn resolve(haystack: &Haystack<'_>, edit: &AnchoredEdit) -> Result<ResolvedEdit, RefusalReason> {
    let range = range(haystack, edit)?;
    let document = haystack.document;
    let mut text = without_anchors(&normalize_newlines(&edit.text));
    // The last line may consist of an anchor.
    if text.ends_with('\n') && !edit.text.ends_with(['\n', '\r']) {
        text.push('\n');
    }
    let added = match edit.op {
        AnchorOp::Delete => Vec::new(),
        AnchorOp::Replace | AnchorOp::InsertBefore | AnchorOp::InsertAfter => text.lines().map(str::to_owned).collect(),
    };
    refuse_repeated(document, &range, &added)?;
    if edit.op == AnchorOp::Replace
        && let Some(line) = repeated_line(document, &range, &added, edit.end.as_ref())
    {
        return Err(RefusalReason::OpenRange { line: line + 1 });
    }
    Ok(ResolvedEdit {
        splices: vec![document.line_splice(range.clone(), &added, FinalNewline::Keep)],
        lines: range,
        method: MatchMethod::Exact,
    })
}

/// The line (from 0) near a range that the lines in its place repeat: the range is too short.
fn repeated_line(
    document: &TextDocument,
    range: &Range<usize>,
    added: &[String],
    end: Option<&LineAnchor>,
) -> Option<usize> {
    let line = |at: usize| document.line(at).trim_end();
    let is_same = |at: usize, other: &str| !is_blank(other) && line(at) == other.trim_end();
    let pair = |from: usize| Some((added.get(from)?, added.get(from + 1)?));
    let starts_above = range
        .start
        .checked_sub(1)
        .filter(|above| pair(0).is_some_and(|(first, second)| is_same(*above, first) && is_same(range.start, second)));
    let ends_below = Some(range.end).filter(|below| {
        let last = added.len().checked_sub(2).and_then(pair);
        *below < document.line_count()
            && last.is_some_and(|(last, end)| is_same(*below, end) && is_same(range.end - 1, last))
    });
    // Without an end, the new lines may be those of a range.
    let below = range.end..(range.end + added.len()).min(document.line_count());
    let is_repeated = |at: &usize| {
        let is_added = added.iter().skip(1).any(|added| added.trim_end() == line(*at));
        is_added && is_unique(document, document.line(*at))
    };
    starts_above
        .or(ends_below)
        .or_else(|| below.clone().find(is_repeated).filter(|_| end.is_none()))
}

/// The lines (from 0) that the edit replaces; empty for an insertion.
fn range(haystack: &Haystack<'_>, edit: &AnchoredEdit) -> Result<Range<usize>, RefusalReason> {
    let first = locate(haystack, &edit.start)?;
    let last = edit.end.as_ref().map_or(Ok(first), |end| locate(haystack, end))?;
    if last < first {
        return Err(RefusalReason::AnchorOrder {
            start: edit.start.to_string(),
            end: edit.end.as_ref().map(ToString::to_string).unwrap_or_default(),
        });
    }
    Ok(match edit.op {
        AnchorOp::Replace | AnchorOp::Delete => first..last + 1,
        AnchorOp::InsertBefore => first..first,
        AnchorOp::InsertAfter => last + 1..last + 1,
    })
}

fn locate(haystack: &Haystack<'_>, anchor: &LineAnchor) -> Result<usize, RefusalReason> {
    let has_hash = |line: &str| line_hash(line) == anchor.hash;
    let places = haystack.history.places(haystack.document, anchor.line - 1, &has_hash);
    match places.as_slice() {
        [only] => Ok(*only),
        _ => Err(RefusalReason::StaleAnchor {
            anchor: anchor.to_string(),
            line: anchor.line,
        }),
    }
}

/// The lines that an edit replaces, and the line (from 0) where its text is placed.
pub(crate) fn replaced_text(haystack: &Haystack<'_>, edit: &AnchoredEdit) -> Result<(String, usize), RefusalReason> {
    let range = range(haystack, edit)?;
    let line = |at: usize| format!("{}\n", haystack.document.line(at));
    Ok((range.clone().map(line).collect(), range.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_parsed_with_the_text_that_models_add() {
        let anchor = line_anchor(12, "let x = 1;  ");
        assert_eq!(anchor, line_anchor(12, "let x = 1;"));
        let parsed = LineAnchor::parse(&anchor);
        assert_eq!(parsed.as_ref().map(ToString::to_string), Some(anchor.clone()));
        for text in [
            format!("`{anchor}`"),
            format!("{anchor}\tlet x = 1;"),
            format!(" {anchor}|x"),
            anchor.to_uppercase(),
        ] {
            assert_eq!(LineAnchor::parse(&text), parsed, "{text}");
        }
        for text in ["12", "#abc", "0#abc", "12#ab", "12#abcd", "x#abc", ""] {
            assert_eq!(LineAnchor::parse(text), None, "{text}");
        }
    }
}
