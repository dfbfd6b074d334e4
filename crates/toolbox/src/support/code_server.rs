//! The interface to language servers.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};

/// Answers questions about code. `None` means that the server cannot answer, and the code is searched instead.
pub trait CodeServer: Send + Sync {
    /// Finds the definitions of a symbol.
    fn definition<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>>;

    /// Finds the uses of a symbol.
    fn references<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>>;

    /// Diagnostics of a file, or of the project.
    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>>;

    /// Announces that files were read, so that the server loads them. Does not wait.
    fn opened(&self, _paths: Vec<PathBuf>) {}

    /// Announces that files were changed; paths may be relative to the project. Does not wait.
    fn changed(&self, _paths: Vec<PathBuf>) {}

    /// Records the diagnostics of files that are about to change.
    fn baseline(&self, _paths: Vec<PathBuf>) -> BoxFuture<'_, Box<dyn DiagnosticsBaseline>> {
        std::future::ready(Box::new(EmptyBaseline) as Box<dyn DiagnosticsBaseline>).boxed()
    }

    /// The type and documentation of a symbol.
    fn hover<'a>(&'a self, _symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<String>> {
        std::future::ready(None).boxed()
    }

    /// Renames a symbol and returns the changed files.
    fn rename<'a>(
        &'a self,
        _symbol: &'a SymbolQuery,
        _name: &'a str,
    ) -> BoxFuture<'a, Result<Vec<FileRewrite>, CodeServerError>> {
        std::future::ready(Err(CodeServerError::NoServer)).boxed()
    }

    /// The quick fixes for a line of a file.
    fn quick_fixes<'a>(
        &'a self,
        _path: &'a PathBuf,
        _line: usize,
    ) -> BoxFuture<'a, Result<Vec<QuickFix>, CodeServerError>> {
        std::future::ready(Err(CodeServerError::NoServer)).boxed()
    }

    /// Formats a file and returns the changes.
    fn format<'a>(&'a self, _path: &'a PathBuf) -> BoxFuture<'a, Result<Vec<FileRewrite>, CodeServerError>> {
        std::future::ready(Err(CodeServerError::NoServer)).boxed()
    }
}

/// Why a language server changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeServerError {
    /// No server handles the file.
    #[error("no language server supports this file, or it is still starting")]
    NoServer,
    /// The symbol was not found.
    #[error("{0} is not in the code of this project")]
    UnknownSymbol(String),
    /// The server failed.
    #[error("{0}")]
    Failed(String),
}

impl From<CodeServerError> for tool::Error {
    fn from(error: CodeServerError) -> Self {
        tool::Error::Failed(error.to_string())
    }
}

/// Maximum bytes of a message.
const MAX_MESSAGE: usize = 500;

/// The diagnostics before a change.
pub trait DiagnosticsBaseline: Send {
    /// The diagnostics that are new since then.
    fn new_diagnostics(self: Box<Self>) -> BoxFuture<'static, NewDiagnostics>;
}

/// The diagnostics that are new since a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewDiagnostics {
    /// The diagnostics.
    pub found: Vec<Diagnostic>,
    /// Servers that did not respond in time, and for how long they were awaited.
    pub unresponsive: Vec<(String, Duration)>,
}

/// A baseline without a language server.
struct EmptyBaseline;

impl DiagnosticsBaseline for EmptyBaseline {
    fn new_diagnostics(self: Box<Self>) -> BoxFuture<'static, NewDiagnostics> {
        std::future::ready(NewDiagnostics::default()).boxed()
    }
}

/// A change of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRewrite {
    /// The file.
    pub path: PathBuf,
    /// The current content as known to the server.
    pub before: String,
    /// The new content.
    pub after: String,
}

/// A quick fix or refactoring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuickFix {
    /// The title.
    pub title: String,
    /// The changed files.
    pub rewrites: Vec<FileRewrite>,
}

/// A symbol to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolQuery {
    /// The name, optionally qualified: `Parser::next`.
    pub name: String,
    /// A file that contains it.
    pub path: Option<PathBuf>,
    /// A line of that file, from 1.
    pub line: Option<usize>,
}

/// A location in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLocation {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The severity; sorts first.
    pub severity: DiagnosticSeverity,
    /// The file, as named by its source.
    pub path: String,
    /// The line, from 1; 0 if unknown.
    pub line: usize,
    /// The column, from 1; 0 if unknown.
    pub column: usize,
    /// The code, such as `E0308`.
    pub code: Option<String>,
    /// The message.
    pub message: String,
}

impl Diagnostic {
    /// `src/main.rs:3:5 error E0308: mismatched types`.
    pub(crate) fn render(&self) -> String {
        let place = match (self.line, self.column) {
            (0, _) => self.path.clone(),
            (line, 0) => format!("{}:{line}", self.path),
            (line, column) => format!("{}:{line}:{column}", self.path),
        };
        let code = self.code.iter().map(|code| format!(" {code}")).collect::<String>();
        let message = &self.message;
        let shown = match message.len() > MAX_MESSAGE {
            true => format!("{}…", &message[..message.floor_char_boundary(MAX_MESSAGE)]),
            false => message.clone(),
        };
        format!("{place} {}{code}: {shown}\n", self.severity.word())
    }
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosticSeverity {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A note.
    Note,
}

impl DiagnosticSeverity {
    /// The severity as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}
