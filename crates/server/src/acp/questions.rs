//! Asks the user a session's questions through the editor.

use std::sync::Arc;

use acp::schema::{
    CreateElicitationRequest, CreateElicitationResponse, Error, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, ToolCallUpdate,
    ToolCallUpdateFields,
};
use policy::GrantScope;
use serde_json::{Value, json};
use session::{Answer, Question, QuestionSubject};

use super::editor_session::EditorSession;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_SESSION: &str = "allow_session";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// The user's answer.
pub(super) struct EditorAnswer {
    pub(super) answer: Answer,
    /// Whether the question must not be asked again in this session.
    pub(super) forever: bool,
}

/// Asks the user. `shown` describes the call.
pub(super) async fn ask_editor(live: &Arc<EditorSession>, question: &Question, shown: ToolCallUpdate) -> EditorAnswer {
    let answer = match &question.subject {
        QuestionSubject::Permission { reason: why, rules, .. } => permission(live, shown, why, rules).await,
        QuestionSubject::Inquiry {
            question,
            choices,
            multiple: several,
        } => match has_forms(live) {
            true => form(live, question, choices, *several).await,
            false => choice(live, shown, question, choices).await,
        },
    };
    answer.unwrap_or_else(|error| EditorAnswer {
        answer: Answer::Reject {
            reason: Some(format!("the editor could not ask the user: {}", error.message)),
        },
        forever: false,
    })
}

async fn permission(
    live: &EditorSession,
    shown: ToolCallUpdate,
    why: &str,
    rules: &[String],
) -> Result<EditorAnswer, Error> {
    let rule = rules.first();
    let mut options = vec![PermissionOption::new(
        ALLOW_ONCE,
        "Allow",
        PermissionOptionKind::AllowOnce,
    )];
    if let Some(rule) = rule {
        let (session, project) = (
            format!("Allow `{rule}` in this session"),
            format!("Always allow `{rule}`"),
        );
        options.push(PermissionOption::new(
            ALLOW_SESSION,
            session,
            PermissionOptionKind::AllowAlways,
        ));
        options.push(PermissionOption::new(
            ALLOW_ALWAYS,
            project,
            PermissionOptionKind::AllowAlways,
        ));
    }
    options.push(PermissionOption::new(
        REJECT_ONCE,
        "Reject",
        PermissionOptionKind::RejectOnce,
    ));
    options.push(PermissionOption::new(
        REJECT_ALWAYS,
        "Reject, and do not ask again",
        PermissionOptionKind::RejectAlways,
    ));
    let mut meta = serde_json::Map::new();
    meta.insert("why".into(), why.into());
    let request = RequestPermissionRequest::new(live.name.clone(), shown, options).meta(meta);
    let chosen = choose(live, &request).await?;
    let approve = |scope| Answer::Approve {
        scope,
        rule: rule.cloned(),
    };
    let answer = match chosen.as_deref() {
        Some(ALLOW_ONCE) => Answer::once(),
        Some(ALLOW_SESSION) => approve(GrantScope::Session),
        Some(ALLOW_ALWAYS) => approve(GrantScope::Project),
        Some(REJECT_ONCE | REJECT_ALWAYS) => Answer::Reject { reason: None },
        Some(other) => Answer::Reject {
            reason: Some(format!("the editor answered `{other}`, which was not offered")),
        },
        None => Answer::Reject {
            reason: Some("the user cancelled".into()),
        },
    };
    Ok(EditorAnswer {
        answer,
        forever: chosen.as_deref() == Some(REJECT_ALWAYS),
    })
}

/// Lets the user choose; `None` if cancelled.
async fn choose(live: &EditorSession, request: &RequestPermissionRequest) -> Result<Option<String>, Error> {
    let response: RequestPermissionResponse = live.peer.request("session/request_permission", request).await?;
    Ok(match response.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    })
}

/// A question of the model as a permission dialog, which every editor supports.
async fn choice(
    live: &EditorSession,
    shown: ToolCallUpdate,
    question: &str,
    choices: &[(String, Option<String>)],
) -> Result<EditorAnswer, Error> {
    if choices.is_empty() {
        return Ok(EditorAnswer {
            answer: Answer::Reject {
                reason: Some("this editor does not support text questions; ask in your reply and end your turn".into()),
            },
            forever: false,
        });
    }
    let fields = ToolCallUpdateFields::new().title(question.to_owned());
    let shown = ToolCallUpdate::new(shown.tool_call_id, fields);
    let mut options: Vec<PermissionOption> = choices
        .iter()
        .enumerate()
        .map(|(place, (label, _))| {
            PermissionOption::new(
                format!("choice_{place}"),
                label.clone(),
                PermissionOptionKind::AllowOnce,
            )
        })
        .collect();
    options.push(PermissionOption::new(
        REJECT_ONCE,
        "None of these",
        PermissionOptionKind::RejectOnce,
    ));
    let request = RequestPermissionRequest::new(live.name.clone(), shown, options);
    let chosen = choose(live, &request).await?;
    let place = chosen
        .as_deref()
        .and_then(|id| id.strip_prefix("choice_")?.parse::<usize>().ok());
    let answer = match place.and_then(|place| choices.get(place)) {
        Some((label, _)) => Answer::Text { text: label.clone() },
        None => Answer::Reject { reason: None },
    };
    Ok(EditorAnswer { answer, forever: false })
}

fn has_forms(live: &EditorSession) -> bool {
    let elicitation = live.client.elicitation.as_ref();
    elicitation.is_some_and(|elicitation| elicitation.form.is_some())
}

/// A question of the model as a form.
async fn form(
    live: &EditorSession,
    question: &str,
    choices: &[(String, Option<String>)],
    several: bool,
) -> Result<EditorAnswer, Error> {
    let titled = |(label, about): &(String, Option<String>)| {
        let title = about
            .as_ref()
            .map_or(label.clone(), |about| format!("{label}: {about}"));
        json!({"const": label, "title": title})
    };
    let titled: Vec<Value> = choices.iter().map(titled).collect();
    let field = match (choices, several) {
        ([], _) => json!({"type": "string", "title": "Answer"}),
        (_, false) => json!({"type": "string", "title": "Answer", "oneOf": titled}),
        (_, true) => json!({"type": "array", "title": "Answer", "items": {"anyOf": titled}}),
    };
    let form = json!({
        "mode": "form",
        "sessionId": live.name,
        "message": question,
        "requestedSchema": {"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    });
    let form: CreateElicitationRequest = serde_json::from_value(form).map_err(Error::into_internal_error)?;
    let response: CreateElicitationResponse = live.peer.request("elicitation/create", &form).await?;
    let response = serde_json::to_value(response).unwrap_or_default();
    let answer = match (response["action"].as_str(), &response["content"]["answer"]) {
        (Some("accept"), Value::String(text)) => Answer::Text { text: text.clone() },
        (Some("accept"), Value::Array(all)) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            Answer::Text { text: all.join(", ") }
        }
        _ => Answer::Reject { reason: None },
    };
    Ok(EditorAnswer { answer, forever: false })
}
