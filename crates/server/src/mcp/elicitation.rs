//! Asks the client's user, if the client supports elicitation.

use rmcp::model::{ElicitRequestParams, ElicitationAction};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Value, json};

/// Why the user did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ElicitationError {
    #[error("The user declined.")]
    Declined,
    #[error("the client does not support elicitation")]
    Unsupported,
    #[error("there was no answer")]
    NoAnswer,
    #[error("cannot ask the user: {0}")]
    Failed(String),
}

/// Asks for permission. No answer means no.
pub(super) async fn ask_permission(peer: &Peer<RoleServer>, question: &str) -> Result<(), ElicitationError> {
    let field = json!({"type": "boolean", "title": "Allow?"});
    match ask(peer, question, field).await? {
        Value::Bool(true) => Ok(()),
        _ => Err(ElicitationError::Declined),
    }
}

/// Asks for text, or for one of the choices.
pub(super) async fn ask_text(
    peer: &Peer<RoleServer>,
    question: &str,
    choices: &[String],
) -> Result<String, ElicitationError> {
    let field = match choices {
        [] => json!({"type": "string", "title": "Answer"}),
        choices => json!({"type": "string", "title": "Answer", "enum": choices}),
    };
    match ask(peer, question, field).await? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    }
}

async fn ask(peer: &Peer<RoleServer>, question: &str, field: Value) -> Result<Value, ElicitationError> {
    if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        return Err(ElicitationError::Unsupported);
    }
    let form = json!({
        "mode": "form",
        "message": question,
        "requestedSchema": {"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    });
    let form: ElicitRequestParams =
        serde_json::from_value(form).map_err(|error| ElicitationError::Failed(error.to_string()))?;
    let answer = peer.create_elicitation(form).await;
    let answer = answer.map_err(|error| ElicitationError::Failed(error.to_string()))?;
    match (answer.action, answer.content) {
        (ElicitationAction::Accept, Some(mut content)) => Ok(content["answer"].take()),
        (ElicitationAction::Accept, None) => Err(ElicitationError::NoAnswer),
        _ => Err(ElicitationError::Declined),
    }
}
