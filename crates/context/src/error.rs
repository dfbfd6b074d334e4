//! The error type of this crate.

/// Why a mode cannot be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The mode `edit` was selected without files.
    #[error("the mode `edit` requires the files that may be changed")]
    EditWithoutFiles,
    /// No mode has this name.
    #[error("there is no mode `{name}`")]
    UnknownMode {
        /// The requested name.
        name: String,
        /// The names of all modes.
        available: Vec<String>,
    },
}

impl Error {
    /// A hint for the user.
    pub fn hint(&self) -> String {
        match self {
            Error::EditWithoutFiles => "specify them with --files, or choose another mode".into(),
            Error::UnknownMode { available, .. } => {
                let names = available.join(", ");
                format!("available modes: {names}; `hew modes` describes them")
            }
        }
    }
}
