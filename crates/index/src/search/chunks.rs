//! Splits a file into chunks: definitions, groups of small ones, and parts of large ones.

use crate::{Outline, OutlineDefinition};

/// A chunk that is split no further.
const TARGET: usize = 1_000;
/// A larger chunk is split.
const MAX: usize = 1_200;
/// A smaller chunk is merged with its neighbour.
const MIN: usize = 50;
/// More chunks of a file are not indexed.
const MAX_CHUNKS: usize = 20_000;

/// The lines of a chunk, from 1, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSpan {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
}

/// The chunks of a text. They cover it completely and in order, except for blank text.
pub(crate) fn split(text: &str, outline: Option<&Outline>) -> Vec<ChunkSpan> {
    let mut lines: Vec<usize> = vec![0];
    lines.extend(
        text.bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1),
    );
    if lines.last() == Some(&text.len()) && lines.len() > 1 {
        lines.pop();
    }
    let definitions = outline.map_or(&[][..], |outline| &outline.definitions);
    let splitter = Splitter {
        text,
        lines,
        definitions,
    };
    let mut pieces = Vec::new();
    splitter.split(0..splitter.lines.len(), 0, &mut pieces);
    let mut chunks: Vec<ChunkSpan> = Vec::new();
    for piece in pieces {
        let span = splitter.span(piece.0, piece.1);
        let blank = text.get(span.start..span.end).is_none_or(|text| text.trim().is_empty());
        match chunks.last_mut() {
            _ if blank => {}
            Some(last) if span.end - span.start < MIN && span.end - last.start <= MAX => {
                (last.last, last.end) = (span.last, span.end);
            }
            Some(_) | None => chunks.push(span),
        }
        if chunks.len() >= MAX_CHUNKS {
            break;
        }
    }
    chunks
}

struct Splitter<'t> {
    text: &'t str,
    /// The offsets of the lines.
    lines: Vec<usize>,
    definitions: &'t [OutlineDefinition],
}

impl Splitter<'_> {
    fn start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.text.len())
    }

    fn size(&self, from: usize, to: usize) -> usize {
        self.start(to) - self.start(from)
    }

    fn line(&self, line: usize) -> &str {
        self.text
            .get(self.start(line)..self.start(line + 1))
            .unwrap_or_default()
    }

    fn span(&self, from: usize, to: usize) -> ChunkSpan {
        ChunkSpan {
            first: from + 1,
            last: to.max(from + 1),
            start: self.start(from),
            end: self.start(to),
        }
    }

    /// Splits a range of lines (from 0) at the definitions of a depth and below, or otherwise at lines.
    fn split(&self, range: std::ops::Range<usize>, depth: usize, pieces: &mut Vec<(usize, usize)>) {
        if self.size(range.start, range.end) <= MAX {
            pieces.push((range.start, range.end));
            return;
        }
        let mut inner = self
            .definitions_in(&range)
            .filter(|definition| definition.depth >= depth);
        let Some(level) = inner.by_ref().map(|definition| definition.depth).min() else {
            return self.split_lines(range.start, range.end, pieces);
        };
        let mut cuts: Vec<usize> = vec![range.start];
        for definition in self
            .definitions_in(&range)
            .filter(|definition| definition.depth == level)
        {
            let at = self.with_comment(definition.first - 1, *cuts.last().unwrap_or(&0));
            if cuts.last().is_some_and(|last| at > *last) {
                cuts.push(at);
            }
        }
        cuts.push(range.end);
        let mut open: Option<(usize, usize)> = None;
        for (from, to) in cuts.iter().zip(cuts.iter().skip(1)).map(|(from, to)| (*from, *to)) {
            match open {
                Some((start, end)) if self.size(start, to) <= TARGET => open = Some((start, to.max(end))),
                Some((start, end)) => {
                    self.split(start..end, level + 1, pieces);
                    open = Some((from, to));
                }
                None => open = Some((from, to)),
            }
        }
        if let Some((start, end)) = open {
            self.split(start..end, level + 1, pieces);
        }
    }

    /// The definitions that start in a range of lines.
    fn definitions_in(&self, range: &std::ops::Range<usize>) -> impl Iterator<Item = &OutlineDefinition> {
        let first = self
            .definitions
            .partition_point(|definition| definition.first <= range.start);
        let end = range.end;
        self.definitions
            .iter()
            .skip(first)
            .take_while(move |definition| definition.first <= end)
    }

    /// The first line of the comment or attributes directly above a line.
    fn with_comment(&self, line: usize, least: usize) -> usize {
        let mut at = line;
        while at > least {
            let above = self.line(at - 1).trim_start();
            let marks = [
                "//", "/*", "*", "#", "--", "@", ";;", "%%", "\"\"\"", "'''", "[", "<!--",
            ];
            match marks.iter().any(|mark| above.starts_with(mark)) {
                true => at -= 1,
                false => break,
            }
        }
        at
    }

    /// Splits lines without definitions, preferably at blank lines or at little indentation.
    fn split_lines(&self, from: usize, to: usize, pieces: &mut Vec<(usize, usize)>) {
        let mut start = from;
        while self.size(start, to) > MAX {
            let mut best: Option<(usize, usize)> = None;
            let mut at = start + 1;
            while at < to && self.size(start, at) <= MAX {
                if self.size(start, at) >= TARGET / 2 {
                    let line = self.line(at);
                    let indent = line.len() - line.trim_start().len();
                    let cost = match self.line(at - 1).trim().is_empty() {
                        true => 0,
                        false => 2 + indent.min(40),
                    };
                    // Later lines are preferred: fewer chunks.
                    if best.is_none_or(|(_, least)| cost <= least) {
                        best = Some((at, cost));
                    }
                }
                at += 1;
            }
            let cut = best.map_or(at.min(to).max(start + 1), |(at, _)| at);
            if cut >= to {
                break;
            }
            pieces.push((start, cut));
            start = cut;
        }
        if start < to {
            pieces.push((start, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn chunks(path: &str, text: &str) -> Vec<(usize, usize)> {
        let outline = crate::outline(Path::new(path), text, Duration::from_secs(5)).ok();
        split(text, outline.as_ref())
            .iter()
            .map(|span| (span.first, span.last))
            .collect()
    }

    #[test]
    fn a_definition_with_its_comment_is_one_chunk() {
        let body = "    let value = compute_something_long_enough(value);\n".repeat(12);
        let text = format!("use std::fs;\n\n/// First.\nfn a() {{\n{body}}}\n\n/// Second.\nfn b() {{\n{body}}}\n");
        assert_eq!(chunks("x.rs", &text), [(1, 18), (19, 33)]);
    }

    #[test]
    fn unknown_languages_are_split_at_blank_lines() {
        let paragraph = format!("{}\n\n", "word ".repeat(140));
        assert_eq!(chunks("x.unknown", &paragraph.repeat(3)), [(1, 2), (3, 4), (5, 6)]);
        assert_eq!(chunks("x.unknown", ""), []);
        assert_eq!(chunks("x.unknown", "one"), [(1, 1)]);
    }
}
