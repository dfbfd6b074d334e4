//! Restricts the configuration of an untrusted project to the keys that declare it, see [`ProjectAccess`].

use super::key::{ConfigKey, ProjectAccess};
use super::layer::{ConfigLayer, get};
use super::{Config, DEFAULT_STEPS, HumanDuration};
use crate::environment::ProcessEnv;
use model::{Catalogue, ModelLookup};
use providers::presets::presets;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Removes from a project's layer what the project may not set, with a warning for each key.
pub(super) fn restrict(
    mut project: ConfigLayer,
    user: &Table,
    env: &ProcessEnv,
    warnings: &mut Vec<String>,
) -> ConfigLayer {
    let origin = project.origin.clone();
    let providers = providers_in_use(user, env);
    let mut warn = |key: &str, reason: &str| warnings.push(format!("{origin}: `{key}` is ignored: {reason}"));
    let mut restriction = Restriction {
        user,
        providers: &providers,
        path: Vec::new(),
        warn: &mut warn,
    };
    restriction.restrict(Config::KEYS, &mut project.table);
    project
}

/// Why a project may not set a key, even if it is trusted.
const USER_ONLY: &str = "only your own configuration may set it";

/// Why an untrusted project may not set a key to a value.
const ALLOWS_MORE: &str = "a project may not allow more than you do";

/// Removes from the layer of a trusted project what only the user may set, with a warning for each key.
pub(super) fn remove_user_keys(mut project: ConfigLayer, warnings: &mut Vec<String>) -> ConfigLayer {
    let mut paths: Vec<Vec<String>> = Vec::new();
    super::key::visit(Config::KEYS, &mut |path, key| {
        if matches!(key.project, ProjectAccess::Never) && get(&project.table, path).is_some() {
            paths.push(path.to_vec());
        }
    });
    for path in paths {
        warnings.push(format!(
            "{}: `{}` is ignored: {USER_ONLY}",
            project.origin,
            path.join(".")
        ));
        let (name, tables) = path
            .split_last()
            .map_or((String::new(), &[][..]), |(name, tables)| (name.clone(), tables));
        let table = tables
            .iter()
            .try_fold(&mut project.table, |table, name| table.get_mut(name)?.as_table_mut());
        table.and_then(|table| table.remove(&name));
    }
    project
}

/// The names of the top-level keys in a table that an untrusted project may not set.
pub fn restricted_keys(table: &Table) -> impl Iterator<Item = &'static str> {
    let keys = Config::KEYS.iter().filter(|key| key.is_user_only());
    keys.filter(|key| table.contains_key(key.name)).map(|key| key.name)
}

struct Restriction<'a> {
    user: &'a Table,
    providers: &'a BTreeSet<String>,
    path: Vec<String>,
    warn: &'a mut dyn FnMut(&str, &str),
}

impl Restriction<'_> {
    fn restrict(&mut self, keys: &'static [ConfigKey], table: &mut Table) {
        for key in keys {
            let Some(value) = table.get_mut(key.name) else { continue };
            self.path.push(key.name.into());
            if !key.is_user_only()
                && !key.table.is_empty()
                && let Value::Table(inner) = value
            {
                self.restrict(key.table, inner);
            } else if let (ProjectAccess::Filter(filter), Value::Table(inner)) = (key.project, &mut *value) {
                let own = get(self.user, &self.path).and_then(Value::as_table);
                for name in filter(inner, own) {
                    (self.warn)(&format!("{}.{name}", self.path.join(".")), ALLOWS_MORE);
                }
            } else if let Some(reason) = self.check(key, value) {
                table.remove(key.name);
                (self.warn)(&self.path.join("."), reason);
            }
            self.path.pop();
        }
    }

    /// Why the project may not set a key to a value.
    fn check(&self, key: &ConfigKey, value: &mut Value) -> Option<&'static str> {
        let own = get(self.user, &self.path);
        match key.project {
            ProjectAccess::Never => Some(USER_ONLY),
            ProjectAccess::Deny => Some("only your own configuration and that of a trusted project may set it"),
            ProjectAccess::Allow | ProjectAccess::Filter(_) => None,
            ProjectAccess::Tighten(allows_more) => {
                own.is_some_and(|own| allows_more(value, own)).then_some(ALLOWS_MORE)
            }
            ProjectAccess::AtMost(default) => {
                let most = own.and_then(Value::as_integer).unwrap_or(i64::from(default));
                let is_more = value.as_integer().is_none_or(|value| value > most);
                is_more.then_some(ALLOWS_MORE)
            }
            ProjectAccess::OwnProvider => {
                let name = value.as_str().filter(|name| !matches!(*name, "same" | "none"));
                name.is_some_and(|name| !provider_of(name).is_some_and(|name| self.providers.contains(&name)))
                    .then_some("a project may not choose a provider that your own configuration does not use")
            }
            ProjectAccess::Extend => {
                if let (Some(Value::Array(own)), Value::Array(project)) = (own, value) {
                    let missing: Vec<Value> = own.iter().filter(|entry| !project.contains(entry)).cloned().collect();
                    project.extend(missing);
                }
                None
            }
        }
    }
}

