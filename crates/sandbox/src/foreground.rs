//! A program of the person's own on their own terminal: an editor.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::{Error, Status};

/// Runs a program that takes over the terminal and the variables of this process, and waits until it ends. It is not confined:
/// the person runs it themselves.
pub async fn foreground(program: &OsStr, args: &[OsString], cwd: &Path) -> Result<Status, Error> {
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
            (Some(code), _) => Status::Exited(code),
            (None, Some(signal)) => Status::Signalled(signal),
            (None, None) => Status::Unknown,
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
    async fn a_program_in_the_foreground_is_waited_for() {
        let run = |line: &str| {
            let args = vec![OsString::from("-c"), OsString::from(line)];
            async move { foreground("sh".as_ref(), &args, Path::new("/")).await.unwrap() }
        };
        assert_eq!(run("exit 3").await, Status::Exited(3));
        assert_eq!(run("kill -9 $$").await, Status::Signalled(9));
    }
}
