//! Parsed edits, before they are checked against any file.

use crate::anchor::AnchoredEdit;

/// One edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedEdit {
    /// Possible names of the file, most likely first; empty if there is none.
    pub names: Vec<String>,
    /// How reliable the names are.
    pub path_source: PathSource,
    /// The change.
    pub change: EditChange,
}

/// Where the file name of an edit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSource {
    /// A dedicated field or header.
    Stated,
    /// Nearby lines that may or may not be a name.
    Guessed,
}

impl ParsedEdit {
    /// An edit with a file name from a dedicated field.
    pub(crate) fn stated(names: Vec<String>, change: EditChange) -> Self {
        Self {
            names,
            path_source: PathSource::Stated,
            change,
        }
    }

    /// An edit with a file name guessed from the surrounding text.
    pub(crate) fn guessed(names: Vec<String>, change: EditChange) -> Self {
        Self {
            names,
            path_source: PathSource::Guessed,
            change,
        }
    }
}

/// The effect of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditChange {
    /// Replace quoted old text.
    Replace(Replacement),
    /// Change lines around quoted context.
    Hunk(PatchHunk),
    /// Insert whole lines.
    Insert {
        /// The position.
        position: InsertPosition,
        /// The lines to insert.
        text: String,
    },
    /// Change whole lines at anchors.
    Anchored(AnchoredEdit),
    /// Set the whole content of a file, existing or new.
    Write(String),
    /// Create a file, which must not exist.
    Create(String),
    /// Delete the file.
    Delete,
    /// Rename the file.
    Move(String),
}

/// Where lines are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertPosition {
    /// Before this line, counted from 1.
    Before(usize),
    /// After this line, counted from 1; 0 is the top of the file.
    After(usize),
    /// After the last line.
    End,
}

/// Quoted old text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The old and the new text. Several pairs if a marker in the content allows several readings; the file decides.
    pub readings: Vec<(String, String)>,
    /// The expected first line of the old text, counted from 1.
    pub hint: Option<usize>,
    /// One location or all.
    pub scope: ReplaceScope,
    /// Whether the text consists of whole lines or may start and end inside a line.
    pub unit: ReplaceUnit,
}

/// How many locations a replacement applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceScope {
    /// Exactly one, otherwise it is refused.
    One,
    /// All locations.
    All,
}

/// The unit of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceUnit {
    /// Whole lines, each ending in a newline.
    Lines,
    /// Any text.
    Text,
}

/// Lines to keep, remove and add, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// Lines that occur above, outermost first.
    pub headers: Vec<String>,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// Whether the lines end where the file ends.
    pub at_end: bool,
    /// The expected first line, counted from 1.
    pub hint: Option<usize>,
    /// The newline at the end of the file.
    pub end: EndOfFile,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// Kept. `bare` is set if the line lacked the leading space that the format requires.
    Keep {
        /// The line without its marker.
        text: String,
        /// Whether the marker was missing.
        bare: bool,
    },
    /// Removed.
    Remove(String),
    /// Added.
    Add(String),
}

/// What a hunk specifies about the newline at the end of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndOfFile {
    /// Nothing: unchanged, unless lines are added at the end.
    #[default]
    Unspecified,
    /// Unchanged in any case.
    Unchanged,
    /// The new last line has none.
    NoNewline,
    /// The new last line has one.
    Newline,
}

impl PatchHunk {
    /// Whether it changes anything.
    pub(crate) fn is_change(&self) -> bool {
        self.lines.iter().any(|line| !matches!(line, HunkLine::Keep { .. }))
    }

    /// Whether it only adds lines without quoted context. Blank lines after the last addition are not context.
    pub(crate) fn is_addition(&self) -> bool {
        let last = self.lines.iter().rposition(|line| matches!(line, HunkLine::Add(_)));
        let is_start = matches!(self.lines.first(), Some(HunkLine::Add(_)));
        let is_blank = |line: &HunkLine| matches!(line, HunkLine::Keep { text, .. } if text.trim().is_empty());
        let is_unmarked = |line: &HunkLine| matches!(line, HunkLine::Keep { bare: true, .. }) && is_blank(line);
        last.is_some_and(|last| {
            let (head, tail) = self.lines.split_at(last);
            is_start
                && head
                    .iter()
                    .all(|line| matches!(line, HunkLine::Add(_)) || is_unmarked(line))
                && tail.iter().skip(1).all(is_blank)
        })
    }
}
