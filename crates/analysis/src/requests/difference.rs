//! The differences of two requests.

use super::rebuild::rebuild;
use super::{SessionRequests, text};
use crate::failure::{Failure, Result};
use crate::output::format::{plural, sanitise};
use model::Request;
use serde_json::{Value, json};

/// The parts in which two requests differ.
#[derive(Debug)]
pub struct RequestDifference {
    from: String,
    to: String,
    /// How many parts at the beginning are identical.
    same: usize,
    /// The first byte that differs; the length of the shared text if nothing was removed.
    byte: usize,
    removed: Vec<PromptPart>,
    added: Vec<PromptPart>,
}

impl RequestDifference {
    /// Compares the selected request of `to` with that of `from`, or with the previous one.
    pub async fn load(from: Option<&SessionRequests>, to: &SessionRequests) -> Result<RequestDifference> {
        let index = to.chosen();
        let now = rebuild(to, index).await?;
        let (session, before) = match from {
            Some(from) => (from, from.chosen()),
            None => match index.checked_sub(1).filter(|_| index < to.turns) {
                Some(before) => (to, before),
                None => {
                    return Err(Failure::usage("there is no request before it").hint("name another to compare it with"));
                }
            },
        };
        let then = rebuild(session, before).await?;
        let (mut removed, mut added) = (parts(&then), parts(&now));
        let same = removed
            .iter()
            .zip(&added)
            .take_while(|(then, now)| then.text == now.text)
            .count();
        let within = match (removed.get(same), added.get(same)) {
            (Some(then), Some(now)) => common_prefix(&then.text, &now.text),
            _ => 0,
        };
        let byte = added[..same].iter().map(|part| part.text.len()).sum::<usize>() + within;
        removed.drain(..same);
        added.drain(..same);
        Ok(RequestDifference {
            from: session.name(before),
            to: to.name(index),
            same,
            byte,
            removed,
            added,
        })
    }

    /// The removed and added lines.
    pub fn text(&self) -> String {
        let mut text = format!("From {} to {}\n", self.from, self.to);
        text.push_str(&match self.removed.first() {
            None => format!("It extends it: {} the same.\n\n", are(self.same)),
            Some(first) => format!(
                "{} identical; first difference at byte {}, in {}.\n\n",
                are(self.same),
                self.byte,
                first.name
            ),
        });
        for (sign, parts) in [('-', &self.removed), ('+', &self.added)] {
            for line in parts.iter().flat_map(|part| part.text.lines()) {
                text.push_str(&format!("{sign} {line}\n"));
            }
        }
        sanitise(&text)
    }

    /// The removed and added parts.
    pub fn json(&self) -> Value {
        let list = |parts: &[PromptPart]| -> Vec<Value> {
            let one = |part: &PromptPart| json!({"name": part.name, "text": part.text});
            parts.iter().map(one).collect()
        };
        json!({
            "from": self.from,
            "to": self.to,
            "same_parts": self.same,
            "first_different_byte": (!self.removed.is_empty()).then_some(self.byte),
            "removed": list(&self.removed),
            "added": list(&self.added),
        })
    }
}

/// A tool, a section of the system prompt, or a message.
#[derive(Debug)]
struct PromptPart {
    name: String,
    text: String,
}

fn parts(request: &Request) -> Vec<PromptPart> {
    let mut parts: Vec<PromptPart> = Vec::new();
    for tool in request.tools.iter() {
        parts.push(PromptPart {
            name: format!("tool {}", tool.name),
            text: format!("{}: {}\n{}\n", tool.name, tool.description, tool.input_schema),
        });
    }
    for (index, section) in request.system.iter().enumerate() {
        parts.push(PromptPart {
            name: format!("section {} of the system prompt", index + 1),
            text: format!("{section}\n"),
        });
    }
    for (index, message) in request.messages.iter().enumerate() {
        parts.push(PromptPart {
            name: format!("message {}", index + 1),
            text: text::message_text(index, message),
        });
    }
    parts
}

fn are(parts: usize) -> String {
    let verb = if parts == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(parts as u64, "part"))
}

fn common_prefix(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
