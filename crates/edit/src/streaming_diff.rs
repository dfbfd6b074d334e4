//! The difference between an old text and a new text that is still streaming, as operations on characters.
//!
//! Lines are compared as they are completed, each with the next old lines only, so the cost grows with the size of the
//! two texts and not with their product. A rewritten line is compared character by character.

use std::collections::HashMap;
use std::ops::Range;

use crate::fold::similarity;
use crate::text_diff::compare_numbers;
use session::TextOp;

/// Compares a streaming text with a fixed one.
#[derive(Clone, Debug)]
pub struct StreamingDiff {
    old: String,
    /// The lines of the old text with their endings.
    lines: Vec<Range<usize>>,
    places: HashMap<u64, Vec<usize>>,
    /// The next old line.
    cursor: usize,
    partial: String,
}

/// How far ahead an equal line is searched, and how far if the line is very common.
const SEARCH_AHEAD: usize = 400;
const REWRITE_AHEAD: usize = 3;
/// Longer lines are compared by their ends only.
const MAX_LINE: usize = 400;

impl StreamingDiff {
    /// A comparison with `old`.
    pub fn new(old: impl Into<String>) -> Self {
        let old = old.into();
        let mut lines = Vec::new();
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut start = 0;
        for line in old.split_inclusive('\n') {
            places.entry(key(line)).or_default().push(lines.len());
            lines.push(start..start + line.len());
            start += line.len();
        }
        Self {
            old,
            lines,
            places,
            cursor: 0,
            partial: String::new(),
        }
    }

    /// Adds new text; the returned operations continue the previous ones.
    pub fn push(&mut self, chunk: &str) -> Vec<TextOp> {
        let mut ops = Vec::new();
        for piece in chunk.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.line(&line, &mut ops);
            }
        }
        ops
    }

    /// The new text is complete: the remaining operations.
    pub fn finish(mut self) -> Vec<TextOp> {
        let mut ops = Vec::new();
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.line(&last, &mut ops);
        }
        for at in self.cursor..self.lines.len() {
            add(&mut ops, TextOp::Delete(self.lines[at].len()));
        }
        ops
    }

    fn line(&mut self, line: &str, ops: &mut Vec<TextOp>) {
        if let Some(at) = self.equal_ahead(line) {
            for skipped in self.cursor..at {
                add(ops, TextOp::Delete(self.lines[skipped].len()));
            }
            add(ops, TextOp::Keep(line.len()));
            self.cursor = at + 1;
        } else if let Some(old) = self.rewritten(line) {
            characters(&self.old[old], line, ops);
            self.cursor += 1;
        } else {
            add(ops, TextOp::Insert(line.to_owned()));
        }
    }

    /// The next old line equal to `line`, if it is near enough.
    fn equal_ahead(&self, line: &str) -> Option<usize> {
        let places = self.places.get(&key(line))?;
        let from = places.partition_point(|at| *at < self.cursor);
        let at = *places[from..]
            .iter()
            .find(|at| &self.old[self.lines[**at].clone()] == line)?;
        let is_telling = line.chars().filter(|c| c.is_alphanumeric()).count() > 3;
        (at - self.cursor <= if is_telling { SEARCH_AHEAD } else { REWRITE_AHEAD }).then_some(at)
    }

    /// The old line that `line` probably rewrites.
    fn rewritten(&self, line: &str) -> Option<Range<usize>> {
        let range = self.lines.get(self.cursor)?.clone();
        let old = &self.old[range.clone()];
        let both_short = old.len() <= MAX_LINE && line.len() <= MAX_LINE;
        let alike = if both_short {
            similarity(old, line)
        } else {
            shared_ends(old, line)
        };
        (alike >= 0.6).then_some(range)
    }
}

/// The share of the longer line that both have in common at their ends.
fn shared_ends(one: &str, other: &str) -> f64 {
    let (prefix, suffix) = common_ends(one, other);
    (prefix + suffix) as f64 / one.len().max(other.len()) as f64
}

