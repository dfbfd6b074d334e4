//! Follows old text while it is still being quoted: where in the file it can only be, line by line.

use crate::fold::{is_blank, squash_key};
use crate::index::Index;
use crate::matcher::nearest;
use crate::text::Document;

/// Where the old text seems to be, as far as it has come. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Nothing to go by yet.
    Unknown,
    /// In one place only.
    At {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// It fits in all of these places.
    Several(Vec<usize>),
    /// It is nowhere, at least not line by line.
    Nowhere,
}

/// Narrows down where quoted lines stand as they arrive, at a cost in proportion to the places still left.
#[derive(Debug)]
pub struct Locator {
    index: Index,
    hint: Option<usize>,
    partial: String,
    /// How many non-blank lines were quoted.
    count: usize,
    /// Where among the file's non-blank lines they can start.
    starts: Vec<usize>,
}

impl Locator {
    /// A search in `content`; `hint` is the line, counted from 1, where the text should be.
    pub fn new(content: &str, hint: Option<usize>) -> Self {
        let index = Index::new(&Document::parse(content));
        Self {
            index,
            hint,
            partial: String::new(),
            count: 0,
            starts: Vec::new(),
        }
    }

    /// Takes in more of the old text.
    pub fn push(&mut self, chunk: &str) -> Guess {
        for piece in chunk.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                self.line();
            }
        }
        self.guess()
    }

    /// The old text is complete.
    pub fn finish(&mut self) -> Guess {
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
            self.starts = self.index.places(key).iter().map(|place| *place as usize).collect();
        } else {
            let (index, offset) = (&self.index, self.count);
            self.starts.retain(|start| index.key(start + offset) == Some(key));
        }
        self.count += 1;
    }

    fn guess(&self) -> Guess {
        let lines: Vec<usize> = self.starts.iter().map(|start| self.index.line(*start)).collect();
        let hinted = || self.hint.and_then(|hint| nearest(&lines, hint.saturating_sub(1)));
        match (self.count, lines.as_slice()) {
            (0, _) => Guess::Unknown,
            (_, []) => Guess::Nowhere,
            (_, [_]) => self.at(0),
            (_, many) => match hinted() {
                Some(at) => self.at(at),
                None => Guess::Several(many.iter().map(|line| line + 1).collect()),
            },
        }
    }

    fn at(&self, candidate: usize) -> Guess {
        let start = self.starts[candidate];
        let last = start + self.count.max(1) - 1;
        Guess::At {
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
    fn more_text_leaves_fewer_places() {
        let mut locator = Locator::new(FILE, None);
        assert_eq!(locator.push("  go"), Guess::Unknown);
        assert_eq!(locator.push("();\n"), Guess::Several(vec![2, 6]));
        assert_eq!(
            locator.push("stop();\n"),
            Guess::At {
                first_line: 6,
                last_line: 7
            }
        );
        assert_eq!(
            locator.push("nothing like it"),
            Guess::At {
                first_line: 6,
                last_line: 7
            }
        );
        assert_eq!(locator.finish(), Guess::Nowhere);
    }

    #[test]
    fn a_hint_settles_it() {
        let mut locator = Locator::new(FILE, Some(6));
        assert_eq!(
            locator.push("go();\n"),
            Guess::At {
                first_line: 6,
                last_line: 6
            }
        );
    }
}
