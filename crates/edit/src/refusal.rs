//! Why an edit is refused, in messages that let a model correct it in one step.

use std::fmt;
use std::path::PathBuf;

use crate::anchor::line_anchor;

/// The whole edit text is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RefusedEdits {
    /// One refusal per edit that cannot be applied, in order.
    pub refusals: Vec<EditRefusal>,
}

/// One edit that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRefusal {
    /// The edit of the text, counted from 1; 0 for the whole text.
    pub edit: usize,
    /// Its file, if known.
    pub path: Option<PathBuf>,
    /// The reason.
    pub reason: RefusalReason,
    /// The lines of the file most similar to the quoted text.
    pub nearest: Option<FileRegion>,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRegion {
    /// The number of the first line, counted from 1.
    pub start: usize,
    /// The lines without their endings.
    pub lines: Vec<String>,
}

/// The reason for refusing an edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// The text violates its format.
    #[error("line {line} of the edit text: {problem}")]
    Malformed {
        /// The line of the edit text, counted from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// Separator lines in the content make the end of the old text ambiguous.
    #[error("a separator line in the content makes the end of the old text ambiguous; escape it with a backslash")]
    Separators,
    /// The text contains no edit.
    #[error("the text contains no edit")]
    NoEdits,
    /// The format of the text is unknown.
    #[error("the format of the edit text is not recognised")]
    UnknownFormat,
    /// The text names no file and there is no target.
    #[error("the edit names no file")]
    NoPath,
    /// The path leads out of the project.
    #[error("the path `{0}` leads out of the project")]
    PathEscapes(String),
    /// The file does not exist.
    #[error("the file does not exist")]
    NoFile,
    /// The file already exists.
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
        "the old text is not in the file, and the new text is already at line {line}: the change seems to be applied already"
    )]
    AlreadyApplied {
        /// The first line of the new text, counted from 1.
        line: usize,
    },
    /// The old text is in the file more than once.
    #[error("the old text matches {} places, at lines {}; quote more lines around it, or give its line number{}", .lines.len(), list(.lines), neighbour_list(.neighbours))]
    Ambiguous {
        /// The lines, counted from 1.
        lines: Vec<usize>,
        /// A line next to each place that distinguishes it, with its line number.
        neighbours: Vec<(usize, String)>,
    },
    /// A `@@` header is not in the file.
    #[error("the `@@` header `{0}` is not a line of the file")]
    NoHeader(String),
    /// Lines are inserted without a location.
    #[error("the added lines have no context to locate them")]
    NoContext,
    /// The line to insert at does not exist.
    #[error("line {line} is past the end of the file, which has {count} lines")]
    NoLine {
        /// The requested line, counted from 1.
        line: usize,
        /// The number of lines.
        count: usize,
    },
    /// The new text contains a placeholder for omitted code.
    #[error("the new text leaves code out (`{0}`); write it in full or edit only the lines that change")]
    Placeholder(String),
    /// The old text has an omission that the new text lacks.
    #[error("the old text leaves lines out, and the new text does not leave out the same; quote every line in full")]
    Elision,
    /// The content of a whole file is an edit.
    #[error(
        "the content is an edit and not the content of a file; apply it with an edit tool, or write the whole file"
    )]
    EditAsContent,
    /// The content of a whole file is a part of it.
    #[error(
        "the content is only a part of the file, and all other lines would be lost; change that part, or remove the others, with an edit tool, or write every line of the file"
    )]
    PartAsContent,
    /// The new text is in another notation than the file.
    #[error("the new text {0}; write the lines exactly as they must be in the file")]
    Notation(String),
    /// The old text is a part of a line, and the rest of that line does not fit the new text.
    #[error(
        "the old text is only a part of line {line}, and the rest of that line does not fit the new text; quote whole lines"
    )]
    PartOfLine {
        /// The line, counted from 1.
        line: usize,
    },
    /// The new text starts or ends with a line of the file that the old text does not quote.
    #[error(
        "the new text repeats line {line} of the file, which the old text does not quote; quote that line too, or leave it out"
    )]
    RepeatedNeighbour {
        /// The line, counted from 1.
        line: usize,
    },
    /// The quoted lines have other line breaks than the file where the text changes.
    #[error(
        "the lines at line {line} of the file have other line breaks than the old text; copy the lines from the file"
    )]
    LineBreaks {
        /// The first line, counted from 1.
        line: usize,
    },
    /// The indentation of the quoted lines does not determine the indentation of the new lines.
    #[error(
        "the indentation of the edit does not agree with the file; copy the indentation of the lines from the file"
    )]
    Indentation,
    /// The line of an anchor has changed, and its history does not show where it is now.
    #[error("the anchor `{anchor}` does not match the file; use the anchors of the current lines")]
    StaleAnchor {
        /// The anchor.
        anchor: String,
        /// Its line, counted from 1.
        line: usize,
    },
    /// The lines in place of a line at an anchor repeat the lines below it: the range has no end.
    #[error(
        "the new text repeats line {line} of the file, which is not replaced; give the last line to replace as `end`, or leave the repeated lines out"
    )]
    OpenRange {
        /// The line, counted from 1.
        line: usize,
    },
    /// The last line of a range is above the first.
    #[error("the range ends at `{end}`, above its start `{start}`")]
    AnchorOrder {
        /// The first line.
        start: String,
        /// The last line.
        end: String,
    },
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
    /// The same edit occurs twice.
    #[error("the edit is the same as edit {0}")]
    Repeated(usize),
    /// A file is deleted, moved or created and also edited in the same text.
    #[error("edit {0} already deletes, moves or creates this file")]
    Conflict(usize),
}

fn neighbour_list(neighbours: &[(usize, String)]) -> String {
    let shown: Vec<String> = neighbours
        .iter()
        .map(|(line, text)| format!("line {line} is `{text}`"))
        .collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(". Next to these places, {}", shown.join(", "))
    }
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

impl fmt::Display for RefusedEdits {
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

impl fmt::Display for EditRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.edit > 0 {
            write!(f, "Edit {}", self.edit)?;
            if let Some(path) = &self.path {
                write!(f, " ({})", path.display())?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}.", self.reason)?;
        if let Some(region) = &self.nearest {
            if matches!(
                self.reason,
                RefusalReason::StaleAnchor { .. } | RefusalReason::OpenRange { .. }
            ) {
                write!(f, " The current lines are:")?;
                for (line, number) in region.lines.iter().zip(region.start as u64..) {
                    write!(f, "\n{}\t{line}", line_anchor(number, line))?;
                }
                return Ok(());
            }
            write!(f, " The nearest lines in the file are:")?;
            let width = (region.start + region.lines.len()).to_string().len();
            for (offset, line) in region.lines.iter().enumerate() {
                write!(f, "\n{:>width$} | {line}", region.start + offset)?;
            }
        }
        Ok(())
    }
}
