//! What can go wrong with a file, in sentences a model or a person can act on.

use std::io;

use rustix::io::Errno;

/// A failed operation on the project's files. Paths are written as the caller would write them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing is there; names that come close are offered.
    #[error("{path} does not exist{}", suggestion(.similar))]
    Missing {
        /// The path asked for.
        path: String,
        /// Up to three existing paths that look like it.
        similar: Vec<String>,
    },
    /// A folder where a file was wanted.
    #[error("{path} is a directory, not a file")]
    Directory {
        /// The path asked for.
        path: String,
    },
    /// A file where a folder was wanted, or in the middle of the path.
    #[error("{path}: a part of this path is a file, not a directory")]
    NotADirectory {
        /// The path asked for.
        path: String,
    },
    /// A device, pipe or socket.
    #[error("{path} is a device, pipe or socket, not a regular file")]
    NotAFile {
        /// The path asked for.
        path: String,
    },
    /// The content is not text.
    #[error("{path} is a binary file ({size} bytes)")]
    Binary {
        /// The path asked for.
        path: String,
        /// Its length in bytes.
        size: u64,
    },
    /// Neither UTF-8 nor another encoding that is read.
    #[error("{path} is not UTF-8 text: invalid bytes in line {line}")]
    NotUtf8 {
        /// The path asked for.
        path: String,
        /// The first line that cannot be decoded, from 1.
        line: usize,
    },
    /// Text that begins with a UTF-16 byte order mark and does not go on like that.
    #[error("{path} is damaged UTF-16 text")]
    Utf16 {
        /// The path asked for.
        path: String,
    },
    /// A letter that the encoding of a file does not have.
    #[error("{path} is {encoding} text, which has no letter for {letter:?} (line {line}); nothing was written")]
    Unfit {
        /// The path asked for.
        path: String,
        /// The encoding of the file.
        encoding: &'static str,
        /// The letter.
        letter: char,
        /// The line that it is in, from 1.
        line: usize,
    },
    /// There is such a name, but with bytes that are not UTF-8.
    #[error("{path}: this name is not UTF-8 on disk, so the file tools cannot reach it; rename it, or use commands")]
    Name {
        /// The path asked for, with marks in the place of those bytes.
        path: String,
    },
    /// More bytes than this operation takes at once.
    #[error("{path} has {size} bytes, more than the {limit} that can be handled at once")]
    TooLarge {
        /// The path asked for.
        path: String,
        /// Its length in bytes.
        size: u64,
        /// The most that would have been taken.
        limit: u64,
    },
    /// More files than this operation takes at once.
    #[error("{path} holds more than {limit} files, more than can be handled at once")]
    TooMany {
        /// The path asked for.
        path: String,
        /// The most that would have been taken.
        limit: usize,
    },
    /// A folder cannot be put into itself.
    #[error("{path} cannot be put into itself ({to})")]
    IntoItself {
        /// The path asked for.
        path: String,
        /// Where it should have gone.
        to: String,
    },
    /// The operating system refused.
    #[error("permission denied: {path}")]
    Denied {
        /// The path asked for.
        path: String,
    },
    /// Symbolic links that lead in a circle.
    #[error("{path}: its symbolic links form a loop")]
    Loop {
        /// The path asked for.
        path: String,
    },
    /// A home directory shorthand, which only a shell expands.
    #[error("{path}: `~` is not expanded here; give a path relative to the project or an absolute one")]
    Tilde {
        /// The path asked for.
        path: String,
    },
    /// A NUL byte, which no path can hold.
    #[error("{path:?} contains a NUL byte, which no path can")]
    Nul {
        /// The path asked for.
        path: String,
    },
    /// The file is not what the caller expected to replace.
    #[error("{path} has changed on disk since it was read")]
    Changed {
        /// The path asked for.
        path: String,
    },
    /// A file is there where none was expected.
    #[error("{path} already exists")]
    Exists {
        /// The path asked for.
        path: String,
    },
    /// A type of file that nobody knows.
    #[error("no file type is called {name:?}{}", suggestion(.similar))]
    FileType {
        /// The name as given.
        name: String,
        /// Names that come close.
        similar: Vec<String>,
    },
    /// A glob that cannot be read.
    #[error("the glob {pattern:?} cannot be read")]
    Glob {
        /// The glob as given.
        pattern: String,
        /// What the parser said.
        #[source]
        source: globset::Error,
    },
    /// A regular expression that cannot be read.
    #[error("the regular expression {pattern:?} cannot be read: {reason}")]
    Regex {
        /// The expression as given.
        pattern: String,
        /// What the parser said, on one line.
        reason: String,
    },
    /// The caller lost interest.
    #[error("cancelled")]
    Cancelled,
    /// Anything else the operating system reported.
    #[error("{path}: {source}")]
    Io {
        /// The path asked for.
        path: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Gives an operating-system error its own kind where there is one.
    pub(crate) fn from_io(path: impl Into<String>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing {
                path,
                similar: Vec::new(),
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
