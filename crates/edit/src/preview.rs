//! Shows an edit while it is being written: where it goes, and how the file changes there. Nothing in it is binding; [`crate::plan`] is.

use std::path::{Path, PathBuf};

use crate::diff::{CharOp, StreamingDiff};
use crate::format::{Delta, Event, Format, Parser};
use crate::locator::{Guess, Locator};
use crate::text::Document;

/// News for whoever shows the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glimpse {
    /// Which edit, counted from 1.
    pub edit: usize,
    /// The file, where it is known.
    pub path: Option<PathBuf>,
    /// What is new.
    pub sight: Sight,
}

/// What can be seen of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The old text is being quoted and can only be here. Lines are counted from 1.
    Resolving {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// The old text is complete and fits several places.
    Ambiguous {
        /// Where.
        lines: Vec<usize>,
    },
    /// The old text is complete and was not found line by line.
    Unresolved,
    /// The text of these lines changes like this; operations follow those shown before for the same edit.
    Edited {
        /// The first line of the text that the operations are for; 0 when it is a new file.
        first_line: usize,
        /// The next operations.
        ops: Vec<CharOp>,
    },
    /// The edit is complete.
    Finished,
}

/// Looks up a file for a [`Preview`], which owns it so that it can live as long as the text takes to arrive.
pub type Source = Box<dyn Fn(&Path) -> Option<String> + Send>;

/// Watches edit text arrive.
pub struct Preview {
    parser: Parser,
    target: Option<PathBuf>,
    lookup: Source,
    current: Option<Current>,
}

/// The edit that is being written.
struct Current {
    edit: usize,
    path: Option<PathBuf>,
    content: Option<String>,
    stage: Stage,
}

enum Stage {
    Quoting {
        locator: Locator,
        shown: Guess,
    },
    Writing {
        first_line: usize,
        diff: StreamingDiff,
    },
    /// It cannot be shown: not found, or a patch whose lines come mixed.
    Blind,
}

impl Preview {
    /// A preview of text in `format`; `target` is the file for edits that name none.
    pub fn new(format: Format, target: Option<&Path>, lookup: Source) -> Self {
        Self {
            parser: Parser::new(format),
            target: target.map(Path::to_owned),
            lookup,
            current: None,
        }
    }

    /// Takes in more text.
    pub fn push(&mut self, chunk: &str) -> Vec<Glimpse> {
        let mut glimpses = Vec::new();
        for event in self.parser.push(chunk) {
            self.event(event, &mut glimpses);
        }
        glimpses
    }

    /// The text is complete.
    pub fn finish(mut self) -> Vec<Glimpse> {
        let mut glimpses = Vec::new();
        self.end(&mut glimpses);
        glimpses
    }

    fn event(&mut self, event: Event, glimpses: &mut Vec<Glimpse>) {
        if self.current.as_ref().is_none_or(|current| current.edit != event.edit) {
            let (name, hint) = match &event.delta {
                Delta::Started { name, hint } => (name.clone(), *hint),
                _ => (None, None),
            };
            self.end(glimpses);
            self.start(event.edit, name, hint);
        }
        let Some(current) = &mut self.current else { return };
        match event.delta {
            Delta::Started { .. } => {}
            Delta::Old(text) => current.old(&text, glimpses),
            Delta::New(text) => current.new_text(&text, glimpses),
            // Patches quote and write in turn: what they quote is followed, the change itself is shown once it is planned.
            Delta::Kept(text) => current.old(&text, glimpses),
            Delta::Finished => self.end(glimpses),
        }
    }

    fn start(&mut self, edit: usize, name: Option<String>, hint: Option<usize>) {
        let named = name.map(PathBuf::from);
        let path = named
            .filter(|path| (self.lookup)(path).is_some() || self.target.is_none())
            .or_else(|| self.target.clone());
        let content = path.as_deref().and_then(|path| (self.lookup)(path));
        let locator = Locator::new(content.as_deref().unwrap_or_default(), hint);
        self.current = Some(Current {
            edit,
            path,
            content,
            stage: Stage::Quoting {
                locator,
                shown: Guess::Unknown,
            },
        });
    }

