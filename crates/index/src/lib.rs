//! Finds code by symbol: what a file defines, where a name is used, and which definition a line belongs to.
//!
//! Everything works on text that the caller has read, with a tree-sitter grammar chosen by the file's name. [`outline`] and
//! [`mentions`] are bounded in time and size, and a file with syntax errors is answered for as far as it can be read.

mod error;
mod grammar;
mod highlight;
mod kind;
mod language;
mod mention;
mod outline;
mod parse;

pub use error::Error;
pub use highlight::{Token, highlight};
pub use kind::Kind;
pub use language::{Language, languages};
pub use mention::{Mention, Role, mentions};
pub use outline::{Definition, Outline, Part, outline};
pub use parse::MAX_TEXT;
