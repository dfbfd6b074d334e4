//! Previews a patch while it is streaming. Old and new lines alternate, and each is shown as it is read.

use session::{PreviewState, PreviewUpdate, TextOp};
use std::path::PathBuf;
use std::sync::Arc;

use edit::{EditDelta, EditEvent, EditLocator, EditParser, LocationGuess, PreviewSource};

/// Previews a patch from its streaming text.
pub(crate) struct PatchPreview {
    parser: EditParser,
    source: PreviewSource,
    path: Option<PathBuf>,
    /// The file of the last hunk.
    file: Option<Arc<PatchedFile>>,
    /// The number of edits reported as finished.
    ended: usize,
    current: Option<OpenHunk>,
}

/// The current hunk.
struct OpenHunk {
    edit: usize,
    path: Option<PathBuf>,
    target: HunkTarget,
    /// Lines that were read and not yet shown.
    buffered: Vec<PatchLine>,
}

enum HunkTarget {
    /// Lines of a new file are shown immediately.
    NewFile,
    /// The position of the quoted lines is being searched.
    File {
        locator: Box<EditLocator>,
        file: Arc<PatchedFile>,
        shown: LocationGuess,
        walk: Option<HunkCursor>,
    },
    Lost,
}

/// A file changed by a patch.
struct PatchedFile {
    path: Option<PathBuf>,
    content: String,
    lines: Vec<FileLineInfo>,
}

struct FileLineInfo {
    bytes: usize,
    is_blank: bool,
}

