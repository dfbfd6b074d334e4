//! Output: text, JSON lines, tables.

pub mod call_line;
pub mod change_list;
pub mod changes_json;
pub mod color;
pub mod format;
pub mod json;
pub mod patch;
pub mod printable;
pub mod status;
pub mod status_line;
pub mod summary;
pub mod table;
pub mod terminal_kind;
pub mod text;
pub mod write_failures;

pub use server::json_events as events;

use crate::failure::{Failure, Result};
use printable::{escape_json, printable};
use std::io::{self, IsTerminal as _, Write};
use write_failures::WriteFailures;

/// Prints to stdout. A closed pipe, such as that of `head`, is not an error.
pub fn print(text: &str) {
    write(&mut io::stdout().lock(), &printable(text));
}

/// Prints to stderr.
pub fn print_stderr(text: &str) {
    write(&mut io::stderr().lock(), &printable(text));
}

/// Prints an error and its hint to stderr.
pub fn print_failure(failure: &Failure) {
    print_stderr(&format!("error: {}\n", failure.message));
    if let Some(hint) = &failure.hint {
        print_stderr(&format!("hint: {hint}\n"));
    }
}

/// Prints to stdout and returns write errors, for output that may be redirected to a file.
pub fn print_checked(text: &str) -> Result<()> {
    write_checked(&printable(text))
}

/// Like [`print_checked`], for patches and exports: they are unchanged unless stdout is a terminal.
pub fn print_document(text: &str) -> Result<()> {
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

/// A value as indented JSON.
pub fn pretty(value: &impl serde::Serialize) -> Result<String> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(escape_json(text) + "\n"),
        Err(error) => Err(Failure::failed(format!("cannot write JSON: {error}"))),
    }
}

fn write(out: &mut impl Write, text: &str) {
    // Nothing can be reported if neither stdout nor stderr is writable.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
