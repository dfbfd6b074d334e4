//! `hew prompt diff`: the differences of two requests.

use super::snapshot::again;
use super::{SessionRequests, render};
use crate::args::{GlobalArgs, PromptDiffArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::format::{plural, sanitise};
use model::Request;
use serde_json::{Value, json};
use std::sync::Arc;

pub(in crate::commands) async fn diff(
    args: &PromptDiffArgs,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    // Compares the first with the second; a single request is compared with the previous one.
    let (from, to) = match &args.to {
        Some(to) => (args.request.as_deref(), Some(to.as_str())),
        None => (None, args.request.as_deref()),
    };
    let session = SessionRequests::open(to, global, env).await?;
    let index = session.chosen();
    let now = again(&session, index).await?;
    let (then_name, then) = match from {
        Some(from) => {
            let other = SessionRequests::open(Some(from), global, env).await?;
            (other.name(other.chosen()), again(&other, other.chosen()).await?)
        }
        None => match index.checked_sub(1).filter(|_| index < session.turns) {
            Some(before) => (session.name(before), again(&session, before).await?),
            None => {
                return Err(Failure::usage("there is no request before it").hint("name another to compare it with"));
            }
        },
    };
    let (then, now) = (blocks(&then), blocks(&now));
    let same = then
        .iter()
        .zip(&now)
        .take_while(|(then, now)| then.text == now.text)
        .count();
    let within = match (then.get(same), now.get(same)) {
        (Some(then), Some(now)) => alike(&then.text, &now.text),
        _ => 0,
    };
    let byte: usize = now[..same].iter().map(|block| block.text.len()).sum::<usize>() + within;
    let (removed, added) = (&then[same..], &now[same..]);
    if args.json {
        let list = |blocks: &[PromptPart]| -> Vec<Value> {
            let one = |block: &PromptPart| json!({"name": block.name, "text": block.text});
            blocks.iter().map(one).collect()
        };
        let value = json!({
            "from": then_name,
            "to": session.name(index),
            "same_parts": same,
            "first_different_byte": (!removed.is_empty()).then_some(byte),
            "removed": list(removed),
            "added": list(added),
        });
        output::print_checked(&output::pretty(&value)?)?;
        return Ok(ExitStatus::Done);
    }
    let mut text = format!("From {then_name} to {}\n", session.name(index));
    text.push_str(&match removed.is_empty() {
        true => format!("It extends it: {} the same.\n\n", are(same)),
        false => format!(
            "{} identical; first difference at byte {byte}, in {}.\n\n",
            are(same),
            removed[0].name
        ),
    });
    for (sign, blocks) in [('-', removed), ('+', added)] {
        for block in blocks {
            for line in block.text.lines() {
                text.push_str(&format!("{sign} {line}\n"));
            }
        }
    }
    output::print_checked(&sanitise(&text))?;
    Ok(ExitStatus::Done)
}

/// A tool, a section of the system prompt, or a message.
struct PromptPart {
    name: String,
    text: String,
}

fn blocks(request: &Request) -> Vec<PromptPart> {
    let mut blocks: Vec<PromptPart> = Vec::new();
    for tool in request.tools.iter() {
        blocks.push(PromptPart {
            name: format!("tool {}", tool.name),
            text: format!("{}: {}\n{}\n", tool.name, tool.description, tool.input_schema),
        });
    }
    for (index, section) in request.system.iter().enumerate() {
        blocks.push(PromptPart {
            name: format!("section {} of the system prompt", index + 1),
            text: format!("{section}\n"),
        });
    }
    for (index, message) in request.messages.iter().enumerate() {
        blocks.push(PromptPart {
            name: format!("message {}", index + 1),
            text: render::message_text(index, &Arc::clone(message)),
        });
    }
    blocks
}

fn are(parts: usize) -> String {
    let verb = if parts == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(parts as u64, "part"))
}

fn alike(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
