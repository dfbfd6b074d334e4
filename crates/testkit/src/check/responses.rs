//! The rules of OpenAI Responses.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_tool_name, refuse};
use crate::parsed_request::ParsedRequest;
use crate::refusal::Refusal;
use crate::signatures::SignatureRegistry;
use crate::wire::list;

const LONGEST_NAME: usize = 64;
const MIN_OUTPUT: u64 = 16;

pub(super) fn check(seen: &ParsedRequest, seals: &SignatureRegistry) -> Result<(), Refusal> {
    let body = &seen.raw;
    if !body["model"].is_string() {
        return refuse("Missing required parameter: 'model'.");
    }
    if !body["input"].is_string() && !body["input"].is_array() {
        return refuse("Missing required parameter: 'input'.");
    }
    if let Some(most) = body["max_output_tokens"].as_u64().filter(|most| *most < MIN_OUTPUT) {
        return refuse(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {MIN_OUTPUT}, but got \
             {most} instead."
        ));
    }
    tools(body)?;
    let items = list(&body["input"]);
    for (at, item) in items.iter().enumerate() {
        content(at, item)?;
    }
    calls_and_outputs(items)?;
    reasoning(body, items, seals)
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        let Some(kind) = tool["type"].as_str() else {
            return refuse(format!("Missing required parameter: 'tools[{at}].type'."));
        };
        if kind != "function" {
            continue;
        }
        let Some(name) = tool["name"].as_str() else {
            return refuse(format!("Missing required parameter: 'tools[{at}].name'."));
        };
        if !is_tool_name(name, LONGEST_NAME) {
            return refuse(format!("Invalid 'tools[{at}].name': string does not match pattern."));
        }
        if !names.insert(name) {
            return refuse(format!("Duplicate function name '{name}' in 'tools'."));
        }
    }
    Ok(())
}

fn content(at: usize, item: &Value) -> Result<(), Refusal> {
    let kind = item["type"].as_str().unwrap_or("message");
    let need = |key: &str| {
        let filled = item[key]
            .as_str()
            .is_some_and(|text| key == "arguments" || !text.is_empty());
        if filled {
            Ok(())
        } else {
            refuse(format!("Missing required parameter: 'input[{at}].{key}'."))
        }
    };
    match kind {
        "message" => {
            let kinds: &[&str] = match item["role"].as_str() {
                Some("assistant") => &["output_text", "refusal"],
                Some("user" | "system" | "developer") => &["input_text", "input_image", "input_file"],
                _ => {
                    return refuse(format!(
                        "Invalid value: {}. Supported values are: 'assistant', 'system', 'developer', and 'user'. \
                         (input[{at}].role)",
                        item["role"]
                    ));
                }
            };
            let is_wrong = |part: &&Value| !part["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
            match list(&item["content"]).iter().find(is_wrong) {
                Some(part) => refuse(format!(
                    "Invalid value: {}. Supported values are: {}. (input[{at}].content)",
                    part["type"],
                    kinds.join(", ")
                )),
                None => Ok(()),
            }
        }
        "function_call" => need("call_id")
            .and_then(|()| need("name"))
            .and_then(|()| need("arguments")),
        "function_call_output" => {
            need("call_id")?;
            if item["output"].is_string() || item["output"].is_array() {
                return Ok(());
            }
            refuse(format!("Missing required parameter: 'input[{at}].output'."))
        }
        "reasoning" if !item["summary"].is_array() => {
            refuse(format!("Missing required parameter: 'input[{at}].summary'."))
        }
        _ => Ok(()),
    }
}

fn calls_and_outputs(items: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut ever: HashSet<&str> = HashSet::new();
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => {
                if !ever.insert(id) {
                    return refuse(format!("Duplicate function call with call_id {id}."));
                }
                open.push(id);
            }
            Some("function_call_output") => match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.remove(at)),
                None => {
                    return refuse(format!(
                        "No tool call found for function call output with call_id {id}."
                    ));
                }
            },
            _ => {}
        }
    }
    match open.first() {
        Some(id) => refuse(format!("No tool output found for function call {id}.")),
        None => Ok(()),
    }
}

/// Reasoning must be sent back with its encrypted content, before the items that followed it.
fn reasoning(body: &Value, items: &[Value], seals: &SignatureRegistry) -> Result<(), Refusal> {
    for (at, item) in items.iter().enumerate() {
        let id = item["id"].as_str().unwrap_or_default();
        if item["type"] == "reasoning" {
            let follows = items
                .get(at + 1)
                .and_then(|next| next["type"].as_str().or(next["role"].as_str()));
            if !matches!(follows, Some("message" | "assistant" | "function_call" | "reasoning")) {
                return refuse(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                ));
            }
            match item["encrypted_content"].as_str() {
                Some(content) if !seals.contains(content) => {
                    return refuse(format!("The encrypted content for item {id} could not be verified."));
                }
                None if body["store"] == false => {
                    return refuse(format!(
                        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try \
                         again with `store` set to true, or remove this item from your input."
                    ));
                }
                _ => {}
            }
        }
        // Only a call sent back under its own id is linked to its reasoning.
        if item["type"] == "function_call" && id.starts_with("fc_") {
            let call = item["call_id"].as_str().unwrap_or_default();
            let turn = items[..at]
                .iter()
                .rev()
                .take_while(|item| item["type"] != "function_call_output" && item["role"] != "user");
            if seals.before_call(call).is_some() && !turn.into_iter().any(|item| item["type"] == "reasoning") {
                return refuse(format!(
                    "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item."
                ));
            }
        }
    }
    Ok(())
}
