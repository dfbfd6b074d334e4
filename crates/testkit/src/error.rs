//! What can go wrong while setting a scene.

use std::path::PathBuf;

/// Why the kit could not do its part. What a scripted server answers is never an error of the kit.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not take a port on loopback.
    #[error("cannot listen on {address}")]
    Listen {
        /// The host and port asked for; 0 means any port.
        address: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file or folder of a temp project could not be read or written.
    #[error("cannot use {path}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A path of a temp project leads out of it.
    #[error("{path} is not inside the project")]
    Outside {
        /// The path as given.
        path: PathBuf,
    },
    /// The JSON form of a script could not be understood.
    #[error("the script is not valid")]
    Script(#[source] serde_json::Error),
    /// The binary under test could not be started or waited for.
    #[error("cannot run {binary}")]
    Run {
        /// The binary.
        binary: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The binary under test ended, or its time was up, before it printed what was waited for.
    #[error("{wanted:?} was not printed; stdout so far: {stdout:?}")]
    NotPrinted {
        /// The text waited for.
        wanted: String,
        /// What was printed instead.
        stdout: String,
    },
}
