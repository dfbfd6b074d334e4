//! Errors when starting a process.

use std::io;
use std::path::PathBuf;

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not on the search path.
    #[error("the program {program} was not found")]
    Missing {
        /// The requested program.
        program: String,
    },
    /// The working directory does not exist.
    #[error("the working directory {} does not exist or is not a directory", path.display())]
    Directory {
        /// The requested directory.
        path: PathBuf,
    },
    /// The command exceeds the system's length limit.
    #[error("the command has {bytes} bytes, more than the system limit of {limit}; put it into a file and run that")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A NUL byte, which arguments cannot contain.
    #[error("the command contains a NUL byte, which arguments cannot contain")]
    Nul,
    /// The paths that must be hidden or protected could not be determined.
    #[error("commands are not run: {0}")]
    Paths(#[from] crate::PathScanError),
    /// Any other error of the operating system.
    #[error("{program} could not be started")]
    Start {
        /// The requested program.
        program: String,
        /// The system error.
        #[source]
        source: io::Error,
    },
}
