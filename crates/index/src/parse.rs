//! Parsing with limits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::{Error, Language};

/// The maximum length of a text. Only generated files are longer.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;

/// Parses a text, or fails after the time limit.
pub(crate) fn parse(language: &'static Language, text: &str, limit: Duration) -> Result<Tree, Error> {
    if text.len() > MAX_TEXT {
        return Err(Error::TooLarge {
            size: text.len(),
            limit: MAX_TEXT,
        });
    }
    let mut parser = Parser::new();
    parser
        .set_language(&language.compiled()?.language)
        .map_err(|error| Error::Grammar {
            language: language.name,
            reason: error.to_string(),
        })?;
    let deadline = Instant::now().checked_add(limit);
    let mut in_time = |_: &_| match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let bytes = text.as_bytes();
    parser
        .parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
        .ok_or(Error::TooSlow { limit })
}
