//! File errors, with messages that a model or a user can act on.

use std::io;

use rustix::io::Errno;

use crate::suggestions::SimilarPaths;

/// A failed file operation. Paths are written as the caller wrote them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path does not exist; similar names are suggested.
    #[error("{path} does not exist{}", suggestion(&similar.find()))]
    Missing {
        /// The requested path.
        path: String,
        /// Up to three similar existing paths.
        similar: SimilarPaths,
    },
    /// A folder instead of a file.
    #[error("{path} is a directory, not a file")]
    Directory {
        /// The requested path.
        path: String,
    },
    /// A file instead of a folder, or inside the path.
    #[error("{path}: a part of this path is a file, not a directory")]
    NotADirectory {
        /// The requested path.
        path: String,
    },
    /// A device, pipe or socket.
    #[error("{path} is a device, pipe or socket, not a regular file")]
    NotAFile {
        /// The requested path.
        path: String,
    },
    /// The content is not text.
    #[error("{path} is a binary file ({size} bytes)")]
    Binary {
        /// The requested path.
        path: String,
        /// Its length in bytes.
        size: u64,
    },
    /// Neither UTF-8 nor another supported encoding.
    #[error("{path} is not UTF-8 text: invalid bytes in line {line}")]
    NotUtf8 {
        /// The requested path.
        path: String,
        /// The first line that cannot be decoded, from 1.
        line: usize,
    },
    /// Invalid UTF-16 after a UTF-16 byte order mark.
    #[error("{path} is damaged UTF-16 text")]
    Utf16 {
        /// The requested path.
        path: String,
    },
    /// A character that the encoding of the file cannot represent.
    #[error("{path} is {encoding} text, which cannot represent {letter:?} (line {line}); nothing was written")]
    Unencodable {
        /// The requested path.
        path: String,
        /// The encoding of the file.
        encoding: &'static str,
        /// The character.
        letter: char,
        /// Its line, from 1.
        line: usize,
    },
    /// The name exists, but contains bytes that are not UTF-8.
    #[error("{path}: this name is not UTF-8 on disk, so the file tools cannot reach it; rename it, or use commands")]
    Unnameable {
        /// The requested path, with replacement characters for those bytes.
        path: String,
    },
    /// More bytes than the operation supports.
    #[error("{path} has {size} bytes, more than the {limit} that can be processed")]
    TooLarge {
        /// The requested path.
        path: String,
        /// Its length in bytes.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// More files than the operation supports.
    #[error("{path} holds more than {limit} files, which is too many")]
    TooMany {
        /// The requested path.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A folder cannot be moved or copied into itself.
    #[error("{path} cannot be moved or copied into itself ({to})")]
    IntoItself {
        /// The requested path.
        path: String,
        /// The destination.
        to: String,
    },
    /// Permission denied.
    #[error("permission denied: {path}")]
    Denied {
        /// The requested path.
        path: String,
    },
    /// A cycle of symbolic links.
    #[error("{path}: its symbolic links form a loop")]
    Loop {
        /// The requested path.
        path: String,
    },
    /// A path with `~`, which only a shell expands.
    #[error("{path}: `~` is not expanded; use an absolute path or a path relative to the project")]
    Tilde {
        /// The requested path.
        path: String,
    },
    /// A NUL byte in a path.
    #[error("{path:?} contains a NUL byte")]
    Nul {
        /// The requested path.
        path: String,
    },
    /// The file has changed since it was read.
    #[error("{path} has changed on disk since it was read")]
    Changed {
        /// The requested path.
        path: String,
    },
    /// The path exists already.
    #[error("{path} already exists")]
    Exists {
        /// The requested path.
        path: String,
    },
    /// An unknown file type.
    #[error("unknown file type {name:?}{}", suggestion(.similar))]
    FileType {
        /// The name.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// An invalid glob.
    #[error("invalid glob {pattern:?}")]
    Glob {
        /// The glob.
        pattern: String,
        /// The parser's error.
        #[source]
        source: globset::Error,
    },
    /// An invalid regular expression.
    #[error("invalid regular expression {pattern:?}: {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// The parser's error, on one line.
        reason: String,
    },
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,
    /// Any other error of the operating system.
    #[error("{path}: {source}")]
    Io {
        /// The requested path.
        path: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Converts an error of the operating system.
    pub(crate) fn from_io(path: impl Into<String>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing {
                path,
                similar: SimilarPaths::default(),
            },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            _ if source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Self::Loop { path },
            _ => Self::Io { path, source },
        }
    }
}

fn suggestion(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}
