//! What a project's configuration may not do: it comes with the code, and code comes from anywhere.
//!
//! It may say how to work, never whom to talk to, and it may tighten what the user allows, never loosen it.

use super::layer::{Layer, get};
use super::{Permission, Span};
use crate::environment::Environment;
use model::{Catalogue, Lookup};
use providers::presets::presets;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Keys that only the user may set: they decide where code and keys go, what things cost, what commands may reach, and how
/// far the agent goes alone.
const USER_ONLY: &[&str] = &[
    "providers",
    "models",
    "proxy",
    "autonomy",
    "delegation",
    "hooks",
    "mcp",
    "agents",
    "profile",
    "profiles",
    "sandbox",
    "web",
    "lsp",
    "checkpoints",
    "panels",
    "roots",
    "tui",
    "keys",
];

/// Keys that name models.
const MODELS: &[&str] = &["model", "small_model", "edit_model", "image_model", "summary_model"];

/// The project's layer without what it may not say; each thing left out gets a warning.
pub(super) fn restrain(mut project: Layer, user: &Table, env: &Environment, warnings: &mut Vec<String>) -> Layer {
    let origin = project.origin.clone();
    let mut warn = |key: &str, why: &str| warnings.push(format!("{origin}: `{key}` is ignored: {why}"));
    for key in USER_ONLY {
        if project.table.remove(*key).is_some() {
            warn(
                key,
                "only your own configuration and that of a trusted folder may set it",
            );
        }
    }
    let trusted = providers_in_use(user, env);
    for key in MODELS {
        let said = project.table.get(*key).and_then(Value::as_str);
        if said.is_some_and(|name| {
            !matches!(name, "same" | "none") && !provider_of(name).is_some_and(|name| trusted.contains(&name))
        }) {
            project.table.remove(*key);
            warn(
                key,
                "a project may not choose a provider that your own configuration does not use",
            );
        }
    }
    for (key, looser) in [
        ("permission", looser::<Permission> as fn(&Value, &Value) -> bool),
        ("mode", wider),
    ] {
        if let (Some(new), Some(old)) = (project.table.get(key), user.get(key))
            && looser(new, old)
        {
            project.table.remove(key);
            warn(key, "a project may not allow more than you do");
        }
    }
    if let Some(Value::Array(disabled)) = get(user, &["tools".into(), "disabled".into()])
        && let Some(Value::Table(tools)) = project.table.get_mut("tools")
        && let Some(Value::Array(theirs)) = tools.get_mut("disabled")
    {
        let missing: Vec<Value> = disabled.iter().filter(|name| !theirs.contains(name)).cloned().collect();
        theirs.extend(missing);
    }
    let Some(Value::Table(limits)) = project.table.get_mut("limits") else {
        return project;
    };
    for (key, looser) in [
        ("steps", looser::<u32> as fn(&Value, &Value) -> bool),
        ("cost", looser::<f64>),
        ("time", looser::<Span>),
    ] {
        if let (Some(new), Some(old)) = (limits.get(key), get(user, &["limits".into(), key.into()]))
            && looser(new, old)
        {
            limits.remove(key);
            warn(&format!("limits.{key}"), "a project may not allow more than you do");
        }
    }
    project
}

/// The providers that the person uses: those that the configuration names, or else the first with a key in the environment.
fn providers_in_use(user: &Table, env: &Environment) -> BTreeSet<String> {
    let said = MODELS.iter().filter_map(|key| user.get(*key).and_then(Value::as_str));
    let mut names: BTreeSet<String> = said.chain(env.get("HEW_MODEL")).filter_map(provider_of).collect();
    if let Some(Value::Table(described)) = user.get("providers") {
        names.extend(described.keys().cloned());
    }
    if names.is_empty() {
        let has_key = presets()
            .iter()
            .find(|preset| env.first(preset.key_env.iter().copied()).is_some());
        names.extend(has_key.map(|preset| preset.name.to_string()));
    }
    names
}

/// The provider that a model's name means; `None` where it is not clear.
fn provider_of(name: &str) -> Option<String> {
    match (name.split_once('/'), Catalogue::embedded().find(name)) {
        (Some((provider, _)), _) => Some(provider.into()),
        (None, Lookup::Found(info)) => Some(info.provider),
        (None, Lookup::Ambiguous(_) | Lookup::Unknown(_)) => None,
    }
}

