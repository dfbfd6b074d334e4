//! What hew prints: text for people, JSON lines for programs, tables.

pub(crate) mod call;
pub(crate) mod closing;
pub(crate) mod events;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod lost;
pub(crate) mod markdown;
pub(crate) mod paint;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod words;

use crate::failure::{Failure, Result};
use lost::Lost;
use std::io::{self, Write};

/// Prints to stdout. A reader who has left, such as `head`, is no mistake.
pub(crate) fn print(text: &str) {
    write(&mut io::stdout().lock(), text);
}

/// Prints to stderr.
pub(crate) fn complain(text: &str) {
    write(&mut io::stderr().lock(), text);
}

/// Prints to stdout and says when that failed, for output that somebody keeps.
pub(crate) fn deliver(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let mut lost = Lost::default();
    lost.note(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    lost.failure().map_or(Ok(()), Err)
}

/// A value as JSON for people to read.
pub(crate) fn pretty(value: &impl serde::Serialize) -> Result<String> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::failed(format!("cannot write JSON: {error}"))),
    }
}

fn write(out: &mut impl Write, text: &str) {
    // There is nobody left to tell when neither stdout nor stderr can be written.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
