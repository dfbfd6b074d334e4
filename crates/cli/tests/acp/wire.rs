//! Checks recorded messages against the protocol's published schema.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use testkit::JsonSchemaValidator;

/// The types of one method.
#[derive(Default)]
struct Method {
    params: Option<JsonSchemaValidator>,
    result: Option<JsonSchemaValidator>,
}

/// Checks every message of a log: the envelope, and the parameters or result of its method.
pub(crate) fn check(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap();
    let schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap();
    let whole = JsonSchemaValidator::new(&schema).unwrap();
    let methods = methods(&schema);
    let mut asked: HashMap<(String, String), String> = HashMap::new();
    let mut count = 0;
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let by = entry["by"].as_str().unwrap().to_owned();
        let message: Value = serde_json::from_str(entry["line"].as_str().unwrap()).expect(line);
        count += 1;
        assert_eq!(whole.violations(&message), None, "{by}: {message}");
        let id = message["id"].to_string();
        match message["method"].as_str() {
            // Extensions are not part of the schema.
            Some(method) if method.starts_with('_') => {}
            Some(method) => {
                let known = methods
                    .get(method)
                    .unwrap_or_else(|| panic!("{method} is not in the schema"));
                check_type(known.params.as_ref(), &message["params"], method);
                if !message["id"].is_null() {
                    asked.insert((by, id), method.to_owned());
                }
            }
            None => {
                let other = if by == "agent" { "client" } else { "agent" };
                let method = asked.remove(&(other.to_owned(), id)).expect("an answer to a question");
                if message.get("error").is_none() {
                    check_type(methods[&method].result.as_ref(), &message["result"], &method);
                }
            }
        }
    }
    assert!(count > 10, "only {count} messages were recorded");
}

fn check_type(schema: Option<&JsonSchemaValidator>, value: &Value, method: &str) {
    let schema = schema.unwrap_or_else(|| panic!("{method} has no such type"));
    assert_eq!(schema.violations(value), None, "{method}: {value}");
}

fn methods(schema: &Value) -> HashMap<String, Method> {
    let mut methods: HashMap<String, Method> = HashMap::new();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let Some(method) = definition["x-method"].as_str() else {
            continue;
        };
        let part = json!({"$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"]});
        let validator = JsonSchemaValidator::new(&part).unwrap();
        let known = methods.entry(method.to_owned()).or_default();
        match name.ends_with("Response") {
            true => known.result = Some(validator),
            false => known.params = Some(validator),
        }
    }
    methods
}