/// The providers that the user uses: those that the configuration names, or else the first with a key in the
/// environment.
fn providers_in_use(user: &Table, env: &ProcessEnv) -> BTreeSet<String> {
    let models = Config::KEYS
        .iter()
        .filter(|key| matches!(key.project, ProjectAccess::OwnProvider));
    let models = models.filter_map(|key| user.get(key.name).and_then(Value::as_str));
    let mut names: BTreeSet<String> = models.chain(env.get("HEW_MODEL")).filter_map(provider_of).collect();
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

/// The provider of a model; `None` if it is unknown or ambiguous.
fn provider_of(name: &str) -> Option<String> {
    match (name.split_once('/'), Catalogue::embedded().find(name)) {
        (Some((provider, _)), _) => Some(provider.into()),
        (None, ModelLookup::Found(info)) => Some(info.provider),
        (None, ModelLookup::Ambiguous(_) | ModelLookup::Unknown(_)) => None,
    }
}

/// Whether a mode allows more than another one, or is not a built-in mode.
pub(super) fn allows_more(new: &Value, old: &Value) -> bool {
    let modes = policy::ModeSet::default();
    let mode = |value: &Value| value.as_str().and_then(|name| modes.get(name));
    new != old
        && match (mode(new), mode(old)) {
            (Some(new), Some(old)) => new.groups.iter().any(|group| !old.includes(*group)),
            (None, _) | (_, None) => true,
        }
}

/// Removes rules that allow something.
pub(super) fn remove_allow_rules(rules: &mut Table, _: Option<&Table>) -> Vec<String> {
    let removed = rules.remove("allow");
    removed.map(|_| "allow".to_owned()).into_iter().collect()
}

/// Removes approval that allows more than the user's.
pub(super) fn remove_looser_approval(approval: &mut Table, user: Option<&Table>) -> Vec<String> {
    let is_looser = |name: &str, value: &Value| {
        let own = user.and_then(|user| user.get(name));
        match (name, own) {
            // A longer time leaves more time to object.
            ("followups", own) => own.is_none_or(|own| is_looser::<HumanDuration>(own, value)),
            ("max_requests", None) => value
                .as_integer()
                .is_none_or(|most| most > i64::from(DEFAULT_STEPS) + 1),
            ("max_requests", Some(own)) => is_looser::<u32>(value, own),
            ("max_cost", own) => own.is_some_and(|own| is_looser::<f64>(value, own)),
            (_, own) => value.as_str() == Some("allow") && own != Some(value),
        }
    };
    let names: Vec<String> = approval
        .iter()
        .filter(|(name, value)| is_looser(name, value))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &names {
        approval.remove(name);
    }
    names
}

/// Whether a value is greater than another one.
pub(super) fn is_looser<T: PartialOrd + for<'de> Deserialize<'de>>(new: &Value, old: &Value) -> bool {
    match (T::deserialize(new.clone()), T::deserialize(old.clone())) {
        (Ok(new), Ok(old)) => new > old,
        // Both have been checked already.
        (Err(_), _) | (_, Err(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigOrigin;
    use super::*;

    fn check(user: &str, project: &str) -> (String, usize) {
        let mut warnings = Vec::new();
        let layer = ConfigLayer {
            origin: ConfigOrigin::Project("/p/.hew/config.toml".into()),
            table: project.parse().unwrap(),
        };
        let layer = restrict(layer, &user.parse().unwrap(), &ProcessEnv::default(), &mut warnings);
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
    fn a_project_may_choose_among_the_models_of_the_users_providers() {
        let project = "model = 'deepseek/deepseek-chat'";
        assert_eq!(
            check("model = 'anthropic/claude-sonnet-4-6'", project),
            (String::new(), 1)
        );
        assert_eq!(check("", project), (String::new(), 1));
        assert_eq!(check("[providers.deepseek]", project).1, 0);
        assert_eq!(
            check("model = 'gpt-5.5'", "small_model = 'openai/x'\nedit_model = 'same'").1,
            0
        );
        assert_eq!(check("model = 'openai/gpt-5.5'", "model = 'gpt-5.5'").1, 0);
        let one = ProcessEnv::from([("DEEPSEEK_API_KEY", "k")]);
        assert_eq!(
            providers_in_use(&Table::new(), &one),
            BTreeSet::from(["deepseek".to_string()])
        );
        let two = ProcessEnv::from([("DEEPSEEK_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
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
            "the user's entries stay"
        );
        assert_eq!(
            check("protected = ['deploy/**']", "protected = []"),
            ("protected = [\"deploy/**\"]".into(), 0)
        );
        let costs = "max_context = 50000\nmax_output = 4000";
        assert_eq!(
            check(costs, "max_context = 50001\nmax_output = 4001"),
            (String::new(), 2)
        );
        assert_eq!(check(costs, "max_context = 40000\nmax_output = 3000").1, 0);
        assert_eq!(
            check(user, "limits = {steps = 100, time = '90s', cost = 1.0}"),
            ("[limits]\ncost = 1.0\ntime = \"90s\"".into(), 1)
        );
        // Without a limit of the user, approval is requested after a number of steps.
        assert_eq!(check("", "limits = {steps = 100}").1, 0);
        assert_eq!(check("", "limits = {steps = 100000}").1, 1);
    }

    #[test]
    fn a_project_cannot_approve_more_than_the_user() {
        let kept = |user: &str, project: &str| check(user, &format!("[approval]\n{project}"));
        assert_eq!(
            kept("", "commands = 'allow'\nwrites = 'ask'"),
            ("[approval]\nwrites = \"ask\"".into(), 1)
        );
        assert_eq!(kept("approval = {commands = 'allow'}", "commands = 'allow'").1, 0);
        assert_eq!(kept("approval = {commands = 'ask'}", "commands = 'allow'").1, 1);
        for (user, project, warnings) in [
            ("", "max_requests = 201", 0),
            ("", "max_requests = 202", 1),
            ("approval = {max_requests = 5}", "max_requests = 6", 1),
            ("", "max_cost = 5.0", 0),
            ("approval = {max_cost = 1.0}", "max_cost = 5.0", 1),
            ("", "followups = '1s'", 1),
            ("approval = {followups = '10s'}", "followups = '1s'", 1),
            ("approval = {followups = '10s'}", "followups = '20s'", 0),
        ] {
            assert_eq!(kept(user, project).1, warnings, "{user} {project}");
        }
        let rules = "permissions = {allow = ['*'], deny = ['run(rm)']}";
        assert_eq!(check("", rules), ("[permissions]\ndeny = [\"run(rm)\"]".into(), 1));
    }

    #[test]
    fn a_project_may_set_only_what_describes_work_or_restricts() {
        let mut free = Vec::new();
        super::super::key::visit(Config::KEYS, &mut |path, key| {
            if matches!(key.project, ProjectAccess::Allow) {
                free.push(path.join("."));
            }
        });
        assert_eq!(
            free,
            [
                "compact",
                "language",
                "rules",
                "reminder",
                "effort",
                "temperature",
                "title",
                "tools.edit_format",
                "tools.mcp_listed",
                "terminal.foreground",
            ],
            "a key that widens what a reply can do is not for untrusted projects"
        );
    }
}
