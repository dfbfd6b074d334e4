//! The rules of OpenAI Chat Completions.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_tool_name, refuse};
use crate::parsed_request::ParsedRequest;
use crate::refusal::Refusal;
use crate::wire::list;

const LONGEST_NAME: usize = 64;

pub(super) fn check(seen: &ParsedRequest) -> Result<(), Refusal> {
    let body = &seen.raw;
    if !body["model"].is_string() {
        return refuse("you must provide a model parameter");
    }
    let messages = list(&body["messages"]);
    if body.get("messages").is_none() {
        return refuse("Missing required parameter: 'messages'.");
    }
    if messages.is_empty() {
        return refuse(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        );
    }
    if !seen.streaming && body.get("stream_options").is_some_and(|options| !options.is_null()) {
        return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    }
    tools(body)?;
    for (at, message) in messages.iter().enumerate() {
        content(at, message)?;
    }
    calls_and_results(messages)
}

fn tools(body: &Value) -> Result<(), Refusal> {
    if body
        .get("tools")
        .is_some_and(|tools| tools.as_array().is_some_and(Vec::is_empty))
    {
        return refuse(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        );
    }
    let mut names = HashSet::new();
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        if tool["type"] != "function" {
            return refuse(format!("Missing required parameter: 'tools[{at}].type'."));
        }
        if !is_tool_name(name, LONGEST_NAME) {
            return refuse(format!(
                "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches \
                 the pattern '^[a-zA-Z0-9_-]+$'."
            ));
        }
        if !names.insert(name) {
            return refuse(format!("Duplicate function name '{name}' in 'tools'."));
        }
    }
    Ok(())
}

fn content(at: usize, message: &Value) -> Result<(), Refusal> {
    let role = message["role"].as_str().unwrap_or_default();
    let content = &message["content"];
    let calls = list(&message["tool_calls"]);
    let kinds: &[&str] = match role {
        "system" | "developer" | "tool" => &["text"],
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => {
            return refuse(format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', \
                 and 'developer'."
            ));
        }
    };
    if content.is_null() && (role != "assistant" || calls.is_empty()) {
        return refuse(format!(
            "Invalid value for 'content': expected a string, got null. (messages[{at}])"
        ));
    }
    if !content.is_null() && !content.is_string() && !content.is_array() {
        return refuse(format!(
            "Invalid type for 'messages[{at}].content': expected one of a string or array of objects."
        ));
    }
    if let Some(part) = list(content)
        .iter()
        .find(|part| !part["type"].as_str().is_some_and(|kind| kinds.contains(&kind)))
    {
        return refuse(format!(
            "Invalid value: {}. (messages[{at}].content, role '{role}')",
            part["type"]
        ));
    }
    if message
        .get("tool_calls")
        .is_some_and(|calls| calls.as_array().is_some_and(Vec::is_empty))
    {
        return refuse(format!(
            "Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1, but got an \
             empty array instead."
        ));
    }
    for (n, call) in calls.iter().enumerate() {
        let location = format!("messages[{at}].tool_calls[{n}]");
        if call["id"].as_str().is_none_or(str::is_empty) {
            return refuse(format!("Missing required parameter: '{location}.id'."));
        }
        if call["type"] != "function" {
            return refuse(format!("Missing required parameter: '{location}.type'."));
        }
        if !is_tool_name(call["function"]["name"].as_str().unwrap_or_default(), LONGEST_NAME) {
            return refuse(format!(
                "Invalid '{location}.function.name': string does not match pattern."
            ));
        }
        if !call["function"]["arguments"].is_string() {
            return refuse(format!(
                "Invalid type for '{location}.function.arguments': expected a string."
            ));
        }
    }
    Ok(())
}

fn calls_and_results(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if answered.contains(id) {
                return refuse(format!(
                    "Duplicate value for 'tool_call_id' of '{id}' in message[{at}]."
                ));
            }
            let Some(found) = open.iter().position(|call| *call == id) else {
                return refuse(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'. (messages[{at}], '{id}')"
                ));
            };
            answered.insert(open.remove(found));
            continue;
        }
        all_answered(&open)?;
        answered.clear();
        open = list(&message["tool_calls"])
            .iter()
            .filter_map(|call| call["id"].as_str())
            .collect();
        let distinct: HashSet<&str> = open.iter().copied().collect();
        if distinct.len() != open.len() {
            return refuse(format!("Duplicate tool call ids in messages[{at}].tool_calls."));
        }
    }
    all_answered(&open)
}

fn all_answered(open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    refuse(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
}
