//! Errors of code search.

/// Why the index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The project could not be read.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The index file could not be read or written.
    #[error("the search index {path} cannot be used: {source}")]
    Storage {
        /// The index file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
}

impl Error {
    /// A hint for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Workspace(_) => None,
            Self::Storage { .. } => Some("`hew index clear` deletes it; it is built again when needed"),
        }
    }
}
