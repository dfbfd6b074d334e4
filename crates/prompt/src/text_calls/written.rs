//! Finds the calls in a complete reply of a model that was not expected to write them as text, or in JSON.
//!
//! Small models write calls as fenced or bare JSON, or in tags, although their API has native calls. A call is accepted
//! only if its tool exists and the rest of the reply fits the required [`CallPlacement`].

use super::fences::FenceTracker;
use super::grammar::CallGrammar;
use super::hermes::{call_object, calls_in};
use super::model_tokens::with_common_syntax;
use super::parser::TextCallParser;
use model::{Chunk, Stop};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call in the text of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCall {
    /// The tool name as written.
    pub name: String,
    /// The input.
    pub input: Map<String, Value>,
}

/// Where a call may be in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPlacement {
    /// Anywhere: the model is known to write calls in its text.
    Anywhere,
    /// Anywhere, but tags in a code block are an example if there is other text: the model writes its calls outside of them.
    OutsideBlocks,
    /// The reply consists of calls only, or ends with calls in tags. For models that make native calls: their text may
    /// quote a call.
    WholeReply,
}

/// The calls in a complete text. Tools that do not exist are included if the reply consists of calls only.
pub fn written_calls(text: &str, grammar: &Arc<CallGrammar>, placement: CallPlacement) -> Vec<WrittenCall> {
    let text = &with_common_syntax(text, grammar);
    let tagged = tagged_calls(text, grammar);
    let ends_reply = !has_words(&tagged.after);
    let is_tagged = !tagged.calls.is_empty();
    let (calls, rest) = match is_tagged {
        true => (tagged.calls, tagged.before + &tagged.after),
        false => {
            let fenced = fenced_calls(text, grammar);
            let fenced = fenced.filter(|(_, rest)| placement != CallPlacement::OutsideBlocks || !has_words(rest));
            fenced.unwrap_or_else(|| json_calls(text, grammar))
        }
    };
    match (placement, has_words(&rest)) {
        (CallPlacement::WholeReply, true) if !(is_tagged && ends_reply) => Vec::new(),
        (_, true) => calls
            .into_iter()
            .filter(|call| grammar.names_tool(&call.name))
            .collect(),
        (_, false) => calls,
    }
}

/// Whether a text without a usable call looks as if the model had tried to write one.
pub fn resembles_call(text: &str, grammar: &CallGrammar) -> bool {
    let text = text.trim();
    let body = without_fence(text);
    let starts_call = |text: &str| {
        let opened = CALL_TAGS.iter().any(|tag| text.starts_with(tag));
        let name = text.strip_prefix('<').map(super::tags::word).unwrap_or_default();
        opened || (!name.is_empty() && grammar.has(name))
    };
    let is_json = body.starts_with('{') && {
        let has = |key: &str| body.contains(&format!("\"{key}\"")) || body.contains(&format!("'{key}'"));
        NAME_KEYS.iter().any(|key| has(key)) && INPUT_KEYS.iter().any(|key| has(key))
    };
    starts_call(body) || is_json || has_unclosed_call(text, grammar)
}

/// Whether a line outside of code begins a call in tags or special tokens that does not end, or names a tool as an action.
fn has_unclosed_call(text: &str, grammar: &CallGrammar) -> bool {
    let mut fences = FenceTracker::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = &text[at..];
        at += line.len();
        let is_code = fences.is_open();
        fences.push(line);
        let name = rest.strip_prefix('<').map(super::tags::word).unwrap_or_default();
        let opens = |tag: &&str| rest.starts_with(*tag) && !rest.contains(&tag.replace('<', "</"));
        let is_tool = grammar.has(name) && rest[1 + name.len()..].starts_with('>');
        let action = line.strip_prefix("Action:").map(str::trim);
        let is_unclosed = CALL_TAGS.iter().any(opens)
            || action.is_some_and(|name| grammar.names_tool(name))
            || CALL_TOKENS.iter().any(|token| rest.starts_with(token))
            || (is_tool && !rest.contains(&format!("</{name}>")));
        if is_unclosed && !is_code {
            return true;
        }
    }
    false
}

/// Keys of the tool's name, as models write them.
pub(super) const NAME_KEYS: [&str; 7] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "recipient_name",
    "action",
];
/// Keys of the input.
pub(super) const INPUT_KEYS: [&str; 10] = [
    "arguments",
    "parameters",
    "input",
    "args",
    "params",
    "action_input",
    "tool_input",
    "tool_args",
    "tool_arguments",
    "function_arguments",
];
/// Tags around calls.
const CALL_TAGS: [&str; 5] = ["<tool_call>", "<function_call>", "<function=", "<invoke ", "<tool_use>"];

/// Special tokens that begin calls.
const CALL_TOKENS: [&str; 5] = [
    "[TOOL_CALLS]",
    "<|tool_call",
    "<｜tool▁call",
    "<|python_tag|>",
    "<|channel|>commentary to=",
];

/// Calls in tags, and the text before and after the last one.
struct TaggedCalls {
    calls: Vec<WrittenCall>,
    before: String,
    after: String,
}

