//! The rules of Anthropic Messages, including Bedrock and Vertex.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_tool_name, refuse};
use crate::parsed_request::ParsedRequest;
use crate::refusal::Refusal;
use crate::signatures::SignatureRegistry;
use crate::wire::{Wire, list};

const FIELDS: &str = "model messages max_tokens system tools tool_choice thinking stream temperature top_p top_k \
                      stop_sequences metadata service_tier container mcp_servers context_management output_config \
                      output_format cache_control inference_geo speed";
const LONGEST_NAME: usize = 128;
const MAX_MARKS: usize = 4;

pub(super) fn check(seen: &ParsedRequest, seals: &SignatureRegistry) -> Result<(), Refusal> {
    let body = &seen.raw;
    envelope(seen)?;
    fields(seen.wire, body)?;
    tools(body)?;
    let marks = marks(body);
    if marks > MAX_MARKS {
        return refuse(format!(
            "A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {marks}."
        ));
    }
    let messages = list(&body["messages"]);
    roles(messages)?;
    for (at, message) in messages.iter().enumerate() {
        content(at, message, at + 1 == messages.len())?;
    }
    calls_and_results(messages)?;
    signatures(messages, seals)?;
    if seen.thinking {
        thinking_config(body)?;
        last_thought(messages, seals)?;
    }
    Ok(())
}

/// The fields around the body. Newer clients send the version as a date on every service.
fn envelope(seen: &ParsedRequest) -> Result<(), Refusal> {
    let in_body = seen.raw["anthropic_version"].as_str();
    let (location, version, own) = match seen.wire {
        Wire::Bedrock => ("anthropic_version", in_body, "bedrock-2023-05-31"),
        Wire::Vertex => ("anthropic_version", in_body, "vertex-2023-10-16"),
        _ => ("anthropic-version", seen.header("anthropic-version"), "2023-06-01"),
    };
    match version {
        None if location == "anthropic-version" => refuse("anthropic-version: header is required"),
        None => refuse("anthropic_version: Field required"),
        Some(version) if version == own || is_date(version) => Ok(()),
        Some(version) => refuse(format!(
            "{location}: \"{version}\" is not a valid version. Expected \"{own}\"."
        )),
    }
}

fn is_date(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(text.split('-').collect::<Vec<_>>().as_slice(),
        [y, m, d] if [y.len(), m.len(), d.len()] == [4, 2, 2] && digits(y) && digits(m) && digits(d))
}

fn fields(wire: Wire, body: &Value) -> Result<(), Refusal> {
    let Some(fields) = body.as_object() else {
        return refuse("Input should be a valid dictionary");
    };
    // There, the path contains the model, and on Bedrock also whether to stream.
    let is_known = |key: &str| match (wire, key) {
        (Wire::Bedrock, "model" | "stream") | (Wire::Vertex, "model") => false,
        (Wire::Bedrock | Wire::Vertex, "anthropic_version" | "anthropic_beta") => true,
        _ => FIELDS.split_whitespace().any(|field| field == key),
    };
    if let Some(unknown) = fields.keys().find(|key| !is_known(key)) {
        return refuse(match wire {
            Wire::Bedrock => format!(
                "Malformed input request: #: extraneous key [{unknown}] is not permitted, please reformat your \
                 input and try again."
            ),
            _ => format!("{unknown}: Extra inputs are not permitted"),
        });
    }
    if wire == Wire::Anthropic && !body["model"].is_string() {
        return refuse("model: Field required");
    }
    if !body["max_tokens"].is_u64() {
        return refuse("max_tokens: Field required");
    }
    if body["max_tokens"] == 0 {
        return refuse("max_tokens: must be greater than or equal to 1");
    }
    if body.get("messages").is_none() {
        return refuse("messages: Field required");
    }
    if list(&body["messages"]).is_empty() {
        return refuse("messages: at least one message is required");
    }
    if list(&body["system"]).iter().any(|part| part["text"] == "") {
        return refuse("system: text content blocks must be non-empty");
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_tool_name(name, LONGEST_NAME) {
            return refuse(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !names.insert(name) {
            return refuse("tools: Tool names must be unique.");
        }
        // Tools that the vendor runs have a type and no schema.
        let is_custom = tool.get("type").is_none_or(|kind| kind == "custom");
        if is_custom && tool["input_schema"]["type"] != "object" {
            return refuse(format!("tools.{at}.custom.input_schema.type: Field required"));
        }
    }
    Ok(())
}

/// The number of cache breakpoints anywhere in the request.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(marks).sum(),
        // The content of tool schemas and inputs is not checked.
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| match key.as_str() {
                "cache_control" => usize::from(!value.is_null()),
                "input" | "input_schema" => 0,
                _ => marks(value),
            })
            .sum(),
        _ => 0,
    }
}

fn roles(messages: &[Value]) -> Result<(), Refusal> {
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = match message["role"].as_str() {
            Some("system") => {
                return refuse(format!(
                    "messages.{at}.role: Unexpected role \"system\". The Messages API accepts a top-level `system` \
                     parameter, not \"system\" as an input message role."
                ));
            }
            Some(role @ ("user" | "assistant")) => role,
            _ => return refuse(format!("messages.{at}.role: Input should be 'user' or 'assistant'")),
        };
        if at == 0 && role == "assistant" {
            return refuse("messages: first message must use the \"user\" role");
        }
        if role == before {
            return refuse(format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" \
                 roles in a row"
            ));
        }
        before = role;
    }
    Ok(())
}

