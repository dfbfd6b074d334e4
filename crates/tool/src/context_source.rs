//! The content of files, symbols, pages and so on that a prompt mentions.

use crate::Output;
use futures::future::BoxFuture;
use model::Media;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Reads the content that a prompt mentions.
pub trait ContextSource: Send + Sync {
    /// Reads the content. All access goes through `runner`, which applies the policy.
    fn read<'a>(
        &'a self,
        request: &'a ContextRequest,
        runner: &'a dyn ContextRunner,
    ) -> BoxFuture<'a, Result<ContextFound, ContextError>>;
}

/// Runs tools for a [`ContextSource`], without asking the user for approval.
pub trait ContextRunner: Send + Sync {
    /// Runs a tool if the policy allows it.
    fn run<'a>(&'a self, tool: &'a str, input: Value) -> BoxFuture<'a, Result<ContextOutput, ContextError>>;
}

/// The output of a tool, with the paths that it read.
#[derive(Debug)]
pub struct ContextOutput {
    /// The output.
    pub output: Output,
    /// The paths.
    pub touched: Vec<PathBuf>,
}

/// A mention in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextRequest {
    /// A file or a directory.
    Path(String),
    /// Lines of a file, from 1.
    Lines {
        /// The file.
        path: String,
        /// The lines.
        lines: RangeInclusive<usize>,
    },
    /// The definitions of a symbol.
    Symbol(String),
    /// A web page.
    Url(String),
    /// The changes since the last commit.
    Diff,
    /// The diagnostics of the project.
    Diagnostics,
    /// The code that matches these words by meaning.
    Codebase(String),
}

impl ContextRequest {
    /// The same request for another path.
    pub fn with_path(self, path: String) -> Self {
        match self {
            ContextRequest::Path(_) => ContextRequest::Path(path),
            ContextRequest::Lines { lines, .. } => ContextRequest::Lines { path, lines },
            other @ (ContextRequest::Symbol(_)
            | ContextRequest::Url(_)
            | ContextRequest::Diff
            | ContextRequest::Diagnostics
            | ContextRequest::Codebase(_)) => other,
        }
    }

    /// The path, symbol or URL; empty for the others.
    pub fn name(&self) -> &str {
        match self {
            ContextRequest::Path(name)
            | ContextRequest::Symbol(name)
            | ContextRequest::Url(name)
            | ContextRequest::Codebase(name) => name,
            ContextRequest::Lines { path, .. } => path,
            ContextRequest::Diff | ContextRequest::Diagnostics => "",
        }
    }
}

/// The content of a [`ContextRequest`], with the paths whose rules apply.
#[derive(Debug)]
pub struct ContextFound {
    /// The content.
    pub content: ContextContent,
    /// The paths.
    pub touched: Vec<PathBuf>,
    /// The path that was read, if it is not the requested one.
    pub path: Option<String>,
}

impl ContextFound {
    /// The content of what was requested.
    pub fn new(content: ContextContent, touched: Vec<PathBuf>) -> Self {
        ContextFound {
            content,
            touched,
            path: None,
        }
    }

    /// Content that was found at another path.
    pub fn at(self, path: String) -> Self {
        ContextFound {
            path: Some(path),
            ..self
        }
    }
}

/// The content of a [`ContextRequest`].
#[derive(Debug)]
pub enum ContextContent {
    /// The text of a file, of lines, of a page, of a diff or of diagnostics.
    Text(String),
    /// The entries of a directory, one per line.
    Folder(String),
    /// Images or documents.
    Media(Vec<Media>),
    /// The definitions of a symbol.
    Symbols(Vec<SymbolDefinition>),
}

/// A definition of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolDefinition {
    /// The file.
    pub path: String,
    /// The lines of the definition.
    pub lines: RangeInclusive<usize>,
    /// The text of the lines.
    pub text: String,
}

/// The reason why content could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// The path does not exist, and no similar one does.
    #[error("{0} does not exist")]
    NotFound(String),
    /// It could not be read.
    #[error("{0}")]
    Failed(String),
}
