//! Who can answer questions about code better than reading it: a language server.

use std::path::PathBuf;

use futures::future::{BoxFuture, FutureExt as _};

/// Answers questions about code better than reading it can. `None` means that it cannot tell, and others are asked.
pub trait CodeServer: Send + Sync {
    /// Where a symbol is defined.
    fn definition<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>>;

    /// Where a symbol is used.
    fn references<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>>;

    /// What is wrong in a file, or in the whole project.
    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>>;

    /// These files are being looked at, so they will be asked about. Does not wait.
    fn touched(&self, _paths: Vec<PathBuf>) {}

    /// These files were changed by somebody else; a path may be relative to the project. Does not wait.
    fn changed(&self, _paths: Vec<PathBuf>) {}

    /// These files are about to be changed: what is wrong now will not be news.
    fn before(&self, _paths: Vec<PathBuf>) -> BoxFuture<'_, Box<dyn Watch>> {
        std::future::ready(Box::new(NoWatch) as Box<dyn Watch>).boxed()
    }

    /// What is known of a symbol: its type, its documentation.
    fn hover<'a>(&'a self, _symbol: &'a Symbol) -> BoxFuture<'a, Option<String>> {
        std::future::ready(None).boxed()
    }

    /// What files are when a symbol has another name. `Err` says why it cannot be renamed.
    fn rename<'a>(&'a self, _symbol: &'a Symbol, _name: &'a str) -> BoxFuture<'a, Result<Vec<Rewrite>, String>> {
        std::future::ready(Err(NOBODY.into())).boxed()
    }

    /// What can be done at a line of a file, by title, and what files are then.
    fn remedies<'a>(&'a self, _path: &'a PathBuf, _line: usize) -> BoxFuture<'a, Result<Vec<Remedy>, String>> {
        std::future::ready(Err(NOBODY.into())).boxed()
    }

    /// What a file is when it is formatted.
    fn format<'a>(&'a self, _path: &'a PathBuf) -> BoxFuture<'a, Result<Vec<Rewrite>, String>> {
        std::future::ready(Err(NOBODY.into())).boxed()
    }
}

/// Why there is no answer where nobody is there to give it.
const NOBODY: &str = "no language server serves this file";

/// What was known before a change.
pub trait Watch: Send {
    /// What is wrong since then.
    fn news(self: Box<Self>) -> BoxFuture<'static, Vec<Diagnostic>>;
}

/// Nobody watches, so there is no news.
struct NoWatch;

impl Watch for NoWatch {
    fn news(self: Box<Self>) -> BoxFuture<'static, Vec<Diagnostic>> {
        std::future::ready(Vec::new()).boxed()
    }
}

/// A file as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The file.
    pub path: PathBuf,
    /// What it holds now, as far as the server knows.
    pub before: String,
    /// What it is to hold.
    pub after: String,
}

/// Something that can be done about code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// What it does, in a few words.
    pub title: String,
    /// The files that it changes.
    pub rewrites: Vec<Rewrite>,
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
