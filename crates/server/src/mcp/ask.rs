//! Asks whoever is at the other end, where that can be asked.

use rmcp::model::{ElicitRequestParams, ElicitationAction};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Value, json};

/// Asks whether something may happen. No answer means no.
pub(super) async fn allow(peer: &Peer<RoleServer>, question: &str) -> Result<(), String> {
    let field = json!({"type": "boolean", "title": "Allow it?"});
    match ask(peer, question, field).await? {
        Value::Bool(true) => Ok(()),
        _ => Err("The person said no.".into()),
    }
}

/// Asks for words, or for one of these choices.
pub(super) async fn say(peer: &Peer<RoleServer>, question: &str, choices: &[String]) -> Result<String, String> {
    let field = match choices {
        [] => json!({"type": "string", "title": "Answer"}),
        choices => json!({"type": "string", "title": "Answer", "enum": choices}),
    };
    match ask(peer, question, field).await? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    }
}

async fn ask(peer: &Peer<RoleServer>, question: &str, field: Value) -> Result<Value, String> {
    if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        return Err("nobody is there to be asked".into());
    }
    let form = json!({
        "mode": "form",
        "message": question,
        "requestedSchema": {"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    });
    let form: ElicitRequestParams = serde_json::from_value(form).map_err(|error| error.to_string())?;
    let answer = peer.create_elicitation(form).await;
    let answer = answer.map_err(|error| format!("nobody could be asked: {error}"))?;
    match (answer.action, answer.content) {
        (ElicitationAction::Accept, Some(mut content)) => Ok(content["answer"].take()),
        (ElicitationAction::Accept, None) => Err("there was no answer".into()),
        _ => Err("The person said no.".into()),
    }
}
