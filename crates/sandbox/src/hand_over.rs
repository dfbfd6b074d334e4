//! Hands the terminal to a program that the person chose themselves, such as their editor.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a program in the person's own terminal and waits until they are done with it. Nothing confines it: it is theirs, and
/// nothing that a model says may decide what it is.
pub fn hand_over<S: AsRef<OsStr>>(program: &OsStr, arguments: &[S], folder: &Path) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).current_dir(folder).status()
}
