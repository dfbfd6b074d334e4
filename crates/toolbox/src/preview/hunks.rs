//! Shows a patch while it is being written. Its lines come mixed, old and new in turn, and each is shown as it is read.

use std::path::PathBuf;
use std::sync::Arc;

use edit::{Delta, Event, Guess, Locator, Parser, Source};
use tool::{Glimpse, Op, Sight};

/// Watches the text of a patch arrive.
pub(crate) struct Hunks {
    parser: Parser,
    source: Source,
    path: Option<PathBuf>,
    /// The file that the last hunk was for.
    file: Option<Arc<File>>,
    /// How many edits have been told to be finished.
    ended: usize,
    current: Option<Hunk>,
}

/// The hunk that is being written.
struct Hunk {
    edit: usize,
    path: Option<PathBuf>,
    place: Place,
    /// What was read and not yet shown.
    held: Vec<Line>,
}

enum Place {
    /// Every line of a new file is shown at once.
    NewFile,
    /// Where the quoted lines stand is being found out.
    File {
        locator: Box<Locator>,
        file: Arc<File>,
        shown: Guess,
        walk: Option<Walk>,
    },
    Lost,
}

/// A file that a patch changes.
struct File {
    path: Option<PathBuf>,
    content: String,
    lines: Vec<FileLine>,
}

struct FileLine {
    bytes: usize,
    is_blank: bool,
}

/// The way through the lines of a hunk whose place is known.
struct Walk {
    first_line: usize,
    /// The next line of the file that has not been dealt with, from 0.
    next: usize,
    /// Whether anything has been shown.
    is_begun: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Kept(String),
    Old(String),
    New(String),
}

