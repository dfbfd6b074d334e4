//! What a call will do, shown while the model still writes it. Nothing in it is binding.

use std::path::PathBuf;

/// Watches the input of one call arrive.
pub trait Preview: Send {
    /// Takes in more of the input, as raw JSON text, and says what can be seen now.
    fn push(&mut self, json: &str) -> Vec<Glimpse>;
}

/// News about a change that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    /// Which change of the call, counted from 1.
    pub edit: usize,
    /// The file, where it is known.
    pub path: Option<PathBuf>,
    /// What can be seen.
    pub sight: Sight,
}

/// What can be seen of a change. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// The old text is being quoted and can only be here.
    Resolving {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// The old text fits several places.
    Ambiguous {
        /// Where they begin.
        lines: Vec<usize>,
    },
    /// The old text has not been found.
    Unresolved,
    /// The text from this line on changes like this; the operations follow those shown before.
    Edited {
        /// The first line of the text that the operations are for; 0 when it is a new file.
        first_line: usize,
        /// The next operations.
        ops: Vec<Op>,
    },
    /// The change is written out.
    Finished,
}

/// One operation on text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// So many bytes stay.
    Keep(usize),
    /// So many bytes go.
    Delete(usize),
    /// This comes.
    Insert(String),
}