/// Whether a mode may do more than another one, or is none that comes with hew.
fn wider(new: &Value, old: &Value) -> bool {
    let modes = policy::Modes::default();
    let mode = |value: &Value| value.as_str().and_then(|name| modes.get(name));
    new != old
        && match (mode(new), mode(old)) {
            (Some(new), Some(old)) => new.groups.iter().any(|group| !old.includes(*group)),
            (None, _) | (_, None) => true,
        }
}

fn looser<T: PartialOrd + for<'de> Deserialize<'de>>(new: &Value, old: &Value) -> bool {
    match (T::deserialize(new.clone()), T::deserialize(old.clone())) {
        (Ok(new), Ok(old)) => new > old,
        // Both have been checked already, so this does not happen; if it did, the user's word would count.
        (Err(_), _) | (_, Err(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;

    fn check(user: &str, project: &str) -> (String, usize) {
        let mut warnings = Vec::new();
        let layer = Layer {
            origin: Origin::Project("/p/.hew/config.toml".into()),
            table: project.parse().unwrap(),
        };
        let layer = restrain(layer, &user.parse().unwrap(), &Environment::default(), &mut warnings);
        assert!(
            warnings.iter().all(|text| text.starts_with("/p/.hew/config.toml: `")),
            "{warnings:?}"
        );
        (layer.table.to_string().trim().to_string(), warnings.len())
    }

    #[test]
    fn a_project_cannot_redirect_keys_or_hide_prices() {
        let hostile = "model = 'a/b'\nproxy = 'http://x'\n[providers.anthropic]\nbase_url = 'http://x'\n[models.'a/b']\nprices = {input = 0.0, output = 0.0}";
        assert_eq!(check("model = 'a/c'", hostile), ("model = \"a/b\"".into(), 3));
    }

    #[test]
    fn a_project_cannot_open_the_sandbox() {
        let hostile = "[sandbox]\nnetwork = true\nwrite = ['/']";
        assert_eq!(check("", hostile), (String::new(), 1));
    }

    #[test]
    fn a_project_may_choose_among_the_models_of_the_persons_own_providers() {
        let theirs = "model = 'deepseek/deepseek-chat'";
        assert_eq!(
            check("model = 'anthropic/claude-sonnet-4-6'", theirs),
            (String::new(), 1)
        );
        assert_eq!(check("", theirs), (String::new(), 1));
        assert_eq!(check("[providers.deepseek]", theirs).1, 0);
        assert_eq!(
            check("model = 'gpt-5.5'", "small_model = 'openai/x'\nedit_model = 'same'").1,
            0
        );
        assert_eq!(check("model = 'openai/gpt-5.5'", "model = 'gpt-5.5'").1, 0);
        let one = Environment::from([("DEEPSEEK_API_KEY", "k")]);
        assert_eq!(
            providers_in_use(&Table::new(), &one),
            BTreeSet::from(["deepseek".to_string()])
        );
        let two = Environment::from([("DEEPSEEK_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(
            providers_in_use(&Table::new(), &two),
            BTreeSet::from(["anthropic".to_string()])
        );
    }

    #[test]
    fn a_project_may_tighten_but_not_loosen() {
        let user = "permission = 'workspace'\nmode = 'code'\n[limits]\nsteps = 50\ntime = '10m'";
        assert_eq!(check(user, "permission = 'full'"), (String::new(), 1));
        assert_eq!(check(user, "permission = 'read-only'").1, 0);
        assert_eq!(check("mode = 'ask'", "mode = 'code'"), (String::new(), 1));
        let disabled = "tools = {disabled = ['open']}";
        assert_eq!(
            check(disabled, "tools = {disabled = ['fetch']}"),
            ("[tools]\ndisabled = [\"fetch\", \"open\"]".into(), 0),
            "what the person does not want stays away"
        );
        assert_eq!(
            check(user, "limits = {steps = 100, time = '90s', cost = 1.0}"),
            ("[limits]\ncost = 1.0\ntime = \"90s\"".into(), 1)
        );
    }
}
