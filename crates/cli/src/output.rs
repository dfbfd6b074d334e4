//! Output: text, JSON lines, tables.

pub(crate) mod call_line;
pub(crate) mod color;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod printable;
pub(crate) mod status;
pub(crate) mod status_line;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod write_failures;

pub(crate) use server::json_events as events;

use crate::failure::{Failure, Result};
use printable::{escape_json, printable};
use std::io::{self, IsTerminal as _, Write};
use write_failures::WriteFailures;

/// Prints to stdout. A reader who has left, such as `head`, is no mistake.
pub(crate) fn print(text: &str) {
    write(&mut io::stdout().lock(), &printable(text));
}

/// Prints to stderr.
pub(crate) fn print_stderr(text: &str) {
    write(&mut io::stderr().lock(), &printable(text));
}

/// Prints an error and its hint to stderr.
pub(crate) fn print_failure(failure: &Failure) {
    print_stderr(&format!("error: {}\n", failure.message));
    if let Some(hint) = &failure.hint {
        print_stderr(&format!("hint: {hint}\n"));
    }
}

/// Prints to stdout and returns write errors, for output that may be redirected to a file.
pub(crate) fn print_checked(text: &str) -> Result<()> {
    write_checked(&printable(text))
}

/// Like [`print_checked`], for patches and exports: they are unchanged unless stdout is a terminal.
pub(crate) fn print_document(text: &str) -> Result<()> {
    match io::stdout().is_terminal() {
        true => print_checked(text),
        false => write_checked(text),
    }
}

fn write_checked(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let mut lost = WriteFailures::default();
    lost.note(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    lost.failure().map_or(Ok(()), Err)
}

/// A value as JSON for people to read.
pub(crate) fn pretty(value: &impl serde::Serialize) -> Result<String> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(escape_json(text) + "\n"),
        Err(error) => Err(Failure::failed(format!("cannot write JSON: {error}"))),
    }
}

fn write(out: &mut impl Write, text: &str) {
    // Nothing can be reported if neither stdout nor stderr is writable.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
