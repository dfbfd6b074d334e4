//! `hew config`: shows and changes the configuration.

use super::load;
use crate::args::{ConfigCommand as Args, GlobalArgs};
use crate::config::{self, ConfigFiles, ConfigValue, KeyRemoval};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::{atomic, output, paths, project};
use backends::{config_problems, open_editor};
use host::redaction::without_secrets;
use std::path::PathBuf;
use toml::{Table, Value};

pub(super) async fn config(command: Option<&Args>, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    match command {
        None => show(false, false, global, env)?,
        Some(Args::Show { origin, json }) => show(*origin, *json, global, env)?,
        Some(Args::Path) => path(global, env)?,
        Some(Args::Get { key }) => get(key, global, env)?,
        Some(Args::Set { key, value, project }) => {
            let file = target(*project, global, env)?;
            check_model(key, value, global, env)?;
            config::set(&file, key, value)?;
            output::print_stderr(&format!("set in {}\n", paths::display_path(&file, env)));
        }
        Some(Args::Unset { key, project }) => {
            let file = target(*project, global, env)?;
            let place = paths::display_path(&file, env);
            output::print_stderr(&match config::remove(&file, key)? {
                KeyRemoval::Removed => format!("removed from {place}\n"),
                KeyRemoval::NotSet => format!("`{key}` is not set in {place}\n"),
            });
        }
        Some(Args::Edit { project }) => return edit(*project, global, env).await,
        Some(Args::Schema) => output::print_checked(&output::pretty(&config::json_schema())?)?,
    }
    Ok(ExitStatus::Done)
}

/// Opens the file in the user's editor, and reports its errors afterwards.
async fn edit(project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let file = target(project, global, env)?;
    let root = project::root(global.cwd.as_deref(), env)?;
    if !file.exists() {
        atomic::write(&file, "").map_err(|error| Failure::file("write", &file, &error))?;
    }
    open_editor(&file, &root, env).await?;
    let mistakes = config::file_errors(Some(&root), env);
    if !mistakes.is_empty() {
        mistakes.iter().for_each(output::print_failure);
        output::print_stderr("hint: `hew config edit` opens it again\n");
        return Ok(ExitStatus::Usage);
    }
    let (_, loaded) = load(global, env, Vec::new())?;
    for complaint in config_problems(&loaded, &root, env) {
        output::print_stderr(&format!("warning: {complaint}\n"));
    }
    Ok(ExitStatus::Done)
}

fn show(origin: bool, json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let (root, loaded) = load(global, env, Vec::new())?;
    for complaint in config_problems(&loaded, &root, env) {
        output::print_stderr(&format!("warning: {complaint}\n"));
    }
    let leaves: Vec<ConfigValue> = loaded.values().into_iter().map(without_secrets).collect();
    if json {
        let values: Vec<serde_json::Value> = leaves
            .iter()
            .map(|leaf| serde_json::json!({"key": leaf.key, "value": leaf.value, "origin": leaf.origin.to_string()}))
            .collect();
        return output::print_checked(&output::pretty(&values)?);
    }
    if origin {
        let text: String = leaves
            .iter()
            .map(|leaf| format!("{} = {}  # {}\n", leaf.key, leaf.value, leaf.origin))
            .collect();
        return output::print_checked(&text);
    }
    let mut table = Table::new();
    for leaf in leaves {
        config::insert(&mut table, &config::parse_key_path(&leaf.key)?, leaf.value);
    }
    output::print_checked(&table.to_string())
}

fn path(global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let files = ConfigFiles::find(Some(&root), env)?;
    let state = |path: &PathBuf| if path.exists() { "" } else { "  (not there yet)" };
    let mut text = format!("{}{}\n", files.user.display(), state(&files.user));
    if let Some(project) = &files.project {
        text.push_str(&format!("{}\n", project.display()));
    }
    output::print_checked(&text)
}

fn get(key: &str, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let wanted = config::parse_key_path(key)?;
    let (_, loaded) = load(global, env, Vec::new())?;
    let leaves: Vec<ConfigValue> = loaded.values().into_iter().map(without_secrets).collect();
    let mut inside = Table::new();
    for leaf in leaves {
        let path = config::parse_key_path(&leaf.key)?;
        if path == wanted {
            let text = match leaf.value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            return output::print_checked(&format!("{text}\n"));
        }
        if let Some(rest) = path.strip_prefix(wanted.as_slice()) {
            config::insert(&mut inside, rest, leaf.value);
        }
    }
    if inside.is_empty() {
        config::check_key(&wanted)?;
        return Err(Failure::failed(format!("`{key}` is not set")).hint("`hew config schema` describes all keys"));
    }
    output::print_checked(&inside.to_string())
}

/// A model without a provider must be a known one.
fn check_model(key: &str, value: &str, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let names_model =
        matches!(key, "model" | "small_model") || (matches!(key, "edit_model" | "summary_model") && value != "same");
    if names_model && !config::is_full_name(value) && !value.contains('/') {
        let (_, loaded) = load(global, env, Vec::new())?;
        ModelRegistry::new(&loaded.config, env).find(value)?;
    }
    Ok(())
}

fn target(project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<PathBuf> {
    if !project {
        return paths::user_config_file(env);
    }
    let root = project::root(global.cwd.as_deref(), env)?;
    Ok(project::config_file(&root).unwrap_or_else(|| root.join(".hew").join("config.toml")))
}