    fn end(&mut self, glimpses: &mut Vec<Glimpse>) {
        let Some(mut current) = self.current.take() else { return };
        match std::mem::replace(&mut current.stage, Stage::Blind) {
            Stage::Writing { first_line, diff } => {
                current.tell(
                    Sight::Edited {
                        first_line,
                        ops: diff.finish(),
                    },
                    glimpses,
                );
            }
            Stage::Quoting { mut locator, .. } => {
                if locator.finish() == Guess::Nowhere {
                    current.tell(Sight::Unresolved, glimpses);
                }
            }
            Stage::Blind => {}
        }
        current.tell(Sight::Finished, glimpses);
    }
}

impl Current {
    fn tell(&self, sight: Sight, glimpses: &mut Vec<Glimpse>) {
        glimpses.push(Glimpse {
            edit: self.edit + 1,
            path: self.path.clone(),
            sight,
        });
    }

    fn old(&mut self, text: &str, glimpses: &mut Vec<Glimpse>) {
        let Stage::Quoting { locator, shown } = &mut self.stage else {
            return;
        };
        let guess = locator.push(text);
        if guess != *shown {
            *shown = guess.clone();
            if let Guess::At { first_line, last_line } = guess {
                self.tell(Sight::Resolving { first_line, last_line }, glimpses);
            }
        }
    }

    fn new_text(&mut self, text: &str, glimpses: &mut Vec<Glimpse>) {
        if let Stage::Quoting { locator, .. } = &mut self.stage {
            let guess = locator.finish();
            self.stage = self.write(guess, glimpses);
        }
        let Stage::Writing { first_line, diff } = &mut self.stage else {
            return;
        };
        let (first_line, ops) = (*first_line, diff.push(text));
        if !ops.is_empty() {
            self.tell(Sight::Edited { first_line, ops }, glimpses);
        }
    }

    fn write(&self, guess: Guess, glimpses: &mut Vec<Glimpse>) -> Stage {
        let content = self.content.as_deref().unwrap_or_default();
        match guess {
            // No old text: the whole file.
            Guess::Unknown => {
                let first_line = usize::from(self.content.is_some());
                Stage::Writing {
                    first_line,
                    diff: StreamingDiff::new(content),
                }
            }
            Guess::At { first_line, last_line } => {
                let document = Document::parse(content);
                let range = document.line_start(first_line - 1)..document.line_start(last_line);
                Stage::Writing {
                    first_line,
                    diff: StreamingDiff::new(&document.body()[range]),
                }
            }
            Guess::Several(lines) => {
                self.tell(Sight::Ambiguous { lines }, glimpses);
                Stage::Blind
            }
            Guess::Nowhere => {
                self.tell(Sight::Unresolved, glimpses);
                Stage::Blind
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_seen_growing() {
        let file = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n".to_owned();
        let lookup = Box::new(move |_: &Path| Some(file.clone()));
        let mut preview = Preview::new(Format::SearchReplace, Some(Path::new("a.rs")), lookup);
        let text = "<<<<<<< SEARCH\nfn b() {\n    go(2);\n=======\nfn b() {\n    go(3);\n>>>>>>> REPLACE\n";
        let mut sights: Vec<Sight> = Vec::new();
        for piece in text.split_inclusive('\n') {
            sights.extend(preview.push(piece).into_iter().map(|glimpse| glimpse.sight));
        }
        sights.extend(preview.finish().into_iter().map(|glimpse| glimpse.sight));
        let edited = |ops: &[CharOp]| Sight::Edited {
            first_line: 5,
            ops: ops.to_vec(),
        };
        assert_eq!(
            sights,
            [
                Sight::Resolving {
                    first_line: 5,
                    last_line: 5
                },
                Sight::Resolving {
                    first_line: 5,
                    last_line: 6
                },
                edited(&[CharOp::Keep(9)]),
                edited(&[
                    CharOp::Keep(7),
                    CharOp::Delete(1),
                    CharOp::Insert("3".to_owned()),
                    CharOp::Keep(3)
                ]),
                edited(&[]),
                Sight::Finished,
            ]
        );
    }
}
