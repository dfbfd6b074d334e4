//! What a model asked for, as parsed: edits that no file has been checked against yet.

/// One edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What the text calls the file, likeliest reading first; empty when it names none.
    pub names: Vec<String>,
    /// How sure the names are.
    pub naming: Naming,
    /// What to do with it.
    pub change: Change,
}

/// How an edit names its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// In a field or header made for it.
    Stated,
    /// By lines near it that may or may not be a name.
    Guessed,
}

impl Edit {
    /// An edit whose file is named by its format.
    pub(crate) fn stated(names: Vec<String>, change: Change) -> Self {
        Self {
            names,
            naming: Naming::Stated,
            change,
        }
    }

    /// An edit whose file is named in the text around it.
    pub(crate) fn guessed(names: Vec<String>, change: Change) -> Self {
        Self {
            names,
            naming: Naming::Guessed,
            change,
        }
    }
}

/// What an edit does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Put new text in place of quoted old text.
    Replace(Replace),
    /// Change lines around quoted context.
    Hunk(Hunk),
    /// Insert whole lines.
    Insert {
        /// Where.
        place: Place,
        /// The lines to insert.
        text: String,
    },
    /// This is the whole file now, whether it exists or not.
    Write(String),
    /// A new file, which must not exist.
    Create(String),
    /// Remove the file.
    Delete,
    /// Give the file another name.
    Move(String),
}

/// Where lines are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before this line, counted from 1.
    Before(usize),
    /// After this line, counted from 1; 0 is the top of the file.
    After(usize),
    /// After the last line.
    End,
}

/// Quoted old text and what comes in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replace {
    /// The old and the new text. More than one pair when a marker in the content allows several readings; the file decides.
    pub readings: Vec<(String, String)>,
    /// The line, counted from 1, where the model believes the old text to start.
    pub hint: Option<usize>,
    /// One place or every place.
    pub scope: Scope,
    /// Whether the text is made of whole lines or may start and end inside a line.
    pub unit: Unit,
}

/// How many places a replacement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Exactly one, or it is refused.
    One,
    /// Every one there is.
    All,
}

/// What a replacement is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole lines, each ending in a newline.
    Lines,
    /// Any piece of text.
    Text,
}

/// Lines to keep, remove and add, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Lines that stand somewhere above, outermost first.
    pub headers: Vec<String>,
    /// The lines themselves.
    pub lines: Vec<HunkLine>,
    /// Whether the lines end where the file ends.
    pub at_end: bool,
    /// The line, counted from 1, where the model believes the lines to start.
    pub hint: Option<usize>,
    /// What the hunk says about a newline at the end of the file.
    pub end: EndOfFile,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// Stays. `bare` is set when the line came without the leading space that the format asks for.
    Keep {
        /// The line without its mark.
        text: String,
        /// Whether the mark was missing.
        bare: bool,
    },
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

/// What a hunk says about the newline at the end of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndOfFile {
    /// Nothing: as it was, unless lines are added at the end.
    #[default]
    Unsaid,
    /// Nothing, and as it was in any case.
    AsItWas,
    /// The new last line has none.
    NoNewline,
    /// The new last line has one.
    Newline,
}

impl Hunk {
    /// Whether it changes anything.
    pub(crate) fn is_change(&self) -> bool {
        self.lines.iter().any(|line| !matches!(line, HunkLine::Keep { .. }))
    }

    /// Whether it only adds lines and quotes nothing to find them by. Blank lines after the last addition are no quotation.
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
