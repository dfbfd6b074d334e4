//! Prompts, answers, interrupts and settings.

use super::super::api_json::{ApiJson, ApiResult, MAX_PROMPT, ok};
use super::super::backend::WebError;
use super::super::hub::SessionHub;
use super::super::openapi::{ApiRoutes, doc};
use super::super::service::HttpState;
use super::super::types::{
    AnswerBody, AnswerKind, ApprovalScope, AttachmentBody, CompactBody, OperationReport, PromptBody, PromptDelivery,
    SessionSettings, SettingsChange,
};
use super::prompt_commands;
use axum::extract::{Path, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use model::{Media, Message, Part, Role};
use policy::{AccessLevel, GrantScope};
use session::{Answer, Command, Delivery};
use std::sync::Arc;

/// The media types of attachments.
pub(super) const MEDIA_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
/// The maximum number of attachments of a prompt.
const MAX_ATTACHMENTS: usize = 20;

pub(super) fn add(api: &mut ApiRoutes) {
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/prompts",
        doc("Send a prompt, or a slash command; the report of a command has its result")
            .accepts::<PromptBody>()
            .returns::<OperationReport>(),
        prompt,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/interrupt",
        doc("Interrupt the running turn; queued prompts are returned as notices").returns::<OperationReport>(),
        interrupt,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/subtasks/{subtask}/prompts",
        doc("Send a prompt to a running subtask")
            .accepts::<PromptBody>()
            .returns::<OperationReport>(),
        subtask_prompt,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/subtasks/{subtask}/interrupt",
        doc("Stop a running subtask").returns::<OperationReport>(),
        subtask_interrupt,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/continue",
        doc("Continue an interrupted turn").returns::<OperationReport>(),
        continue_turn,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/answers",
        doc("Answer a question; 409 if it is no longer open")
            .accepts::<AnswerBody>()
            .returns::<OperationReport>(),
        answer,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/compact",
        doc("Replace the conversation by a summary")
            .accepts::<CompactBody>()
            .returns::<OperationReport>(),
        compact,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/settings",
        doc("The model, the mode and the permission level").returns::<SessionSettings>(),
        settings,
    );
    api.route(
        Method::PATCH,
        "/api/v1/sessions/{session}/settings",
        doc("Change the model, the mode, the permission level or the effort")
            .accepts::<SettingsChange>()
            .returns::<SessionSettings>(),
        set_settings,
    );
}

async fn prompt(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<PromptBody, MAX_PROMPT>,
) -> ApiResult {
    if body.text.trim().is_empty() && body.attachments.is_empty() {
        return Err(WebError::invalid("the prompt is empty"));
    }
    if body.attachments.len() > MAX_ATTACHMENTS {
        return Err(WebError::invalid(format!(
            "at most {MAX_ATTACHMENTS} files can be attached"
        )));
    }
    let media: Vec<Media> = body.attachments.into_iter().map(decode).collect::<Result<_, _>>()?;
    let hub = state.open(&session).await?;
    if media.is_empty()
        && let Some(report) = prompt_commands::run(&state, &hub, &body.text).await?
    {
        return ok(&report);
    }
    let text = (!body.text.is_empty()).then(|| Part::text(body.text));
    let message = Message {
        role: Role::User,
        parts: text.into_iter().chain(media.into_iter().map(Part::Media)).collect(),
    };
    send_prompt(&hub, message, delivery_of(body.delivery)).await?;
    ok(&OperationReport::default())
}

fn delivery_of(delivery: PromptDelivery) -> Delivery {
    match delivery {
        PromptDelivery::Steer => Delivery::Steer,
        PromptDelivery::Queue => Delivery::Queue,
        PromptDelivery::Interrupt => Delivery::Interrupt,
    }
}

fn decode(attachment: AttachmentBody) -> Result<Media, WebError> {
    let AttachmentBody { mime, name, data } = attachment;
    if !MEDIA_TYPES.contains(&mime.as_str()) {
        return Err(WebError::invalid(format!("files of type `{mime}` cannot be attached")));
    }
    let data = STANDARD.decode(data.as_bytes());
    let data = data.map_err(|error| WebError::invalid(format!("an attachment is not base64: {error}")))?;
    let data = data.into();
    Ok(Media { mime, name, data })
}

