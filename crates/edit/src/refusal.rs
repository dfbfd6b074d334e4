//! Why an edit is not applied, in words that let a model correct itself in one step.

use std::fmt;
use std::path::PathBuf;

/// Nothing is applied, for these reasons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// One for each edit that cannot be applied, in their order.
    pub refusals: Vec<Refusal>,
}

/// One edit that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which edit of the text, counted from 1; 0 when the text as a whole is at fault.
    pub edit: usize,
    /// The file it is for, where that is known.
    pub path: Option<PathBuf>,
    /// What is wrong.
    pub why: Why,
    /// The part of the file that comes nearest to what was quoted.
    pub nearest: Option<Region>,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The number of the first line, counted from 1.
    pub start: usize,
    /// The lines without their endings.
    pub lines: Vec<String>,
}

/// What is wrong with an edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The text breaks its own format.
    #[error("line {line} of the edit text: {problem}")]
    Malformed {
        /// The line of the edit text, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Separator lines inside the content leave open where the old text ends.
    #[error("a separator line inside the content leaves open where the old text ends; put a backslash before it")]
    Separators,
    /// No edit was found in the text.
    #[error("the text holds no edit that could be applied")]
    Nothing,
    /// The text is in none of the known formats.
    #[error("the format of the edit text is not recognised")]
    UnknownFormat,
    /// The text names no file and none was given.
    #[error("the edit does not say which file it is for")]
    NoPath,
    /// The path leads out of the project.
    #[error("the path `{0}` leads out of the project")]
    PathEscapes(String),
    /// The file is not there.
    #[error("the file does not exist")]
    NoFile,
    /// The file is already there.
    #[error("the file already exists; quote the lines to change instead")]
    FileExists,
    /// Old text is empty although the file has content.
    #[error("the old text is empty but the file is not; quote the lines to change")]
    EmptyOld,
    /// Old and new text are the same.
    #[error("the edit changes nothing: old and new text are the same")]
    NoChange,
    /// The old text is not in the file.
    #[error("the old text is not in the file")]
    NotFound,
    /// The old text is not in the file, but the new text is.
    #[error(
        "the old text is not in the file, and the new text already stands at line {line}: the change seems to be made already"
    )]
    AlreadyApplied {
        /// Where the new text starts, counted from 1.
        line: usize,
    },
    /// The old text is in the file more than once.
    #[error("the old text fits {} places, at lines {}; quote more lines around it, or give its line", .lines.len(), list(.lines))]
    Ambiguous {
        /// Where, counted from 1.
        lines: Vec<usize>,
    },
    /// A `@@` header is not in the file.
    #[error("the `@@` header `{0}` is not a line of the file")]
    NoHeader(String),
    /// Lines are to be inserted, but nothing says where.
    #[error("the added lines have no context to place them by")]
    NoContext,
    /// The line to insert at is not in the file.
    #[error("line {line} is past the end of the file, which has {count} lines")]
    NoLine {
        /// The line asked for, counted from 1.
        line: usize,
        /// How many there are.
        count: usize,
    },
    /// The new text leaves something out in words.
    #[error("the new text leaves code out (`{0}`); write it in full or edit only the lines that change")]
    Placeholder(String),
    /// The old text leaves something out that the new text does not.
    #[error("the old text leaves lines out, and the new text does not leave out the same; quote every line in full")]
    Elision,
    /// Two edits touch the same lines.
    #[error("the edit touches lines {from}-{to}, which edit {other} changes too; make one edit of the two")]
    Overlap {
        /// The first line, counted from 1.
        from: usize,
        /// The last line.
        to: usize,
        /// The other edit, counted from 1.
        other: usize,
    },
    /// The same edit came before.
    #[error("the edit is the same as edit {0}")]
    Repeated(usize),
    /// A file is deleted, moved or created and otherwise edited in the same text.
    #[error("edit {0} already deletes, moves or creates this file")]
    Conflict(usize),
}

fn list(lines: &[usize]) -> String {
    const SHOWN: usize = 12;
    let mut text = lines
        .iter()
        .take(SHOWN)
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if lines.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, refusal) in self.refusals.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{refusal}")?;
        }
        if !self.refusals.is_empty() {
            write!(f, "\nNothing was changed.")?;
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.edit > 0 {
            write!(f, "Edit {}", self.edit)?;
            if let Some(path) = &self.path {
                write!(f, " ({})", path.display())?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}.", self.why)?;
        if let Some(region) = &self.nearest {
            write!(f, " The nearest lines in the file are:")?;
            let width = (region.start + region.lines.len()).to_string().len();
            for (offset, line) in region.lines.iter().enumerate() {
                write!(f, "\n{:>width$} | {line}", region.start + offset)?;
            }
        }
        Ok(())
    }
}
