//! Built-in slash commands that are sent as prompts.

use super::super::backend::{WebError, WebErrorKind};
use super::super::hub::SessionHub;
use super::super::service::HttpState;
use super::super::types::{ConflictResolution, OperationReport, RestoreOperation, RestoreOrder, SettingsChange};
use super::{prompt_routes, review_routes, session_routes};
use session::Command;

/// Commands that the session or the server executes. The others belong to the terminal; the API has paths for their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerCommand {
    /// It is replaced by a prompt.
    Expanded,
    Compact,
    Continue,
    Doctor,
    Fork,
    Rename,
    Undo,
    Redo,
    Model,
    Mode,
    Effort,
}

fn command(name: &str) -> Option<ServerCommand> {
    Some(match name {
        "init" | "review" => ServerCommand::Expanded,
        "compact" => ServerCommand::Compact,
        "continue" => ServerCommand::Continue,
        "doctor" => ServerCommand::Doctor,
        "fork" => ServerCommand::Fork,
        "rename" => ServerCommand::Rename,
        "undo" => ServerCommand::Undo,
        "redo" => ServerCommand::Redo,
        "model" => ServerCommand::Model,
        "mode" => ServerCommand::Mode,
        "effort" => ServerCommand::Effort,
        _ => return None,
    })
}

/// Whether a built-in command can be sent as a prompt.
pub(super) fn can_run(name: &str) -> bool {
    command(name).is_some()
}

/// Runs a prompt that is a built-in command; `None` for any other prompt.
pub(super) async fn run(state: &HttpState, hub: &SessionHub, text: &str) -> Result<Option<OperationReport>, WebError> {
    let Some(line) = text.strip_prefix('/') else {
        return Ok(None);
    };
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let arguments = arguments.trim();
    let rows = hub.services.commands().await?;
    let row = rows
        .iter()
        .find(|row| row.name == name || row.aliases.iter().any(|alias| alias == name));
    let Some(row) = row.filter(|row| row.built_in) else {
        return Ok(None);
    };
    let Some(command) = command(&row.name) else {
        let message = format!("/{name} is a command of the terminal");
        let mut error = WebError::new(WebErrorKind::Invalid, message);
        error.hint = Some("`GET /api/v1/openapi.json` lists the paths with its data".into());
        return Err(error);
    };
    let needs_argument = matches!(
        command,
        ServerCommand::Rename | ServerCommand::Model | ServerCommand::Mode | ServerCommand::Effort
    );
    if arguments.is_empty() && needs_argument {
        return Err(WebError::invalid(format!("usage: /{} {}", row.name, row.arguments)));
    }
    let message = match command {
        ServerCommand::Expanded => return Ok(None),
        ServerCommand::Compact => {
            let instructions = (!arguments.is_empty()).then(|| arguments.to_owned());
            hub.send(Command::Compact { instructions }).await?;
            String::new()
        }
        ServerCommand::Continue => {
            hub.send(Command::Continue).await?;
            String::new()
        }
        ServerCommand::Doctor => return Ok(Some(hub.services.doctor().await?)),
        ServerCommand::Fork => {
            let copy = state.registry.backend.fork(hub.id, None).await?;
            format!("copied to the session {copy}")
        }
        ServerCommand::Rename => {
            session_routes::set_title(state, hub.id, arguments).await?;
            format!("renamed to “{arguments}”")
        }
        ServerCommand::Undo => restore(hub, RestoreOperation::Undo).await?,
        ServerCommand::Redo => restore(hub, RestoreOperation::Redo).await?,
        ServerCommand::Model => {
            let model = Some(arguments.to_owned());
            let change = SettingsChange {
                model,
                ..SettingsChange::default()
            };
            prompt_routes::change_settings(hub, change).await?;
            format!("model: {arguments}")
        }
        ServerCommand::Mode => {
            let mode = Some(arguments.to_owned());
            let change = SettingsChange {
                mode,
                ..SettingsChange::default()
            };
            prompt_routes::change_settings(hub, change).await?;
            format!("mode: {arguments}")
        }
        ServerCommand::Effort => {
            let effort = Some(arguments.to_owned());
            let change = SettingsChange {
                effort,
                ..SettingsChange::default()
            };
            prompt_routes::change_settings(hub, change).await?;
            format!("effort: {arguments}")
        }
    };
    Ok(Some(OperationReport { message }))
}

/// Restores files and describes the result.
async fn restore(hub: &SessionHub, operation: RestoreOperation) -> Result<String, WebError> {
    let conflicts = ConflictResolution::Report;
    let report = review_routes::restore_files(hub, RestoreOrder { operation, conflicts }).await?;
    Ok(match report.conflicts.as_slice() {
        [] => report.message,
        conflicts => format!("{}: {}", report.message, conflicts.join("; ")),
    })
}
