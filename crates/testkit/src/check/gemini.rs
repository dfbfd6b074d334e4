//! The rules of Gemini.

use serde_json::Value;

use super::refuse;
use crate::parsed_request::ParsedRequest;
use crate::refusal::Refusal;
use crate::signatures::SignatureRegistry;
use crate::wire::{field, list};

/// Keywords allowed in a schema in `parameters`; `parametersJsonSchema` accepts all of JSON Schema.
const SCHEMA_FIELDS: &str = "type format title description nullable enum maxItems minItems properties required \
                             minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering \
                             default items minimum maximum";

pub(super) fn check(seen: &ParsedRequest, seals: &SignatureRegistry) -> Result<(), Refusal> {
    let contents = list(&seen.raw["contents"]);
    if contents.is_empty() {
        return refuse("* GenerateContentRequest.contents: contents is not specified");
    }
    for (at, content) in contents.iter().enumerate() {
        if !matches!(content["role"].as_str(), None | Some("user" | "model" | "function")) {
            return refuse("Please use a valid role: user, model.");
        }
        if list(&content["parts"]).is_empty() {
            return refuse(format!(
                "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
            ));
        }
    }
    functions(&seen.raw)?;
    calls_and_responses(contents)?;
    if seen.model.starts_with("gemini-3") {
        signatures(contents, seals)?;
    }
    Ok(())
}

fn functions(body: &Value) -> Result<(), Refusal> {
    for (t, tool) in list(&body["tools"]).iter().enumerate() {
        for (f, function) in field(tool, "functionDeclarations")
            .map_or(&[][..], list)
            .iter()
            .enumerate()
        {
            let location = format!("tools[{t}].function_declarations[{f}]");
            let name = function["name"].as_str().unwrap_or_default();
            let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
            if !starts_well || name.len() > 64 || !name.chars().all(allowed) {
                return refuse(format!(
                    "* GenerateContentRequest.{location}.name: Invalid function name. Must start with a letter or an \
                     underscore."
                ));
            }
            schema(&function["parameters"], &format!("{location}.parameters"))?;
        }
    }
    Ok(())
}

fn schema(value: &Value, location: &str) -> Result<(), Refusal> {
    let Some(fields) = value.as_object() else { return Ok(()) };
    if let Some(unknown) = fields
        .keys()
        .find(|key| !SCHEMA_FIELDS.split_whitespace().any(|known| known == *key))
    {
        return refuse(format!(
            "Invalid JSON payload received. Unknown name \"{unknown}\" at '{location}': Cannot find field."
        ));
    }
    if value["type"].is_array() {
        return refuse(format!(
            "Invalid JSON payload received. Unknown name \"type\" at '{location}': Proto field is not repeating, \
             cannot start list."
        ));
    }
    schema(&value["items"], &format!("{location}.items"))?;
    for (n, option) in list(&value["anyOf"]).iter().enumerate() {
        schema(option, &format!("{location}.any_of[{n}]"))?;
    }
    let properties = value["properties"].as_object().into_iter().flatten();
    properties
        .enumerate()
        .try_for_each(|(n, (_, inner))| schema(inner, &format!("{location}.properties[{n}].value")))
}

/// Each turn with calls is followed by the same number of responses with the same names.
fn calls_and_responses(contents: &[Value]) -> Result<(), Refusal> {
    let named = |content: &Value, kind: &str| -> Vec<(String, String)> {
        let parts = list(&content["parts"]).iter().filter_map(|part| field(part, kind));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        parts.map(|part| (text(&part["name"]), text(&part["id"]))).collect()
    };
    let mut open: Vec<(String, String)> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let responses = named(content, "functionResponse");
        if responses.len() != open.len() {
            return refuse(
                "Please ensure that the number of function response parts is equal to the number of function call \
                 parts of the function call turn.",
            );
        }
        for (name, id) in &responses {
            // A response without an id belongs to the first open call with its name.
            let matches_name =
                |call: &(String, String)| call.0 == *name && (id.is_empty() || call.1.is_empty() || call.1 == *id);
            match open.iter().position(matches_name) {
                Some(found) => drop(open.remove(found)),
                None => {
                    return refuse(format!(
                        "Please ensure that function response turn comes immediately after a function call turn. \
                         And the function response name `{name}` must match a function call name."
                    ));
                }
            }
        }
        open = named(content, "functionCall");
        let before = at.checked_sub(1).map(|before| &contents[before]["role"]);
        if !open.is_empty() && before.is_none_or(|role| role == "model") {
            return refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function \
                 response turn.",
            );
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    refuse(
        "Please ensure that the number of function response parts is equal to the number of function call parts of \
         the function call turn.",
    )
}

/// Calls of the current turn must keep their signature.
fn signatures(contents: &[Value], seals: &SignatureRegistry) -> Result<(), Refusal> {
    let is_question = |content: &Value| {
        content["role"] != "model"
            && list(&content["parts"])
                .iter()
                .any(|part| field(part, "functionResponse").is_none())
    };
    let start = contents.iter().rposition(is_question).unwrap_or(0);
    let answers = contents.iter().enumerate().skip(start);
    for (at, content) in answers.filter(|(_, content)| content["role"] == "model") {
        // Only the first of parallel calls has one.
        let mut parts = list(&content["parts"]).iter();
        let first = parts.find_map(|part| Some((part, field(part, "functionCall")?)));
        let Some((part, call)) = first else { continue };
        let expected = call["id"].as_str().and_then(|id| seals.before_call(id));
        let found = field(part, "thoughtSignature")
            .and_then(Value::as_str)
            .map(in_standard_letters);
        if expected.is_some_and(|expected| found.as_deref() != Some(expected)) {
            return refuse(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to \
                 work correctly, and missing thought_signature may lead to degraded model performance. Additional \
                 data, function call `default_api:{}`, position {}.",
                call["name"].as_str().unwrap_or_default(),
                at + 1
            ));
        }
    }
    Ok(())
}

/// Signatures are bytes on this wire; clients may use either base64 alphabet.
fn in_standard_letters(base64: &str) -> String {
    base64.replace('-', "+").replace('_', "/")
}
