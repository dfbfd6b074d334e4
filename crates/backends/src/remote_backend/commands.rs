//! Commands of the front end as requests to the server.

use super::client::ServerClient;
use super::follow::SharedSettings;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Effort, Message, Part};
use policy::{AccessLevel, ApprovalMode, GrantScope};
use serde_json::{Value, json};
use session::{Answer, Command, Delivery, Event, NoticeLevel, QuestionId, SessionId};
use tui::UserError;

/// Sends a command.
pub(super) async fn send(
    client: &ServerClient,
    session: SessionId,
    command: Command,
    settings: &SharedSettings,
) -> Result<(), UserError> {
    let path = |rest: &str| format!("/sessions/{session}/{rest}");
    let post = async |rest: &str, body: Value| client.post(&path(rest), &body).await.map(drop);
    match command {
        Command::Prompt { message, delivery } => post("prompts", prompt_body(&message, delivery)).await,
        Command::Interrupt => post("interrupt", json!({})).await,
        Command::Continue => post("continue", json!({})).await,
        Command::Answer { question, answer } => {
            post("answers", answer_body(question, &answer)).await?;
            let is_everywhere = matches!(&answer, Answer::Approve { scope, .. } if *scope == GrantScope::Always);
            match is_everywhere {
                true => Err(UserError::new(
                    "allowed in this project only: a server accepts no rules for all projects",
                )),
                false => Ok(()),
            }
        }
        Command::Compact { instructions } => post("compact", json!({"instructions": instructions})).await,
        Command::Revoke { rule } => post("permissions/revoke", json!({"rule": rule})).await,
        Command::SetModel { name } => change(client, &path("settings"), "model", &name, settings).await,
        Command::SetMode { name } => change(client, &path("settings"), "mode", &name, settings).await,
        Command::SetLevel { level } => {
            let name = match level {
                AccessLevel::ReadOnly => "read-only",
                AccessLevel::Workspace => "workspace",
                AccessLevel::Full => "full",
            };
            change(client, &path("settings"), "permission", name, settings).await
        }
        Command::SetEffort { effort } => {
            let name = effort.map_or("default", effort_name);
            change(client, &path("settings"), "effort", name, settings).await
        }
        Command::SetEditApproval { mode } => {
            let name = match mode {
                ApprovalMode::Ask => "ask",
                ApprovalMode::Allow => "allow",
            };
            let body = json!({"edit_approval": name});
            client.patch(&path("settings"), &body).await.map(drop)
        }
        Command::Subtask {
            session: subtask,
            command,
        } => match *command {
            // The server finds the subtask that asks.
            Command::Answer { question, answer } => post("answers", answer_body(question, &answer)).await,
            Command::Prompt { message, delivery } => {
                post(&format!("subtasks/{subtask}/prompts"), prompt_body(&message, delivery)).await
            }
            Command::Interrupt => post(&format!("subtasks/{subtask}/interrupt"), json!({})).await,
            _ => Err(UserError::new("a subtask can only be answered, steered and stopped")),
        },
        // The server records reviews, rewinds and queued prompts itself.
        Command::Rewind { .. }
        | Command::Record { .. }
        | Command::HoldPrompts { .. }
        | Command::Editor { .. }
        | Command::Finish
        | Command::Close => Ok(()),
    }
}

/// An error as an event for the front end.
pub(super) fn failure(error: &UserError) -> Event {
    Event::Notice {
        level: NoticeLevel::Warning,
        text: match &error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message.clone(),
        },
    }
}

async fn change(
    client: &ServerClient,
    path: &str,
    key: &str,
    value: &str,
    settings: &SharedSettings,
) -> Result<(), UserError> {
    settings.expect(key, if value == "default" { "" } else { value });
    client.patch(path, &json!({key: value})).await.map(drop)
}

fn prompt_body(message: &Message, delivery: Delivery) -> Value {
    let attachments = message.parts.iter().filter_map(|part| match part {
        Part::Media(media) => {
            Some(json!({"mime": media.mime, "name": media.name, "data": STANDARD.encode(&media.data)}))
        }
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
    });
    let delivery = match delivery {
        Delivery::Steer => "steer",
        Delivery::Queue => "queue",
        Delivery::Interrupt => "interrupt",
    };
    json!({"text": message.text(), "attachments": attachments.collect::<Vec<_>>(), "delivery": delivery})
}

fn answer_body(question: QuestionId, answer: &Answer) -> Value {
    let answer = match answer {
        Answer::Approve { scope, rule } => {
            let scope = match scope {
                GrantScope::Once => "once",
                GrantScope::Session => "session",
                GrantScope::Project | GrantScope::Always => "always",
            };
            json!({"type": "approve", "scope": scope, "rule": rule})
        }
        Answer::ApproveNetwork => json!({"type": "approve_network"}),
        Answer::Modify { input } => json!({"type": "modify", "input": input}),
        Answer::Reject { reason } => json!({"type": "reject", "reason": reason}),
        Answer::Text { text } => json!({"type": "text", "text": text}),
    };
    json!({"question": question.to_string(), "answer": answer})
}

fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}