impl Hunks {
    pub(crate) fn new(parser: Parser, target: Option<PathBuf>, source: Source) -> Self {
        Self {
            parser,
            source,
            path: target,
            file: None,
            ended: 0,
            current: None,
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Glimpse> {
        let mut glimpses = Vec::new();
        for event in self.parser.push(text) {
            self.event(event, &mut glimpses);
        }
        glimpses
    }

    pub(crate) fn finish(mut self) -> Vec<Glimpse> {
        // The last line counts although nothing follows it.
        let mut glimpses = self.push("\n");
        self.end(&mut glimpses);
        glimpses
    }

    fn event(&mut self, event: Event, glimpses: &mut Vec<Glimpse>) {
        let is_current = self.current.as_ref().is_some_and(|hunk| hunk.edit == event.edit);
        let line = match event.delta {
            Delta::Started { name, hint } => {
                self.end(glimpses);
                self.path = name.map(PathBuf::from).or(self.path.take());
                self.start(event.edit, hint);
                return;
            }
            Delta::Finished if is_current => return self.end(glimpses),
            Delta::Finished if event.edit >= self.ended => {
                self.end(glimpses);
                self.start(event.edit, None);
                return self.end(glimpses);
            }
            Delta::Finished => return,
            Delta::Kept(text) => Line::Kept(text),
            Delta::Old(text) => Line::Old(text),
            Delta::New(text) => Line::New(text),
        };
        if !is_current {
            self.end(glimpses);
            self.start(event.edit, None);
        }
        if let Some(hunk) = &mut self.current {
            hunk.line(line, glimpses);
        }
    }

    fn start(&mut self, edit: usize, hint: Option<usize>) {
        let place = match self.file() {
            None => Place::NewFile,
            Some(file) => Place::File {
                locator: Box::new(Locator::new(&file.content, hint)),
                file,
                shown: Guess::Unknown,
                walk: None,
            },
        };
        self.current = Some(Hunk {
            edit,
            path: self.path.clone(),
            place,
            held: Vec::new(),
        });
    }

    /// The file that is being patched, if it is there.
    fn file(&mut self) -> Option<Arc<File>> {
        if let Some(file) = self.file.as_ref().filter(|file| file.path == self.path) {
            return Some(Arc::clone(file));
        }
        let content = (self.source)(self.path.as_deref()?)?.replace("\r\n", "\n");
        let lines = content.split_inclusive('\n').map(|line| FileLine {
            bytes: line.len(),
            is_blank: line.trim().is_empty(),
        });
        let file = Arc::new(File {
            path: self.path.clone(),
            lines: lines.collect(),
            content,
        });
        self.file = Some(Arc::clone(&file));
        Some(file)
    }

    fn end(&mut self, glimpses: &mut Vec<Glimpse>) {
        let Some(mut hunk) = self.current.take() else { return };
        self.ended = self.ended.max(hunk.edit + 1);
        if let Place::File { locator, .. } = &mut hunk.place {
            let guess = locator.finish();
            match guess {
                Guess::Several(lines) => hunk.tell(Sight::Ambiguous { lines }, glimpses),
                Guess::Nowhere => hunk.tell(Sight::Unresolved, glimpses),
                Guess::At { .. } | Guess::Unknown => {}
            }
        }
        hunk.tell(Sight::Finished, glimpses);
    }
}

impl Hunk {
    fn tell(&self, sight: Sight, glimpses: &mut Vec<Glimpse>) {
        glimpses.push(Glimpse {
            edit: self.edit + 1,
            path: self.path.clone(),
            sight,
        });
    }

    fn line(&mut self, line: Line, glimpses: &mut Vec<Glimpse>) {
        match &mut self.place {
            Place::NewFile => {
                if let Line::New(text) = line {
                    let ops = vec![Op::Insert(text)];
                    self.tell(Sight::Edited { first_line: 0, ops }, glimpses);
                }
                return;
            }
            Place::Lost => return,
            Place::File { locator, .. } => {
                let guess = match &line {
                    Line::Kept(text) | Line::Old(text) => Some(locator.push(text)),
                    Line::New(_) => None,
                };
                self.held.push(line);
                if let Some(guess) = guess {
                    self.guessed(guess, glimpses);
                }
            }
        }
        self.show(glimpses);
    }

    fn guessed(&mut self, guess: Guess, glimpses: &mut Vec<Glimpse>) {
        let Place::File { shown, walk, .. } = &mut self.place else {
            return;
        };
        if guess == *shown {
            return;
        }
        *shown = guess.clone();
        match guess {
            Guess::At { first_line, last_line } => {
                walk.get_or_insert(Walk {
                    first_line,
                    next: first_line - 1,
                    is_begun: false,
                });
                self.tell(Sight::Resolving { first_line, last_line }, glimpses);
            }
            Guess::Nowhere => {
                self.place = Place::Lost;
                self.tell(Sight::Unresolved, glimpses);
            }
            Guess::Several(_) | Guess::Unknown => {}
        }
    }

    /// Shows the lines that are held, once their place is known and one of them changes something.
    fn show(&mut self, glimpses: &mut Vec<Glimpse>) {
        let changes = self.held.iter().any(|line| !matches!(line, Line::Kept(_)));
        let Place::File {
            file, walk: Some(walk), ..
        } = &mut self.place
        else {
            return;
        };
        if !changes && !walk.is_begun {
            return;
        }
        walk.is_begun = true;
        let mut ops = Vec::new();
        for line in self.held.drain(..) {
            match line {
                Line::New(text) => ops.push(Op::Insert(text)),
                Line::Kept(text) => step(&file.lines, &mut walk.next, &text, &mut ops, Op::Keep),
                Line::Old(text) => step(&file.lines, &mut walk.next, &text, &mut ops, Op::Delete),
            }
        }
        let first_line = walk.first_line;
        self.tell(Sight::Edited { first_line, ops }, glimpses);
    }
}

/// Deals with the file's line for a quoted one. Blank lines do not count when lines are found, so there may be more or fewer of them.
fn step(lines: &[FileLine], next: &mut usize, quoted: &str, ops: &mut Vec<Op>, op: fn(usize) -> Op) {
    if quoted.trim().is_empty() {
        if let Some(line) = lines.get(*next).filter(|line| line.is_blank) {
            ops.push(op(line.bytes));
            *next += 1;
        }
        return;
    }
    while let Some(line) = lines.get(*next).filter(|line| line.is_blank) {
        ops.push(Op::Keep(line.bytes));
        *next += 1;
    }
    if let Some(line) = lines.get(*next) {
        ops.push(op(line.bytes));
        *next += 1;
    }
}
