//! Locates old text in the file while it is still streaming, line by line.

use crate::document::TextDocument;
use crate::fold::{is_blank, squash_key};
use crate::line_index::LineIndex;
use crate::matcher::nearest;

/// The location of the old text so far. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationGuess {
    /// No complete line yet.
    Unknown,
    /// Exactly one location.
    At {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// Several possible locations.
    Several(Vec<usize>),
    /// Not found line by line.
    Nowhere,
}

/// Narrows down the location of quoted lines as they arrive, at a cost in proportion to the remaining candidates.
#[derive(Debug)]
pub struct EditLocator {
    index: LineIndex,
    hint: Option<usize>,
    partial: String,
    /// The number of quoted non-blank lines.
    count: usize,
    /// Possible start positions among the file's non-blank lines.
    starts: Vec<usize>,
}

impl EditLocator {
    /// Searches in `content`; `hint` is the expected line, counted from 1.
    pub fn new(content: &str, hint: Option<usize>) -> Self {
        let index = LineIndex::new(&TextDocument::parse(content));
        Self {
            index,
            hint,
            partial: String::new(),
            count: 0,
            starts: Vec::new(),
        }
    }

    /// Adds old text.
    pub fn push(&mut self, chunk: &str) -> LocationGuess {
        for piece in chunk.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                self.line();
            }
        }
        self.guess()
    }

    /// The old text is complete.
    pub fn finish(&mut self) -> LocationGuess {
        self.line();
        self.guess()
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        if is_blank(&line) {
            return;
        }
        let key = squash_key(&line);
        if self.count == 0 {
            self.starts = self.index.positions(key).iter().map(|place| *place as usize).collect();
        } else {
            let (index, offset) = (&self.index, self.count);
            self.starts.retain(|start| index.key(start + offset) == Some(key));
        }
        self.count += 1;
    }

    fn guess(&self) -> LocationGuess {
        let lines: Vec<usize> = self.starts.iter().map(|start| self.index.line(*start)).collect();
        let hinted = || self.hint.and_then(|hint| nearest(&lines, hint.saturating_sub(1)));
        match (self.count, lines.as_slice()) {
            (0, _) => LocationGuess::Unknown,
            (_, []) => LocationGuess::Nowhere,
            (_, [_]) => self.at(0),
            (_, many) => match hinted() {
                Some(at) => self.at(at),
                None => LocationGuess::Several(many.iter().map(|line| line + 1).collect()),
            },
        }
    }

    fn at(&self, candidate: usize) -> LocationGuess {
        let start = self.starts[candidate];
        let last = start + self.count.max(1) - 1;
        LocationGuess::At {
            first_line: self.index.line(start) + 1,
            last_line: self.index.line(last) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn a() {\n    go();\n}\n\nfn b() {\n    go();\n    stop();\n}\n";

    #[test]
    fn more_text_leaves_fewer_locations() {
        let mut locator = EditLocator::new(FILE, None);
        assert_eq!(locator.push("  go"), LocationGuess::Unknown);
        assert_eq!(locator.push("();\n"), LocationGuess::Several(vec![2, 6]));
        assert_eq!(
            locator.push("stop();\n"),
            LocationGuess::At {
                first_line: 6,
                last_line: 7
            }
        );
        assert_eq!(
            locator.push("nothing like it"),
            LocationGuess::At {
                first_line: 6,
                last_line: 7
            }
        );
        assert_eq!(locator.finish(), LocationGuess::Nowhere);
    }

    #[test]
    fn a_hint_selects_the_location() {
        let mut locator = EditLocator::new(FILE, Some(6));
        assert_eq!(
            locator.push("go();\n"),
            LocationGuess::At {
                first_line: 6,
                last_line: 6
            }
        );
    }
}
