//! Settings with their descriptions, and permission rules with their origins.

use super::backend_context::BackendContext;
use crate::config::{self, ConfigOrigin, KeyRemoval};
use crate::failure::Result;
use crate::grants::{self, GrantFile};
use crate::paths;
use host::redaction::without_secrets;
use host::{permissions, project_context};
use policy::Grant;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tui::{PermissionRow, Revocation, RulesFileRow, SettingRow};

/// The rules file that is offered if there is none.
const DEFAULT_RULES: &str = "AGENTS.md";

/// All settings with a single value, and their origins.
pub(super) fn settings(here: &BackendContext) -> Result<Vec<SettingRow>> {
    let loaded = here.config()?;
    let schema = config::json_schema();
    let mut all = Vec::new();
    collect(&schema, &schema, "", &mut all);
    let leaves = loaded.values().into_iter().map(without_secrets);
    let mut configured: BTreeMap<String, (String, String)> = leaves
        .map(|leaf| (leaf.key, (leaf.value.to_string(), origin(&leaf.origin, here))))
        .collect();
    for setting in &mut all {
        (setting.value, setting.origin) = configured
            .remove(&setting.key)
            .unwrap_or_else(|| (String::new(), "not set".into()));
    }
    // Changed settings come first.
    let built_in = ConfigOrigin::BuiltIn.to_string();
    all.sort_by_key(|setting| (setting.value.is_empty(), setting.origin == built_in));
    Ok(all)
}

/// Changes a setting in the user's file; an empty value removes it.
pub(super) fn set(key: &str, value: &str, here: &BackendContext) -> Result<String> {
    let file = paths::user_config_file(&here.env)?;
    let place = paths::display_path(&file, &here.env);
    if value.trim().is_empty() {
        return Ok(match config::remove(&file, key)? {
            KeyRemoval::Removed => format!("removed `{key}` from {place}"),
            KeyRemoval::NotSet => format!("`{key}` is not set in {place}"),
        });
    }
    // A masked secret is displayed, and offered for editing.
    let stored = here.config()?.values().into_iter().find(|leaf| leaf.key == key);
    if let Some(stored) = stored {
        let real = stored.value.clone();
        let shown = without_secrets(stored).value;
        if shown != real && shown.to_string().trim_matches('"') == value.trim() {
            return Ok(format!("`{key}` is unchanged"));
        }
    }
    config::set(&file, key, value.trim())?;
    // The front end applies its own settings immediately.
    let when = if key.starts_with("tui.") {
        ""
    } else {
        "; it applies to new sessions"
    };
    Ok(format!("saved `{key}` in {place}{when}"))
}

/// The rules of all layers, the stored grants, and the grants of the session.
pub(super) fn rules(here: &BackendContext, session: &[Grant]) -> Result<Vec<PermissionRow>> {
    let loaded = here.config()?;
    let (found, _) = permissions::load(&loaded.layers, loaded.trust, &here.root, &here.env);
    let mut rules = Vec::new();
    for layer in found.rules.iter() {
        let (origin, revocation) = match layer.origin() {
            policy::RuleOrigin::User => ("your rules", Revocation::Stored),
            policy::RuleOrigin::TrustedProject => ("the project's rules", Revocation::None),
            policy::RuleOrigin::UntrustedProject => ("the project's rules (untrusted)", Revocation::None),
        };
        let [deny, ask, allow] = layer.rules();
        for (effect, list) in [("deny", deny), ("ask", ask), ("allow", allow)] {
            rules.extend(list.iter().map(|rule| PermissionRow {
                effect: effect.into(),
                rule: rule.to_string(),
                origin: origin.into(),
                revocation,
            }));
        }
    }
    let kept = GrantFile::open(&here.root, &here.env)?.load()?;
    let project = kept.projects.get(&here.root).cloned().unwrap_or_default();
    for (origin, list) in [("this project", &project), ("all projects", &kept.always)] {
        rules.extend(list.iter().map(|grant| PermissionRow {
            effect: "allow".into(),
            rule: grant.rule.to_string(),
            origin: format!("{origin} · {}", grants::describe_origin(grant)),
            revocation: Revocation::Stored,
        }));
    }
    rules.extend(session.iter().map(|grant| PermissionRow {
        effect: "allow".into(),
        rule: grant.rule.to_string(),
        origin: format!("this session · {}", grants::describe_origin(grant)),
        revocation: Revocation::Session,
    }));
    Ok(rules)
}

/// The rules files of new sessions. The usual file of the project, and that of the user, can be created.
pub(super) fn rules_files(here: &BackendContext) -> Result<Vec<RulesFileRow>> {
    let loaded = here.config()?;
    let files = project_context::rules_files(&here.root, &loaded, &here.env)?;
    let folder = project_context::user_config_folder(&here.env);
    let is_user = |path: &Path| folder.as_ref().is_some_and(|folder| path.starts_with(folder));
    let row = |path: PathBuf, more: &str| {
        let scope = if is_user(&path) { "all projects" } else { "this project" };
        RulesFileRow {
            name: paths::display_path(&path, &here.env),
            description: format!("{scope}{more}"),
            path,
        }
    };
    let has_user = files.iter().any(|path| is_user(path));
    let has_project = files.iter().any(|path| !is_user(path));
    let mut rows: Vec<RulesFileRow> = files.into_iter().map(|path| row(path, "")).collect();
    if !has_project {
        rows.insert(
            0,
            row(DEFAULT_RULES.into(), ", new file; /init lets the model write it"),
        );
    }
    if let Some(folder) = folder.as_ref().filter(|_| !has_user) {
        rows.push(row(folder.join(DEFAULT_RULES), ", new file"));
    }
    Ok(rows)
}

/// Revokes a rule or a grant.
pub(super) fn revoke(rule: &str, here: &BackendContext) -> Result<String> {
    Ok(grants::revoke_rule(rule, &here.root, &here.env)?.join("; "))
}

fn origin(origin: &ConfigOrigin, here: &BackendContext) -> String {
    match origin {
        ConfigOrigin::User(_) => "your file".into(),
        ConfigOrigin::Project(path) => paths::display_path(path, &here.env),
        ConfigOrigin::BuiltIn | ConfigOrigin::Variable(_) | ConfigOrigin::Flag(_) => origin.to_string(),
    }
}

/// Collects the keys of a schema with a single value, and their descriptions.
fn collect(whole: &Value, schema: &Value, prefix: &str, all: &mut Vec<SettingRow>) {
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
        // Tables with arbitrary keys and lists are edited in the file.
        if resolved.get("additionalProperties").is_some_and(Value::is_object) || resolved.get("items").is_some() {
            continue;
        }
        let about = [property, resolved]
            .iter()
            .find_map(|schema| schema.get("description")?.as_str());
        all.push(SettingRow {
            key,
            value: String::new(),
            origin: String::new(),
            description: about.unwrap_or_default().replace('\n', " "),
            choices: choices(resolved),
        });
    }
}

/// Follows references and skips `null`.
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
    fn settings_have_descriptions_and_choices() {
        let schema = config::json_schema();
        let mut all = Vec::new();
        collect(&schema, &schema, "", &mut all);
        let find = |key: &str| all.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(find("permission").choices, ["read-only", "workspace", "full"]);
        assert_eq!(find("compact").choices, ["true", "false"]);
        assert!(find("limits.cost").description.contains("dollars"));
        assert!(
            all.iter().all(|setting| !setting.description.is_empty()),
            "each setting has a description"
        );
    }
}
