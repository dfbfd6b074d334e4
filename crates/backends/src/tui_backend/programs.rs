//! Programs that the user runs: shell commands and the editor.

use super::backend_context::BackendContext;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use host::program::user_environment;
use sandbox::{CaptureCap, ProcessRequest, ProcessStatus, Program};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tui::GoalCheck;

/// The time limit of a shell command.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum stored output.
const OUTPUT: CaptureCap = CaptureCap {
    head: 12_000,
    tail: 12_000,
};

/// Runs a command of this program. Returns its output.
pub(super) async fn hew(arguments: &[String], here: &BackendContext) -> Result<String> {
    let program = std::env::current_exe().map_err(|error| Failure::failed(error.to_string()))?;
    let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let words = std::iter::once(program.display().to_string()).chain(arguments.iter().cloned());
    let line: Vec<String> = words.map(|word| quote(&word)).collect();
    shell(&format!("{} 2>&1", line.join(" ")), here).await
}

/// Runs a shell command with the user's environment. Returns its output, and how it ended if it failed.
pub(super) async fn shell(line: &str, here: &BackendContext) -> Result<String> {
    Ok(check(line, here).await?.output)
}

/// Runs a shell command with the user's environment. Returns whether it succeeded, and its output.
pub(super) async fn check(line: &str, here: &BackendContext) -> Result<GoalCheck> {
    let request = ProcessRequest {
        program: Program::Shell(line.to_owned()),
        cwd: here.root.clone(),
        environment: user_environment(&here.env),
        timeout: Some(TIMEOUT),
        grace: ProcessRequest::GRACE,
        output: OUTPUT,
        terminal: None,
    };
    let mut process = sandbox::spawn(&request).map_err(|error| Failure::failed(error.to_string()))?;
    let exit = process.exit().await;
    let mut printed = exit.output.head;
    if exit.output.omitted_bytes > 0 {
        printed.push_str(&format!("\n… {} bytes omitted …\n", exit.output.omitted_bytes));
    }
    printed.push_str(&exit.output.tail);
    match exit.status {
        ProcessStatus::Exited(0) => {}
        ProcessStatus::Exited(code) => printed.push_str(&format!("\n(exit code {code})")),
        ProcessStatus::Signalled(signal) => printed.push_str(&format!("\n(ended by signal {signal})")),
        ProcessStatus::TimedOut => printed.push_str(&format!("\n(stopped after {} seconds)", TIMEOUT.as_secs())),
        ProcessStatus::Unknown => printed.push_str("\n(it ended for an unknown reason)"),
    }
    Ok(GoalCheck {
        passed: exit.status == ProcessStatus::Exited(0),
        output: printed,
    })
}

/// A temporary directory that is hidden from commands, unlike those in the system's temporary directory.
pub(super) fn private_folder(here: &BackendContext) -> std::io::Result<tempfile::TempDir> {
    let data = host::paths::data_dir(&here.env).map_err(|failure| std::io::Error::other(failure.message))?;
    let folder = data.join(host::confinement::COMPOSER_DIR);
    std::fs::create_dir_all(&folder)?;
    tempfile::tempdir_in(folder)
}

/// Opens a text in the user's editor and returns the edited text.
pub(super) async fn edit(text: &str, here: &BackendContext) -> Result<String> {
    let made = private_folder(here);
    let folder = made.map_err(|error| Failure::failed(format!("cannot create a temporary file: {error}")))?;
    let file = folder.path().join("prompt.md");
    std::fs::write(&file, text).map_err(|error| Failure::file("write", &file, &error))?;
    open_editor(&file, &here.root, &here.env).await?;
    let edited = std::fs::read_to_string(&file).map_err(|error| Failure::file("read", &file, &error))?;
    Ok(edited.trim_end_matches('\n').to_owned())
}

/// Opens a file of the project, or one with an absolute path, in the user's editor; creates its folder.
pub(super) async fn edit_file(path: &Path, here: &BackendContext) -> Result<()> {
    let path = here.root.join(path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file("create", folder, &error))?;
    }
    open_editor(&path, &here.root, &here.env).await
}

/// Opens a file in the user's editor on the terminal and waits until it is closed.
pub async fn open_editor(file: &Path, folder: &Path, env: &ProcessEnv) -> Result<()> {
    let (_, editor) = env.first(["VISUAL", "EDITOR"]).unwrap_or(("", "vi"));
    // The editor may have arguments, and the path may contain spaces.
    let line = format!("{editor} \"$1\"");
    let args: Vec<OsString> = vec!["-c".into(), line.into(), "sh".into(), file.into()];
    let status = sandbox::foreground("sh".as_ref(), &args, folder).await;
    match status.map_err(|error| Failure::failed(error.to_string()))? {
        ProcessStatus::Exited(0) => Ok(()),
        _ => Err(Failure::failed(format!("`{editor}` failed; the text is unchanged"))),
    }
}