/// The bytes that two texts share at their start and, beyond that, at their end.
fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let prefix: usize = one
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    let (one, other) = (&one[prefix..], &other[prefix..]);
    let suffix: usize = one
        .chars()
        .rev()
        .zip(other.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    (prefix, suffix)
}

/// The operations that turn one line into another.
fn characters(old: &str, new: &str, ops: &mut Vec<TextOp>) {
    let (prefix, suffix) = common_ends(old, new);
    let (old_middle, new_middle) = (&old[prefix..old.len() - suffix], &new[prefix..new.len() - suffix]);
    add(ops, TextOp::Keep(prefix));
    if old_middle.len().max(new_middle.len()) > MAX_LINE {
        add(ops, TextOp::Delete(old_middle.len()));
        add(ops, TextOp::Insert(new_middle.to_owned()));
    } else {
        let (a, b): (Vec<char>, Vec<char>) = (old_middle.chars().collect(), new_middle.chars().collect());
        for part in compare_numbers(&numbers(&a), &numbers(&b), None) {
            let (tag, old_range, new_range) = part.as_tag_tuple();
            let bytes = a[old_range].iter().map(|c| c.len_utf8()).sum();
            if tag == similar::DiffTag::Equal {
                add(ops, TextOp::Keep(bytes));
            } else {
                add(ops, TextOp::Delete(bytes));
                add(ops, TextOp::Insert(b[new_range].iter().collect()));
            }
        }
    }
    add(ops, TextOp::Keep(suffix));
}

fn numbers(characters: &[char]) -> Vec<u32> {
    characters.iter().map(|character| u32::from(*character)).collect()
}

/// Appends an operation, merged with the previous one if it is of the same kind.
fn add(ops: &mut Vec<TextOp>, op: TextOp) {
    match (ops.last_mut(), op) {
        (_, TextOp::Keep(0) | TextOp::Delete(0)) => {}
        (_, TextOp::Insert(text)) if text.is_empty() => {}
        (Some(TextOp::Keep(count)), TextOp::Keep(more)) | (Some(TextOp::Delete(count)), TextOp::Delete(more)) => {
            *count += more;
        }
        (Some(TextOp::Insert(text)), TextOp::Insert(more)) => text.push_str(&more),
        (_, op) => ops.push(op),
    }
}

fn key(line: &str) -> u64 {
    line.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies `ops` to `old`; `None` if they do not fit.
    fn apply_ops(old: &str, ops: &[TextOp]) -> Option<String> {
        let mut out = String::new();
        let mut rest = old;
        for op in ops {
            match op {
                TextOp::Keep(count) => {
                    let (kept, after) = rest.split_at_checked(*count)?;
                    out.push_str(kept);
                    rest = after;
                }
                TextOp::Delete(count) => rest = rest.split_at_checked(*count)?.1,
                TextOp::Insert(text) => out.push_str(text),
            }
        }
        rest.is_empty().then_some(out)
    }

    fn check(old: &str, new: &str, expected: &[TextOp]) {
        let mut diff = StreamingDiff::new(old);
        let mut ops = diff.push(new);
        for op in diff.finish() {
            add(&mut ops, op);
        }
        assert_eq!(apply_ops(old, &ops).as_deref(), Some(new));
        assert_eq!(ops, expected);
    }

    fn insert(text: &str) -> TextOp {
        TextOp::Insert(text.to_owned())
    }

    #[test]
    fn only_what_changed_is_touched() {
        check("one\ntwo\nthree\n", "one\ntwo\nthree\n", &[TextOp::Keep(14)]);
        check(
            "one\ntwo\n",
            "one\nnew\ntwo\n",
            &[TextOp::Keep(4), insert("new\n"), TextOp::Keep(4)],
        );
        check(
            "one\ntwo\nthree\n",
            "one\nthree\n",
            &[TextOp::Keep(4), TextOp::Delete(4), TextOp::Keep(6)],
        );
        check(
            "let x = 1;\n",
            "let y = 1;\n",
            &[TextOp::Keep(4), TextOp::Delete(1), insert("y"), TextOp::Keep(6)],
        );
        check("", "new", &[insert("new")]);
        check("old\n", "", &[TextOp::Delete(4)]);
    }
}
