//! Finds code by symbol: the definitions of a file, the uses of a name, and the definition that contains a line.
//!
//! All functions work on text read by the caller, with a tree-sitter grammar selected by the file name. [`outline`] and
//! [`mentions`] are limited in time and size, and files with syntax errors are analysed as far as possible.

mod error;
mod grammar;
mod highlight;
mod kind;
mod language;
mod mention;
mod outline;
mod parse;

pub use error::Error;
pub use highlight::{HighlightKind, highlight};
pub use kind::SymbolKind;
pub use language::{Language, languages};
pub use mention::{MentionRole, NameMention, mentions};
pub use outline::{Outline, OutlineCoverage, OutlineDefinition, outline};
pub use parse::MAX_TEXT;
pub mod search;
