//! Puts a transcript into the order that every provider demands: each call is followed by exactly one result.
//!
//! Crashes, interruptions and prompts sent in between leave calls without results, results without calls, doubles, and results in
//! the order in which tools happened to finish. The log keeps all of that; the model sees it mended.

use model::{Block, CallId, Message, Outcome, Part, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// What a model is told about a call whose result was never kept.
const LOST: &str = "The result of this call was lost before it could be kept. It may or may not have taken effect: check before repeating it.";

/// The messages, with calls and results paired and in the order of the calls.
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
                    answer(calls, step, &mut out);
                }
            }
            Role::User => out.extend(without_results(message)),
        }
    }
    out
}

/// Whether each call has its one result, in order, and nothing but talk follows: the usual case, told without any copying.
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

/// Pushes one result for each call, in the calls' order, then whatever else was said.
fn answer(calls: Vec<(CallId, String)>, step: Vec<Arc<Message>>, out: &mut Vec<Arc<Message>>) {
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
        let result = results.remove(&id).unwrap_or_else(|| Arc::new(lost(id, name)));
        out.push(result);
    }
    out.append(&mut others);
}

/// The call that a message answers, where it is one result and nothing else: the only form in which results are kept.
fn result_of(message: &Message) -> Option<CallId> {
    match message.parts.as_slice() {
        [Part::ToolResult { id, .. }] => Some(id.clone()),
        _ => None,
    }
}

/// The message without stray results; nothing when nothing else is in it.
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

fn lost(id: CallId, name: String) -> Message {
    let part = Part::ToolResult {
        id,
        name,
        content: vec![Block::text(LOST)],
        outcome: Outcome::Error,
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
            outcome: Outcome::Ok,
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
    fn a_transcript_in_order_is_left_as_it_is_down_to_the_addresses() {
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
    fn a_call_without_a_result_gets_one_and_strays_and_doubles_go() {
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
        assert_eq!(*repaired[2], lost("2".into(), "f".into()));
        assert_eq!(*repaired[3], Message::assistant("done"));
    }
}
