//! Something wrong in a file that a person wrote. It is told, and the rest of the file still counts.

use serde::Serialize;
use std::fmt;

/// Something wrong in a file that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file or the layer of configuration.
    pub file: String,
    /// The entry, as well as it can be named.
    pub entry: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.entry, self.message)
    }
}
