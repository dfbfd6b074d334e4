//! Runs a program that the user chose, such as an editor, on the terminal.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a program on the user's terminal and waits for its end. It is not confined, so the model must not choose it.
pub fn run_in_terminal<S: AsRef<OsStr>>(program: &OsStr, arguments: &[S], folder: &Path) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).current_dir(folder).status()
}