fn content(at: usize, message: &Value, is_last: bool) -> Result<(), Refusal> {
    let is_assistant = message["role"] == "assistant";
    let content = &message["content"];
    let is_empty = content.as_str().map_or_else(|| list(content).is_empty(), str::is_empty);
    if is_empty && !(is_assistant && is_last) {
        return refuse(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        ));
    }
    for (n, part) in list(content).iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        let belongs = match kind {
            "text" | "search_result" => true,
            "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" | "web_search_tool_result" => {
                is_assistant
            }
            "tool_result" | "image" | "document" => !is_assistant,
            _ => false,
        };
        if !belongs {
            return refuse(format!(
                "messages.{at}.content.{n}: Input tag '{kind}' found using 'type' does not match any of the \
                 expected tags"
            ));
        }
        if kind == "text" && part["text"].as_str().is_none_or(|text| text.trim().is_empty()) {
            return refuse("messages: text content blocks must contain non-whitespace text");
        }
        if kind.ends_with("thinking") && part.get("cache_control").is_some() {
            return refuse(format!(
                "messages.{at}.content.{n}.{kind}.cache_control: Extra inputs are not permitted"
            ));
        }
    }
    let last = list(content)
        .last()
        .and_then(|part| part["text"].as_str())
        .or(content.as_str());
    if is_assistant && is_last && last.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return refuse("messages: final assistant content cannot end with trailing whitespace");
    }
    Ok(())
}

fn calls_and_results(messages: &[Value]) -> Result<(), Refusal> {
    let mut ever = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let parts = list(&message["content"]);
        let results = results(at, parts, &open)?;
        let missing: Vec<&str> = open.iter().copied().filter(|id| !results.contains(id)).collect();
        if !missing.is_empty() {
            return without_results(at - 1, &missing);
        }
        open = parts
            .iter()
            .filter(|part| part["type"] == "tool_use")
            .filter_map(|part| part["id"].as_str())
            .collect();
        for (n, part) in parts.iter().enumerate().filter(|(_, part)| part["type"] == "tool_use") {
            let id = part["id"].as_str().unwrap_or_default();
            if !is_tool_name(id, usize::MAX) {
                return refuse(format!(
                    "messages.{at}.content.{n}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            if !ever.insert(id) {
                return refuse(format!("messages.{at}.content.{n}: `tool_use` ids must be unique"));
            }
            if !part["input"].is_object() {
                return refuse(format!(
                    "messages.{at}.content.{n}.tool_use.input: Input should be a valid dictionary"
                ));
            }
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        without_results(messages.len() - 1, &open)
    }
}

fn without_results(at: usize, missing: &[&str]) -> Result<(), Refusal> {
    refuse(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        missing.join(", ")
    ))
}

/// The ids of the results at the start of a message.
fn results<'a>(at: usize, parts: &'a [Value], open: &[&str]) -> Result<HashSet<&'a str>, Refusal> {
    let mut found = HashSet::new();
    let mut after_other = false;
    for (n, part) in parts.iter().enumerate() {
        if part["type"] != "tool_result" {
            after_other = true;
            continue;
        }
        let id = part["tool_use_id"].as_str().unwrap_or_default();
        if !open.contains(&id) {
            return refuse(format!(
                "messages.{at}.content.{n}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if after_other {
            return without_results(at - 1, &[id]).map(|()| found);
        }
        if !found.insert(id) {
            return refuse(format!(
                "messages.{at}.content.{n}: each tool_use must have a single result. Found multiple `tool_result` \
                 blocks with id: {id}"
            ));
        }
    }
    Ok(found)
}

/// Thinking must be sent back unchanged.
fn signatures(messages: &[Value], seals: &SignatureRegistry) -> Result<(), Refusal> {
    for (at, message) in messages.iter().enumerate() {
        for (n, part) in list(&message["content"])
            .iter()
            .enumerate()
            .filter(|(_, part)| part["type"] == "thinking")
        {
            let signature = part["signature"].as_str().unwrap_or_default();
            if !seals.matches(signature, part["thinking"].as_str().unwrap_or_default()) {
                return refuse(format!(
                    "messages.{at}.content.{n}: Invalid `signature` in `thinking` block"
                ));
            }
        }
    }
    Ok(())
}

fn thinking_config(body: &Value) -> Result<(), Refusal> {
    if body["thinking"]["type"] == "enabled" {
        let Some(budget) = body["thinking"]["budget_tokens"].as_u64() else {
            return refuse("thinking.enabled.budget_tokens: Field required");
        };
        if budget < 1024 {
            return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
        }
        if body["max_tokens"].as_u64().is_some_and(|most| most <= budget) {
            return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
        }
    }
    if body["temperature"]
        .as_f64()
        .is_some_and(|temperature| temperature != 1.0)
    {
        return refuse("`temperature` may only be set to 1 when thinking is enabled.");
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
    Ok(())
}

/// The thinking before the last tool calls must precede them.
fn last_thought(messages: &[Value], seals: &SignatureRegistry) -> Result<(), Refusal> {
    let Some(at) = messages.iter().rposition(|message| message["role"] == "assistant") else {
        return Ok(());
    };
    let parts = list(&messages[at]["content"]);
    let mut ids = parts
        .iter()
        .filter(|part| part["type"] == "tool_use")
        .filter_map(|part| part["id"].as_str());
    let Some(expected) = ids.find_map(|id| seals.before_call(id)) else {
        return Ok(());
    };
    let first = parts.first().unwrap_or(&Value::Null);
    let kind = first["type"].as_str().unwrap_or_default();
    if !matches!(kind, "thinking" | "redacted_thinking") {
        return refuse(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        ));
    }
    if first["signature"] != expected && first["data"] != expected {
        return refuse(format!(
            "messages.{at}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message \
             cannot be modified. These blocks must remain as they were in the original response."
        ));
    }
    Ok(())
}
