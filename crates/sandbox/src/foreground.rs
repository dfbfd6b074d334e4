//! Runs an interactive program, such as an editor, on the user's terminal.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::{Error, ProcessStatus};

/// Runs a program with the terminal and environment of this process, and waits for its end. It is not confined, because
/// the user runs it.
pub async fn foreground(program: &OsStr, args: &[OsString], cwd: &Path) -> Result<ProcessStatus, Error> {
    let mut command = tokio::process::Command::new(program);
    command
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    match command.status().await {
        Ok(status) => Ok(match (status.code(), status.signal()) {
            (Some(code), _) => ProcessStatus::Exited(code),
            (None, Some(signal)) => ProcessStatus::Signalled(signal),
            (None, None) => ProcessStatus::Unknown,
        }),
        Err(source) => Err(Error::Start {
            program: program.to_string_lossy().into_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_foreground_program_is_awaited() {
        let run = |line: &str| {
            let args = vec![OsString::from("-c"), OsString::from(line)];
            async move { foreground("sh".as_ref(), &args, Path::new("/")).await.unwrap() }
        };
        assert_eq!(run("exit 3").await, ProcessStatus::Exited(3));
        assert_eq!(run("kill -9 $$").await, ProcessStatus::Signalled(9));
    }
}
