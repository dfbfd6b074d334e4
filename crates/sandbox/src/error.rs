//! Why a process could not be started.

use std::io;
use std::path::PathBuf;

/// A process that did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program on the search path.
    #[error("the program {program} was not found")]
    Missing {
        /// The program asked for.
        program: String,
    },
    /// The working folder is not there.
    #[error("the working directory {} does not exist or is not a directory", path.display())]
    Directory {
        /// The folder asked for.
        path: PathBuf,
    },
    /// The command is longer than the system passes to a program.
    #[error("the command has {bytes} bytes, more than the {limit} the system takes; put it into a file and run that")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The most the system takes.
        limit: usize,
    },
    /// A NUL byte, which no argument can hold.
    #[error("the command contains a NUL byte, which no argument can")]
    Nul,
    /// Anything else the operating system reported.
    #[error("{program} could not be started")]
    Start {
        /// The program asked for.
        program: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}