/// The progress through a hunk with a known position.
struct HunkCursor {
    first_line: usize,
    /// The next unprocessed line of the file, from 0.
    next: usize,
    /// Whether anything has been shown.
    is_begun: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum PatchLine {
    Kept(String),
    Old(String),
    New(String),
}

impl PatchPreview {
    pub(crate) fn new(parser: EditParser, target: Option<PathBuf>, source: PreviewSource) -> Self {
        Self {
            parser,
            source,
            path: target,
            file: None,
            ended: 0,
            current: None,
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<PreviewUpdate> {
        let mut updates = Vec::new();
        for event in self.parser.push(text) {
            self.event(event, &mut updates);
        }
        updates
    }

    pub(crate) fn finish(mut self) -> Vec<PreviewUpdate> {
        // Completes the last line.
        let mut updates = self.push("\n");
        self.end(&mut updates);
        updates
    }

    fn event(&mut self, event: EditEvent, updates: &mut Vec<PreviewUpdate>) {
        let is_current = self.current.as_ref().is_some_and(|hunk| hunk.edit == event.edit);
        let line = match event.delta {
            EditDelta::Started { name, hint } => {
                self.end(updates);
                self.path = name.map(PathBuf::from).or(self.path.take());
                self.start(event.edit, hint);
                return;
            }
            EditDelta::Finished if is_current => return self.end(updates),
            EditDelta::Finished if event.edit >= self.ended => {
                self.end(updates);
                self.start(event.edit, None);
                return self.end(updates);
            }
            EditDelta::Finished => return,
            EditDelta::Kept(text) => PatchLine::Kept(text),
            EditDelta::Old(text) => PatchLine::Old(text),
            EditDelta::New(text) => PatchLine::New(text),
        };
        if !is_current {
            self.end(updates);
            self.start(event.edit, None);
        }
        if let Some(hunk) = &mut self.current {
            hunk.line(line, updates);
        }
    }

    fn start(&mut self, edit: usize, hint: Option<usize>) {
        let target = match self.file() {
            None => HunkTarget::NewFile,
            Some(file) => HunkTarget::File {
                locator: Box::new(EditLocator::new(&file.content, hint)),
                file,
                shown: LocationGuess::Unknown,
                walk: None,
            },
        };
        self.current = Some(OpenHunk {
            edit,
            path: self.path.clone(),
            target,
            buffered: Vec::new(),
        });
    }

    /// The file being patched, if it exists.
    fn file(&mut self) -> Option<Arc<PatchedFile>> {
        if let Some(file) = self.file.as_ref().filter(|file| file.path == self.path) {
            return Some(Arc::clone(file));
        }
        let content = (self.source)(self.path.as_deref()?)?.replace("\r\n", "\n");
        let lines = content.split_inclusive('\n').map(|line| FileLineInfo {
            bytes: line.len(),
            is_blank: line.trim().is_empty(),
        });
        let file = Arc::new(PatchedFile {
            path: self.path.clone(),
            lines: lines.collect(),
            content,
        });
        self.file = Some(Arc::clone(&file));
        Some(file)
    }

    fn end(&mut self, updates: &mut Vec<PreviewUpdate>) {
        let Some(mut hunk) = self.current.take() else { return };
        self.ended = self.ended.max(hunk.edit + 1);
        if let HunkTarget::File { locator, .. } = &mut hunk.target {
            let guess = locator.finish();
            match guess {
                LocationGuess::Several(lines) => hunk.push_update(PreviewState::Ambiguous { lines }, updates),
                LocationGuess::Nowhere => hunk.push_update(PreviewState::Unresolved, updates),
                LocationGuess::At { .. } | LocationGuess::Unknown => {}
            }
        }
        hunk.push_update(PreviewState::Finished, updates);
    }
}

impl OpenHunk {
    fn push_update(&self, state: PreviewState, updates: &mut Vec<PreviewUpdate>) {
        updates.push(PreviewUpdate {
            edit: self.edit + 1,
            path: self.path.clone(),
            state,
        });
    }

    fn line(&mut self, line: PatchLine, updates: &mut Vec<PreviewUpdate>) {
        match &mut self.target {
            HunkTarget::NewFile => {
                if let PatchLine::New(text) = line {
                    let ops = vec![TextOp::Insert(text)];
                    self.push_update(PreviewState::Edited { first_line: 0, ops }, updates);
                }
                return;
            }
            HunkTarget::Lost => return,
            HunkTarget::File { locator, .. } => {
                let guess = match &line {
                    PatchLine::Kept(text) | PatchLine::Old(text) => Some(locator.push(text)),
                    PatchLine::New(_) => None,
                };
                self.buffered.push(line);
                if let Some(guess) = guess {
                    self.apply_guess(guess, updates);
                }
            }
        }
        self.show(updates);
    }

    fn apply_guess(&mut self, guess: LocationGuess, updates: &mut Vec<PreviewUpdate>) {
        let HunkTarget::File { shown, walk, .. } = &mut self.target else {
            return;
        };
        if guess == *shown {
            return;
        }
        *shown = guess.clone();
        match guess {
            LocationGuess::At { first_line, last_line } => {
                walk.get_or_insert(HunkCursor {
                    first_line,
                    next: first_line - 1,
                    is_begun: false,
                });
                self.push_update(PreviewState::Resolving { first_line, last_line }, updates);
            }
            LocationGuess::Nowhere => {
                self.target = HunkTarget::Lost;
                self.push_update(PreviewState::Unresolved, updates);
            }
            LocationGuess::Several(_) | LocationGuess::Unknown => {}
        }
    }

    /// Shows the buffered lines once their position is known and one of them is a change.
    fn show(&mut self, updates: &mut Vec<PreviewUpdate>) {
        let changes = self.buffered.iter().any(|line| !matches!(line, PatchLine::Kept(_)));
        let HunkTarget::File {
            file, walk: Some(walk), ..
        } = &mut self.target
        else {
            return;
        };
        if !changes && !walk.is_begun {
            return;
        }
        walk.is_begun = true;
        let mut ops = Vec::new();
        for line in self.buffered.drain(..) {
            match line {
                PatchLine::New(text) => ops.push(TextOp::Insert(text)),
                PatchLine::Kept(text) => step(&file.lines, &mut walk.next, &text, &mut ops, TextOp::Keep),
                PatchLine::Old(text) => step(&file.lines, &mut walk.next, &text, &mut ops, TextOp::Delete),
            }
        }
        let first_line = walk.first_line;
        self.push_update(PreviewState::Edited { first_line, ops }, updates);
    }
}

/// Advances to the file's line for a quoted line. Blank lines are ignored by the search, so their number may differ.
fn step(lines: &[FileLineInfo], next: &mut usize, quoted: &str, ops: &mut Vec<TextOp>, op: fn(usize) -> TextOp) {
    if quoted.trim().is_empty() {
        if let Some(line) = lines.get(*next).filter(|line| line.is_blank) {
            ops.push(op(line.bytes));
            *next += 1;
        }
        return;
    }
    while let Some(line) = lines.get(*next).filter(|line| line.is_blank) {
        ops.push(TextOp::Keep(line.bytes));
        *next += 1;
    }
    if let Some(line) = lines.get(*next) {
        ops.push(op(line.bytes));
        *next += 1;
    }
}
