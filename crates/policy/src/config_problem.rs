//! A problem in a user's file. It is reported, and the rest of the file is used.

use serde::Serialize;
use std::fmt;

/// A problem in a user's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// The file or configuration layer.
    pub file: String,
    /// The entry.
    pub entry: String,
    /// The problem.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.entry, self.message)
    }
}
