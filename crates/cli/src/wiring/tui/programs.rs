//! Programs that the person runs themselves: a shell line, and their editor.

use super::here::Here;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use sandbox::{Cap, Program, Request, Status};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long a shell line may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How much of what it prints is kept.
const KEPT: Cap = Cap {
    head: 12_000,
    tail: 12_000,
};

/// Runs a line as the person would in their own shell; what it printed, and how it ended if that is not well.
pub(super) async fn shell(line: &str, here: &Here) -> Result<String> {
    let request = Request {
        program: Program::Shell(line.to_owned()),
        cwd: here.root.clone(),
        environment: environment(here),
        timeout: Some(PATIENCE),
        grace: Request::GRACE,
        output: KEPT,
        terminal: None,
    };
    let mut process = sandbox::spawn(&request).map_err(|error| Failure::failed(error.to_string()))?;
    let exit = process.exit().await;
    let mut printed = exit.output.head;
    if exit.output.cut > 0 {
        printed.push_str(&format!("\n… {} bytes left out …\n", exit.output.cut));
    }
    printed.push_str(&exit.output.tail);
    match exit.status {
        Status::Exited(0) => {}
        Status::Exited(code) => printed.push_str(&format!("\n(exit code {code})")),
        Status::Signalled(signal) => printed.push_str(&format!("\n(ended by signal {signal})")),
        Status::TimedOut => printed.push_str(&format!("\n(stopped after {} seconds)", PATIENCE.as_secs())),
        Status::Unknown => printed.push_str("\n(it ended for an unknown reason)"),
    }
    Ok(printed)
}

/// Lets the person write a text in their own editor, on their own terminal.
pub(super) async fn edit(text: &str, here: &Here) -> Result<String> {
    let folder = tempfile::tempdir().map_err(|error| Failure::failed(format!("no place for the text: {error}")))?;
    let file = folder.path().join("prompt.md");
    std::fs::write(&file, text).map_err(|error| Failure::file("write", &file, &error))?;
    open_editor(&file, &here.root, &here.env).await?;
    let edited = std::fs::read_to_string(&file).map_err(|error| Failure::file("read", &file, &error))?;
    Ok(edited.trim_end_matches('\n').to_owned())
}

/// Opens a file in the person's own editor, on their own terminal, and waits until it is closed.
pub(crate) async fn open_editor(file: &Path, folder: &Path, env: &Environment) -> Result<()> {
    let (_, editor) = env.first(["VISUAL", "EDITOR"]).unwrap_or(("", "vi"));
    // The editor may have arguments of its own, and the file may have a space in its path.
    let line = format!("{editor} \"$1\"");
    let args: Vec<OsString> = vec!["-c".into(), line.into(), "sh".into(), file.into()];
    let status = sandbox::foreground("sh".as_ref(), &args, folder).await;
    match status.map_err(|error| Failure::failed(error.to_string()))? {
        Status::Exited(0) => Ok(()),
        _ => Err(Failure::failed(format!(
            "`{editor}` did not end well; the text is as it was"
        ))),
    }
}

/// All of the person's own variables: it is them who run it.
fn environment(here: &Here) -> sandbox::Environment {
    let names: Vec<&String> = here.env.all().keys().collect();
    let variables = here.env.all().iter();
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    sandbox::Environment::scrubbed(variables, &[] as &[&str], &names)
}
