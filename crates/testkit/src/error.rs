//! Errors of the test kit.

use std::path::PathBuf;

/// Why the test kit failed. Responses of a scripted server are never errors of the kit.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not bind a port on loopback.
    #[error("cannot listen on {address}")]
    Listen {
        /// The requested host and port; 0 means any port.
        address: String,
        /// The system error.
        #[source]
        source: std::io::Error,
    },
    /// A file or directory of a temporary project could not be read or written.
    #[error("cannot use {path}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The system error.
        #[source]
        source: std::io::Error,
    },
    /// A path leads out of the temporary project.
    #[error("{path} is not inside the project")]
    Outside {
        /// The path as given.
        path: PathBuf,
    },
    /// The JSON form of a script is invalid.
    #[error("the script is not valid")]
    Script(#[source] serde_json::Error),
    /// A JSON schema is invalid.
    #[error("the schema is not valid: {0}")]
    Schema(String),
    /// The binary under test could not be started or waited for.
    #[error("cannot run {binary}")]
    Run {
        /// The binary.
        binary: PathBuf,
        /// The system error.
        #[source]
        source: std::io::Error,
    },
    /// The binary under test ended, or timed out, before it printed the expected text.
    #[error("{expected:?} was not printed; stdout so far: {stdout:?}")]
    NotPrinted {
        /// The expected text.
        expected: String,
        /// The actual output.
        stdout: String,
    },
}
