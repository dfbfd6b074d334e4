//! Questions of a session, put to the person through their editor.

use std::sync::Arc;

use acp::schema::{
    CreateElicitationRequest, CreateElicitationResponse, Error, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, ToolCallUpdate,
    ToolCallUpdateFields,
};
use policy::Scope;
use serde_json::{Value, json};
use session::{Answer, Question, Subject};

use super::live::Live;

const ONCE: &str = "allow_once";
const SESSION: &str = "allow_session";
const PROJECT: &str = "allow_always";
const NO: &str = "reject_once";
const NEVER: &str = "reject_always";

/// What the person said.
pub(super) struct Said {
    pub(super) answer: Answer,
    /// Whether the same shall never be asked again in this session.
    pub(super) forever: bool,
}

/// Asks. `shown` is what the editor knows of the call.
pub(super) async fn ask(live: &Arc<Live>, question: &Question, shown: ToolCallUpdate) -> Said {
    let answer = match &question.subject {
        Subject::Permission { why, rules, .. } => permission(live, shown, why, rules).await,
        Subject::Inquiry {
            question,
            choices,
            several,
        } => match has_forms(live) {
            true => form(live, question, choices, *several).await,
            false => choice(live, shown, question, choices).await,
        },
    };
    answer.unwrap_or_else(|error| Said {
        answer: Answer::Reject {
            reason: Some(format!("the editor could not ask: {}", error.message)),
        },
        forever: false,
    })
}

async fn permission(live: &Live, shown: ToolCallUpdate, why: &str, rules: &[String]) -> Result<Said, Error> {
    let rule = rules.first();
    let mut options = vec![PermissionOption::new(ONCE, "Allow", PermissionOptionKind::AllowOnce)];
    if let Some(rule) = rule {
        let (session, project) = (
            format!("Allow `{rule}` in this session"),
            format!("Always allow `{rule}`"),
        );
        options.push(PermissionOption::new(
            SESSION,
            session,
            PermissionOptionKind::AllowAlways,
        ));
        options.push(PermissionOption::new(
            PROJECT,
            project,
            PermissionOptionKind::AllowAlways,
        ));
    }
    options.push(PermissionOption::new(NO, "Reject", PermissionOptionKind::RejectOnce));
    options.push(PermissionOption::new(
        NEVER,
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
        Some(ONCE) => Answer::once(),
        Some(SESSION) => approve(Scope::Session),
        Some(PROJECT) => approve(Scope::Project),
        Some(NO | NEVER) => Answer::Reject { reason: None },
        Some(other) => Answer::Reject {
            reason: Some(format!("the editor answered `{other}`, which was not offered")),
        },
        None => Answer::Reject {
            reason: Some("the person cancelled".into()),
        },
    };
    Ok(Said {
        answer,
        forever: chosen.as_deref() == Some(NEVER),
    })
}

/// Lets the person choose; `None` where they cancel.
async fn choose(live: &Live, request: &RequestPermissionRequest) -> Result<Option<String>, Error> {
    let response: RequestPermissionResponse = live.peer.ask("session/request_permission", request).await?;
    Ok(match response.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    })
}

/// A question of the model, by the only dialog that every editor has.
async fn choice(
    live: &Live,
    shown: ToolCallUpdate,
    question: &str,
    choices: &[(String, Option<String>)],
) -> Result<Said, Error> {
    if choices.is_empty() {
        return Ok(Said {
            answer: Answer::Reject {
                reason: Some("this editor cannot ask for words; ask in your reply, and end your turn there".into()),
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
        NO,
        "None of these",
        PermissionOptionKind::RejectOnce,
    ));
    let request = RequestPermissionRequest::new(live.name.clone(), shown, options);
    let chosen = choose(live, &request).await?;
    let place = chosen
        .as_deref()
        .and_then(|id| id.strip_prefix("choice_")?.parse::<usize>().ok());
    let answer = match place.and_then(|place| choices.get(place)) {
        Some((label, _)) => Answer::Say { text: label.clone() },
        None => Answer::Reject { reason: None },
    };
    Ok(Said { answer, forever: false })
}

fn has_forms(live: &Live) -> bool {
    let elicitation = live.client.elicitation.as_ref();
    elicitation.is_some_and(|elicitation| elicitation.form.is_some())
}

/// A question of the model, as a form.
async fn form(live: &Live, question: &str, choices: &[(String, Option<String>)], several: bool) -> Result<Said, Error> {
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
    let response: CreateElicitationResponse = live.peer.ask("elicitation/create", &form).await?;
    let response = serde_json::to_value(response).unwrap_or_default();
    let answer = match (response["action"].as_str(), &response["content"]["answer"]) {
        (Some("accept"), Value::String(text)) => Answer::Say { text: text.clone() },
        (Some("accept"), Value::Array(all)) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            Answer::Say { text: all.join(", ") }
        }
        _ => Answer::Reject { reason: None },
    };
    Ok(Said { answer, forever: false })
}
