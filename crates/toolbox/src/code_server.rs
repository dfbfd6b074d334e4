//! Who can answer questions about code better than reading it: a language server.

use std::path::PathBuf;

use futures::future::BoxFuture;

/// Answers questions about code better than reading it can. `None` means that it cannot tell, and others are asked.
pub trait CodeServer: Send + Sync {
    /// Where a symbol is defined.
    fn definition<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>>;

    /// Where a symbol is used.
    fn references<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>>;

    /// What is wrong in a file, or in the whole project.
    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>>;
}

/// A name in the code, and where it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name, perhaps with what it belongs to: `Parser::next`.
    pub name: String,
    /// A file in which it stands.
    pub path: Option<PathBuf>,
    /// A line of that file, from 1.
    pub line: Option<usize>,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// Something that is wrong in the code, or could be better.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// How bad it is; the worst comes first.
    pub severity: Severity,
    /// The file, as the program that found it names it.
    pub path: String,
    /// The line, from 1; 0 where there is none.
    pub line: usize,
    /// The column, from 1; 0 where there is none.
    pub column: usize,
    /// What kind of thing it is, such as `E0308`.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It may not work.
    Warning,
    /// It works.
    Note,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}
