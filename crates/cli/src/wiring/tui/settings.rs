//! Settings with their meaning, from the schema of the configuration; and rules with who said them.

use super::here::Here;
use crate::commands::permissions::take_back;
use crate::config::{self, Origin, Unset};
use crate::failure::Result;
use crate::grants::{self, GrantFile};
use crate::places;
use crate::wiring::{permissions, usual};
use serde_json::Value;
use std::collections::BTreeMap;
use tui::{Rule, Setting};

/// All settings that have one value, with where it comes from.
pub(super) fn settings(here: &Here) -> Result<Vec<Setting>> {
    let loaded = here.config()?;
    let schema = config::json_schema();
    let mut all = Vec::new();
    collect(&schema, &schema, "", &mut all);
    let leaves = usual::leaves(&loaded).into_iter();
    let mut said: BTreeMap<String, (String, String)> = leaves
        .map(|leaf| (leaf.key, (leaf.value.to_string(), origin(&leaf.origin, here))))
        .collect();
    for setting in &mut all {
        (setting.value, setting.origin) = said
            .remove(&setting.key)
            .unwrap_or_else(|| (String::new(), "not set".into()));
    }
    // What somebody set comes first: that is what people look for.
    let built_in = Origin::BuiltIn.to_string();
    all.sort_by_key(|setting| (setting.value.is_empty(), setting.origin == built_in));
    Ok(all)
}

/// Changes a setting in the person's own file; an empty value removes it.
pub(super) fn set(key: &str, value: &str, here: &Here) -> Result<String> {
    let file = places::user_config(&here.env)?;
    let place = places::tidy(&file, &here.env);
    if value.trim().is_empty() {
        return Ok(match config::remove(&file, key)? {
            Unset::Removed => format!("`{key}` is removed from {place}"),
            Unset::NotThere => format!("`{key}` is not set in {place}"),
        });
    }
    config::set(&file, key, value.trim())?;
    Ok(format!("`{key}` is set in {place}; it counts from the next session on"))
}

/// Rules of all layers, and remembered answers.
pub(super) fn rules(here: &Here) -> Result<Vec<Rule>> {
    let loaded = here.config()?;
    let (found, _) = permissions::permissions(&loaded.layers, loaded.trust, &here.root, &here.env);
    let mut rules = Vec::new();
    for layer in found.rules.iter() {
        let (origin, revocable) = match layer.origin() {
            policy::Origin::User => ("your rules", true),
            policy::Origin::TrustedProject => ("the project's rules", false),
            policy::Origin::UntrustedProject => ("the project's rules, not trusted", false),
        };
        let [deny, ask, allow] = layer.rules();
        for (effect, list) in [("deny", deny), ("ask", ask), ("allow", allow)] {
            rules.extend(list.iter().map(|rule| Rule {
                effect: effect.into(),
                rule: rule.to_string(),
                origin: origin.into(),
                revocable,
            }));
        }
    }
    let kept = GrantFile::open(&here.root, &here.env)?.load()?;
    let project = kept.projects.get(&here.root).cloned().unwrap_or_default();
    for (origin, list) in [
        ("answers for this project", &project),
        ("answers that count everywhere", &kept.always),
    ] {
        rules.extend(list.iter().map(|grant| Rule {
            effect: "allow".into(),
            rule: grant.rule.to_string(),
            origin: format!("{origin}: {}", grants::describe(grant)),
            revocable: true,
        }));
    }
    Ok(rules)
}

/// Takes a rule or an answer back.
pub(super) fn revoke(rule: &str, here: &Here) -> Result<String> {
    Ok(take_back(rule, &here.root, &here.env)?.join("; "))
}

fn origin(origin: &Origin, here: &Here) -> String {
    match origin {
        Origin::User(_) => "your file".into(),
        Origin::Project(path) => places::tidy(path, &here.env),
        Origin::BuiltIn | Origin::Variable(_) | Origin::Flag(_) => origin.to_string(),
    }
}

/// The keys of a schema that hold one value each, with what they mean.
fn collect(whole: &Value, schema: &Value, prefix: &str, all: &mut Vec<Setting>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let key = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        let resolved = resolve(whole, property);
        if resolved.get("properties").is_some() {
            collect(whole, resolved, &key, all);
            continue;
        }
        // Tables of one's own making and lists are edited in the file.
        if resolved.get("additionalProperties").is_some_and(Value::is_object) || resolved.get("items").is_some() {
            continue;
        }
        let about = [property, resolved]
            .iter()
            .find_map(|schema| schema.get("description")?.as_str());
        all.push(Setting {
            key,
            value: String::new(),
            origin: String::new(),
            about: about.unwrap_or_default().replace('\n', " "),
            choices: choices(resolved),
        });
    }
}

/// What a schema refers to, past `null`.
fn resolve<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = reference.trim_start_matches('#');
        return whole.pointer(pointer).map_or(schema, |found| resolve(whole, found));
    }
    let some = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    match some
        .into_iter()
        .find(|choice| choice.get("type").and_then(Value::as_str) != Some("null"))
    {
        Some(choice) => resolve(whole, choice),
        None => schema,
    }
}

fn choices(schema: &Value) -> Vec<String> {
    let kind = schema.get("type");
    let is_bool = kind.is_some_and(|kind| {
        kind == "boolean"
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.contains(&Value::from("boolean")))
    });
    if is_bool {
        return vec!["true".into(), "false".into()];
    }
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let constants = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let constants = constants.filter_map(|choice| choice.get("const"));
    listed
        .chain(constants)
        .filter_map(|choice| choice.as_str().map(Into::into))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_meaning_and_their_choices() {
        let schema = config::json_schema();
        let mut all = Vec::new();
        collect(&schema, &schema, "", &mut all);
        let find = |key: &str| all.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(find("permission").choices, ["read-only", "workspace", "full"]);
        assert_eq!(find("compact").choices, ["true", "false"]);
        assert!(find("limits.cost").about.contains("dollars"));
        assert!(
            all.iter().all(|setting| !setting.about.is_empty()),
            "each says what it means"
        );
    }
}