/// Sends a prompt after its slash command of an MCP server is expanded.
pub(super) async fn send_prompt(hub: &SessionHub, message: Message, delivery: Delivery) -> Result<(), WebError> {
    let command = Command::Prompt { message, delivery };
    let command = hub.services.expand(command).await?;
    hub.send(command).await
}

async fn interrupt(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    let session = state.find(&session).await?;
    // A session that is not open has no turn.
    if let Some(hub) = state.registry.hub(session) {
        hub.send(Command::Interrupt).await?;
    }
    ok(&OperationReport::default())
}

async fn subtask_prompt(
    State(state): State<Arc<HttpState>>,
    Path((session, subtask)): Path<(String, String)>,
    ApiJson(body): ApiJson<PromptBody, MAX_PROMPT>,
) -> ApiResult {
    if body.text.trim().is_empty() || !body.attachments.is_empty() {
        return Err(WebError::invalid("a subtask accepts text"));
    }
    let message = Message::user(body.text);
    let delivery = delivery_of(body.delivery);
    send_to_subtask(&state, &session, &subtask, Command::Prompt { message, delivery }).await
}

async fn subtask_interrupt(
    State(state): State<Arc<HttpState>>,
    Path((session, subtask)): Path<(String, String)>,
) -> ApiResult {
    send_to_subtask(&state, &session, &subtask, Command::Interrupt).await
}

async fn send_to_subtask(state: &HttpState, session: &str, subtask: &str, command: Command) -> ApiResult {
    let invalid = |_| WebError::invalid(format!("`{subtask}` is no session"));
    let command = Command::Subtask {
        session: subtask.parse().map_err(invalid)?,
        command: Box::new(command),
    };
    state.open(session).await?.send(command).await?;
    ok(&OperationReport::default())
}

async fn continue_turn(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    state.open(&session).await?.send(Command::Continue).await?;
    ok(&OperationReport::default())
}

async fn answer(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<AnswerBody>,
) -> ApiResult {
    let invalid = |_| WebError::invalid(format!("`{}` is no question", body.question));
    let question = body.question.parse().map_err(invalid)?;
    let answer = match body.answer {
        AnswerKind::Approve { scope, rule } => Answer::Approve {
            scope: match scope {
                ApprovalScope::Once => GrantScope::Once,
                ApprovalScope::Session => GrantScope::Session,
                ApprovalScope::Always => GrantScope::Project,
            },
            rule,
        },
        AnswerKind::ApproveNetwork => Answer::ApproveNetwork,
        AnswerKind::Modify { input } => Answer::Modify { input },
        AnswerKind::Reject { reason } => Answer::Reject { reason },
        AnswerKind::Text { text } => Answer::Text { text },
    };
    state.open(&session).await?.answer(question, answer).await?;
    ok(&OperationReport::default())
}

async fn compact(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<CompactBody>,
) -> ApiResult {
    let instructions = body.instructions.filter(|text| !text.trim().is_empty());
    let hub = state.open(&session).await?;
    hub.send(Command::Compact { instructions }).await?;
    ok(&OperationReport::default())
}

async fn settings(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.settings())
}

async fn set_settings(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(change): ApiJson<SettingsChange>,
) -> ApiResult {
    let hub = state.open(&session).await?;
    change_settings(&hub, change).await?;
    ok(&hub.settings())
}

/// Changes settings of a session.
pub(super) async fn change_settings(hub: &SessionHub, change: SettingsChange) -> Result<(), WebError> {
    if let Some(level) = change.permission {
        let level = match level.as_str() {
            "read-only" => AccessLevel::ReadOnly,
            "workspace" => AccessLevel::Workspace,
            "full" => AccessLevel::Full,
            other => return Err(WebError::invalid(format!("there is no permission level `{other}`"))),
        };
        hub.set_level(level).await?;
    }
    if let Some(model) = change.model {
        let window = hub.services.context_window(model.clone()).await?;
        hub.set_model(model, window).await?;
    }
    if let Some(name) = change.mode {
        let modes = hub.services.modes().await?;
        if !modes.iter().any(|mode| mode.name == name) {
            return Err(WebError::invalid(format!("there is no mode `{name}`")));
        }
        hub.send(Command::SetMode { name }).await?;
    }
    if let Some(effort) = change.effort {
        hub.set_effort(&effort).await?;
    }
    if let Some(approval) = change.edit_approval {
        hub.set_edit_approval(approval).await?;
    }
    Ok(())
}
