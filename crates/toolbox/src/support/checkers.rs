//! Compilers and checkers as sources of diagnostics.

pub(crate) mod parse;
pub(crate) mod select;