fn tagged_calls(text: &str, grammar: &Arc<CallGrammar>) -> TaggedCalls {
    let mut parser = TextCallParser::new(Arc::clone(grammar), "");
    let mut chunks = Vec::new();
    parser.push(Chunk::Text(text.into()), &mut chunks);
    parser.push(Chunk::Stop(Stop::End), &mut chunks);
    let (mut calls, mut before, mut after) = (Vec::new(), String::new(), String::new());
    let mut open: Option<(String, String)> = None;
    for chunk in chunks {
        match chunk {
            Chunk::Text(text) => after.push_str(&text),
            Chunk::ToolStart { name, .. } => {
                before.push_str(&std::mem::take(&mut after));
                open = Some((name, String::new()));
            }
            Chunk::ToolInput { delta, .. } => {
                if let Some((_, input)) = &mut open {
                    input.push_str(&delta);
                }
            }
            Chunk::ToolEnd { .. } => {
                let call = open.take();
                // A call that is cut off has no valid input.
                calls.extend(call.and_then(|(name, input)| match model::json::parse_object(&input) {
                    Ok(Value::Object(input)) => Some(WrittenCall { name, input }),
                    Ok(_) | Err(_) => None,
                }));
            }
            Chunk::Thinking(_)
            | Chunk::Replay { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_)
            | Chunk::PromptSize(_)
            | Chunk::Stop(_) => {}
        }
    }
    TaggedCalls { calls, before, after }
}

/// Calls in tags in a code block that contains nothing else, and the text around it.
fn fenced_calls(text: &str, grammar: &Arc<CallGrammar>) -> Option<(Vec<WrittenCall>, String)> {
    let start = match text.starts_with("```") {
        true => 0,
        false => text.find("\n```")? + 1,
    };
    let inside = text[start..].split_once('\n')?.1;
    let (inside, after) = inside.split_once("\n```").unwrap_or((inside, ""));
    let found = tagged_calls(inside, grammar);
    let is_call = !found.calls.is_empty() && !has_words(&found.before) && !has_words(&found.after);
    is_call.then(|| (found.calls, format!("{}\n{after}", &text[..start])))
}

/// Calls as JSON, fenced or not, and the other text.
fn json_calls(text: &str, grammar: &CallGrammar) -> (Vec<WrittenCall>, String) {
    let (mut calls, mut rest) = (Vec::new(), String::new());
    let mut at = 0;
    while let Some(start) = text[at..].find(['{', '[']).map(|place| at + place) {
        // JSON inside of a line of prose is an example, not a call.
        let before = text[..start].trim_end_matches([' ', '\t']);
        let is_boundary = before.is_empty() || before.ends_with(['\n', '>', ']', '}', ';', ',', '|', '`']);
        let (end, found) = match is_boundary {
            true => read_calls(&text[start..], grammar),
            false => (1, Vec::new()),
        };
        if found.is_empty() {
            rest.push_str(&text[at..start + 1]);
            at = start + 1;
            continue;
        }
        rest.push_str(&text[at..start]);
        calls.extend(found);
        at = start + end;
    }
    rest.push_str(&text[at..]);
    (calls, rest)
}

/// Reads the calls of the JSON value at the start of a text; returns its length, too.
fn read_calls(text: &str, grammar: &CallGrammar) -> (usize, Vec<WrittenCall>) {
    match read_json(text) {
        Some((value, bytes)) => (bytes, calls_in(value, &|object| call_object(object, grammar))),
        None => (1, Vec::new()),
    }
}

/// Reads the JSON value at the start of a text; returns its length, too. An unclosed value ends at the end of its
/// paragraph.
pub(super) fn read_json(text: &str) -> Option<(Value, usize)> {
    let read = |text: &str| {
        let JsonExtent { bytes, missing } = json_extent(text)?;
        let complete = format!("{}{missing}", &text[..bytes]);
        let value = serde_json::from_str(&complete).or_else(|_| model::json::repair(&complete));
        value.ok().map(|value| (value, bytes))
    };
    read(text).or_else(|| read(text.split_once("\n\n")?.0))
}

/// A call as JSON.
pub(super) fn call_json(name: &str, input: Value) -> String {
    serde_json::json!({"name": name, "arguments": input}).to_string()
}

/// The extent of a JSON value in a text.
struct JsonExtent {
    bytes: usize,
    /// The closing brackets that are missing at the end of the text.
    missing: String,
}

/// Finds the end of the value at the start of a text. Missing closing brackets are added only at the end of the text and
/// only after a complete value: small models often omit the last one.
fn json_extent(text: &str) -> Option<JsonExtent> {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if in_string {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match letter {
            '"' => in_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' if open.last() == Some(&letter) => {
                open.pop();
                if open.is_empty() {
                    let missing = String::new();
                    return Some(JsonExtent { bytes: at + 1, missing });
                }
            }
            '}' | ']' => return None,
            // The closing fence or tag ends an unclosed value.
            '`' | '<' => return unclosed(&text[..at], &open),
            _ => {}
        }
    }
    match in_string {
        true => None,
        false => unclosed(text, &open),
    }
}

fn unclosed(text: &str, open: &[char]) -> Option<JsonExtent> {
    let text = text.trim_end();
    let missing = open.iter().rev().collect();
    let bytes = text.len();
    text.ends_with(['"', '}', ']']).then_some(JsonExtent { bytes, missing })
}

/// The text inside of the code fence around it.
fn without_fence(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("```") else {
        return text;
    };
    let inside = rest.split_once('\n').map_or(rest, |(_, inside)| inside);
    inside.trim_end().trim_end_matches("```").trim()
}

/// Whether a text contains more than the layout of calls: fences with a language, tags and separators.
fn has_words(text: &str) -> bool {
    let is_layout = |line: &str| {
        let line = line.trim();
        let fence = line.strip_prefix("```");
        fence.is_some_and(|language| language.len() <= 12 && !language.contains(' '))
            || (line.starts_with('<') && !line.contains(' '))
            || (line.starts_with("[TOOL_CALL") && line.ends_with(']'))
            || !line.contains(char::is_alphanumeric)
    };
    text.lines().any(|line| !is_layout(line))
}

#[cfg(test)]
mod tests;
