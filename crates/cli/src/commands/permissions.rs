//! `hew permissions`: shows, changes and tests permission rules.

use super::load;
use crate::args::{GlobalArgs, PermissionsCommand as Args, PermissionsTestArgs, RuleEffect};
use crate::config;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::grants::{self, GrantFile};
use crate::output::format::plural;
use crate::{output, paths, project};
use host::permissions;
use host::project_context::load_modes;
use policy::{Action, Decision, Grants, Policy, Rule};
use serde_json::{Value, json};
use session::GrantStore as _;
use std::sync::Arc;

pub(super) fn permissions(command: Option<&Args>, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    match command {
        None => list(false, global, env),
        Some(Args::List { json }) => list(*json, global, env),
        Some(Args::Add { effect, rule, project }) => add(*effect, rule, *project, global, env),
        Some(Args::Revoke { rule: Some(rule), .. }) => revoke(rule, global, env),
        Some(Args::Revoke { rule: None, .. }) => {
            let root = project::root(global.cwd.as_deref(), env)?;
            let count = GrantFile::open(&root, env)?.revoke_all()?;
            let answers = plural(count as u64, "saved answer");
            output::print_stderr(&format!("revoked {answers}\n"));
            Ok(ExitStatus::Done)
        }
        Some(Args::Test(test)) => test_action(test, false, global, env),
        Some(Args::Explain(test)) => test_action(test, true, global, env),
    }
}

/// The rules of each layer and the saved answers.
fn list(json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (rules, problems) = permissions::load(&loaded.layers, loaded.trust, &root, env);
    print_stderr(&problems);
    let kept = GrantFile::open(&root, env)?.load()?;
    let here = kept.projects.get(&root).cloned().unwrap_or_default();
    if json {
        let layers: Vec<Value> = rules
            .rules
            .iter()
            .map(|layer| {
                let [deny, ask, allow] = layer.rules();
                json!({ "origin": layer.origin(), "deny": deny, "ask": ask, "allow": allow })
            })
            .collect();
        let value = json!({
            "v": 1, "permission": loaded.config.permission, "trusted": loaded.trust == crate::trust::ProjectTrust::Trusted,
            "rules": layers, "granted": { "project": here, "always": kept.always },
        });
        output::print_checked(&output::pretty(&value)?)?;
        return Ok(ExitStatus::Done);
    }
    let mut text = String::new();
    for layer in rules.rules.iter() {
        text.push_str(&format!("{}\n", permissions::heading(layer.origin())));
        let [deny, ask, allow] = layer.rules();
        for (word, rules) in [("deny", deny), ("ask", ask), ("allow", allow)] {
            rules
                .iter()
                .for_each(|rule| text.push_str(&format!("  {word:<5} {rule}\n")));
        }
    }
    for (title, list) in [
        ("answers for this project", &here),
        ("grants for all projects", &kept.always),
    ] {
        if !list.is_empty() {
            text.push_str(&format!("{title}\n"));
            list.iter()
                .for_each(|grant| text.push_str(&format!("  allow {}\n", grants::describe(grant))));
        }
    }
    if text.is_empty() {
        text = "no rules or grants; only the permission level applies\n".into();
    }
    output::print_checked(&text)?;
    Ok(ExitStatus::Done)
}

fn add(effect: RuleEffect, rule: &str, project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let rule: Rule = rule.parse().map_err(invalid_rule)?;
    let file = target(project, global, env)?;
    let key = format!("permissions.{}", effect.word());
    let mut rules = config::list(&file, &key)?;
    if !rules.contains(&rule.to_string()) {
        rules.push(rule.to_string());
    }
    config::set(&file, &key, &toml::Value::from(rules).to_string())?;
    output::print_stderr(&format!("added to {}\n", paths::display_path(&file, env)));
    Ok(ExitStatus::Done)
}

fn revoke(rule: &str, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let messages = grants::revoke_rule(rule, &root, env)?;
    output::print_stderr(&format!("{}\n", messages.join("\n")));
    Ok(ExitStatus::Done)
}

fn test_action(test: &PermissionsTestArgs, explain: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (mut rules, problems) = permissions::load(&loaded.layers, loaded.trust, &root, env);
    print_stderr(&problems);
    let mut grants = Grants::default();
    let kept = GrantFile::open(&root, env)?.current();
    kept.iter().for_each(|grant| grants.add(grant.clone()));
    rules.grants = Arc::new(grants);
    // As in `permissions test run -- ls -l`.
    let is_separator = |(at, word): &(usize, &String)| *at == 1 && *word == "--";
    let words = test.action.iter().enumerate().filter(|entry| !is_separator(entry));
    let words: Vec<&str> = words.map(|(_, word)| word.as_str()).collect();
    let action = Action::parse(&words.join(" "), &rules.project).map_err(invalid_rule)?;
    let name = test.mode.as_deref().unwrap_or(&loaded.config.mode);
    let mode = load_modes(&root, loaded.trust, env).choose(name, &[])?;
    let tool = test.tool.as_deref().unwrap_or(permissions::usual_tool(&action));
    let level = loaded.config.permission;
    let policy = Policy {
        level: level.into(),
        permissions: rules,
    };
    let (word, why) = match policy.decide(&mode, tool, &action) {
        Decision::Allow => ("allow", None),
        Decision::Ask { why } => ("ask", Some(why)),
        Decision::Deny { why } => ("deny", Some(why)),
    };
    let about = permissions::matching_rules(&policy, tool, &action);
    if test.json {
        let value = json!({
            "v": 1, "decision": word, "why": why, "tool": tool, "mode": mode.name, "permission": level,
            "rules": about, "action": action,
        });
        output::print_checked(&output::pretty(&value)?)?;
    } else {
        let mut text = match why {
            Some(why) => format!("{word}: {why}\n"),
            None => format!("{word}\n"),
        };
        if explain {
            text.push_str(&format!(
                "  tool {tool}, mode {}, permission {}\n",
                mode.name,
                json!(level)
            ));
            about.iter().for_each(|rule| text.push_str(&format!("  {rule}\n")));
        }
        output::print_checked(&text)?;
    }
    Ok(match test.expect {
        Some(expected) if expected.word() != word => ExitStatus::Failed,
        Some(_) | None => ExitStatus::Done,
    })
}

fn target(project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<std::path::PathBuf> {
    if !project {
        return paths::user_config_file(env);
    }
    let root = project::root(global.cwd.as_deref(), env)?;
    Ok(project::config_file(&root).unwrap_or_else(|| root.join(".hew").join("config.toml")))
}

fn invalid_rule(error: policy::Error) -> Failure {
    Failure::usage(error.to_string()).hint("docs/permissions.md describes the rules")
}

fn print_stderr(problems: &[String]) {
    problems
        .iter()
        .for_each(|problem| output::print_stderr(&format!("warning: {problem}\n")));
}
