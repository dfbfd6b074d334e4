//! Repairs a transcript so that each call is followed by exactly one result, as every provider requires.
//!
//! Crashes, interruptions and prompts in between leave calls without results, results without calls, duplicates, and
//! results in completion order. The log keeps all of that; the model sees the repaired form.

use model::{Block, CallId, Message, Part, Role, ToolOutcome};
use std::collections::HashMap;
use std::sync::Arc;

/// Placeholder for the lost result of a call.
const LOST_RESULT: &str = "The result of this call was lost before it could be stored. The call may or may not have taken effect: check before repeating it.";

/// Returns the messages with calls and results paired, in the order of the calls.
pub(crate) fn repair(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut out = Vec::with_capacity(messages.len() + 1);
    let mut rest = messages.into_iter().peekable();
    while let Some(message) = rest.next() {
        match message.role {
            Role::Assistant => {
                if !message.parts.iter().any(is_call) {
                    out.push(message);
                    continue;
                }
                // Everything up to the next reply belongs to this step.
                let mut step = Vec::new();
                while let Some(next) = rest.next_if(|next| next.role == Role::User) {
                    step.push(next);
                }
                if is_in_order(&message, &step) {
                    out.push(message);
                    out.append(&mut step);
                } else {
                    let calls = calls(&message);
                    out.push(message);
                    push_results(calls, step, &mut out);
                }
            }
            Role::User => out.extend(without_results(message)),
        }
    }
    out
}

/// Whether each call has one result, in order, and only text follows: the usual case, detected without copying.
fn is_in_order(message: &Message, step: &[Arc<Message>]) -> bool {
    let mut rest = step.iter();
    for part in &message.parts {
        let Part::ToolCall { id, .. } = part else { continue };
        match rest.next().map(|result| result.parts.as_slice()) {
            Some([Part::ToolResult { id: answered, .. }]) if answered == id => {}
            Some(_) | None => return false,
        }
    }
    rest.all(|message| !message.parts.iter().any(is_result))
}

fn is_call(part: &Part) -> bool {
    matches!(part, Part::ToolCall { .. })
}

fn is_result(part: &Part) -> bool {
    matches!(part, Part::ToolResult { .. })
}

/// Appends one result per call, in the order of the calls, then everything else.
fn push_results(calls: Vec<(CallId, String)>, step: Vec<Arc<Message>>, out: &mut Vec<Arc<Message>>) {
    let mut results: HashMap<CallId, Arc<Message>> = HashMap::new();
    let mut others = Vec::new();
    for message in step {
        match result_of(&message) {
            Some(id) => {
                results.entry(id).or_insert(message);
            }
            None => others.extend(without_results(message)),
        }
    }
    for (id, name) in calls {
        let result = results.remove(&id).unwrap_or_else(|| Arc::new(lost_result(id, name)));
        out.push(result);
    }
    out.append(&mut others);
}

/// Returns the call that a message answers if it consists of one result: the only form in which results are stored.
fn result_of(message: &Message) -> Option<CallId> {
    match message.parts.as_slice() {
        [Part::ToolResult { id, .. }] => Some(id.clone()),
        _ => None,
    }
}

/// Removes stray results from a message; `None` if nothing remains.
fn without_results(message: Arc<Message>) -> Option<Arc<Message>> {
    if !message.parts.iter().any(is_result) {
        return Some(message);
    }
    let parts: Vec<Part> = message.parts.iter().filter(|part| !is_result(part)).cloned().collect();
    (!parts.is_empty()).then(|| {
        Arc::new(Message {
            role: message.role,
            parts,
        })
    })
}

fn calls(message: &Message) -> Vec<(CallId, String)> {
    message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, name, .. } => Some((id.clone(), name.clone())),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
        })
        .collect()
}

fn lost_result(id: CallId, name: String) -> Message {
    let part = Part::ToolResult {
        id,
        name,
        content: vec![Block::text(LOST_RESULT)],
        outcome: ToolOutcome::Error,
    };
    Message {
        role: Role::User,
        parts: vec![part],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(ids: &[&str]) -> Arc<Message> {
        let parts = ids
            .iter()
            .map(|id| Part::ToolCall {
                id: (*id).into(),
                name: "f".into(),
                input: json!({}),
                malformed: None,
                replay: None,
            })
            .collect();
        Arc::new(Message {
            role: Role::Assistant,
            parts,
        })
    }

    fn result(id: &str, text: &str) -> Arc<Message> {
        let content = vec![Block::text(text)];
        let part = Part::ToolResult {
            id: id.into(),
            name: "f".into(),
            content,
            outcome: ToolOutcome::Ok,
        };
        Arc::new(Message {
            role: Role::User,
            parts: vec![part],
        })
    }

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text))
    }

    #[test]
    fn an_ordered_transcript_is_returned_with_the_same_allocations() {
        let messages = vec![
            user("a"),
            call(&["1", "2"]),
            result("1", "x"),
            result("2", "y"),
            user("b"),
        ];
        let repaired = repair(messages.clone());
        assert!(messages.iter().zip(&repaired).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert_eq!(messages.len(), repaired.len());
    }

    #[test]
    fn results_follow_their_calls_in_the_calls_order_and_prompts_come_after() {
        let messages = vec![call(&["1", "2"]), user("wait"), result("2", "y"), result("1", "x")];
        assert_eq!(
            repair(messages),
            vec![call(&["1", "2"]), result("1", "x"), result("2", "y"), user("wait")]
        );
    }

    #[test]
    fn a_call_without_a_result_gets_one_and_stray_results_are_removed() {
        let messages = vec![
            result("0", "stray"),
            call(&["1", "2"]),
            result("1", "first"),
            result("1", "again"),
            result("9", "stray"),
            Arc::new(Message::assistant("done")),
            result("1", "late"),
        ];
        let repaired = repair(messages);
        assert_eq!(repaired.len(), 4);
        assert_eq!(repaired[1], result("1", "first"));
        assert_eq!(*repaired[2], lost_result("2".into(), "f".into()));
        assert_eq!(*repaired[3], Message::assistant("done"));
    }
}
