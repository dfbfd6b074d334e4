//! The table of configuration keys for the documentation.

use super::key::visit;
use super::{Config, ProjectAccess, json_schema};
use serde_json::Value;

/// A Markdown table of all keys: variable, default, whether an untrusted project may set it, and description.
pub fn markdown_table() -> String {
    let schema = json_schema();
    let mut table = "| key | variable | default | project | meaning |\n|---|---|---|---|---|\n".to_owned();
    visit(Config::KEYS, &mut |path, key| {
        let variable = key.env.map(|name| format!("`{name}`")).unwrap_or_default();
        let default = key.default.and_then(|default| default());
        let default = default.map(|value| format!("`{value}`")).unwrap_or_default();
        let project = match key.project {
            ProjectAccess::Never | ProjectAccess::Deny => "",
            ProjectAccess::Allow => "yes",
            ProjectAccess::Tighten(_) | ProjectAccess::AtMost(_) | ProjectAccess::Filter(_) => "restrict",
            ProjectAccess::OwnProvider => "your providers",
            ProjectAccess::Extend => "extend",
        };
        let description = description(&schema, path).unwrap_or_default().replace('\n', " ");
        let key = path.join(".");
        table.push_str(&format!(
            "| `{key}` | {variable} | {default} | {project} | {description} |\n"
        ));
    });
    table
}

/// The description of a key in the JSON schema.
fn description(schema: &Value, path: &[String]) -> Option<String> {
    let mut current = schema;
    for name in path {
        if let Some(reference) = current.get("$ref").and_then(Value::as_str) {
            current = schema.pointer(reference.trim_start_matches('#'))?;
        }
        current = current.get("properties")?.get(name)?;
    }
    let text = current.get("description")?.as_str()?;
    let values = fixed_values(schema, current).unwrap_or_default();
    Some(match values.is_empty() {
        true => text.to_owned(),
        false => format!("{text} One of {}.", values.join(", ")),
    })
}

/// The values of a key that has a fixed set of them.
fn fixed_values(schema: &Value, key: &Value) -> Option<Vec<String>> {
    let choices = key.get("anyOf").and_then(Value::as_array);
    let reference = choices
        .map_or(key, |choices| choices.first().unwrap_or(key))
        .get("$ref")?
        .as_str()?;
    let values = schema
        .pointer(reference.trim_start_matches('#'))?
        .get("oneOf")?
        .as_array()?;
    let names = values.iter().filter_map(|value| value.get("const")?.as_str());
    Some(names.map(|name| format!("`{name}`")).collect())
}
