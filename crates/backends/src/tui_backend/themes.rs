//! The user's themes.

use crate::environment::ProcessEnv;
use crate::paths;
use std::collections::BTreeMap;
use tui::{KeyMap, Theme, ThemeSpec};

/// The themes in `themes/NAME.toml` next to the configuration file. Invalid files are skipped.
pub(crate) fn own(env: &ProcessEnv) -> BTreeMap<String, ThemeSpec> {
    let file = paths::user_config_file(env).ok();
    let folder = file.as_ref().and_then(|file| Some(file.parent()?.join("themes")));
    let entries = folder
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten();
    let themes = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let name = path.file_stem()?.to_str()?.to_owned();
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let text = is_toml.then(|| std::fs::read_to_string(&path).ok()).flatten()?;
        Some((name, toml::from_str(&text).ok()?))
    });
    themes.collect()
}

/// The configured theme and key bindings, and problems with them.
pub fn chosen(config: &crate::config::Config, env: &ProcessEnv) -> (Option<Theme>, KeyMap, Vec<String>) {
    let mut problems = Vec::new();
    let name = match env.get("NO_COLOR") {
        Some(_) => Some("plain"),
        None => config.tui.theme.as_deref(),
    };
    let theme = name.and_then(|name| match Theme::find(name, &own(env)) {
        Ok(theme) => Some(theme),
        Err(error) => {
            problems.push(format!("tui.theme: {error}"));
            None
        }
    });
    let (keys, wrong) = KeyMap::with_overrides(&config.keys);
    problems.extend(wrong.iter().map(|(action, error)| format!("keys.{action}: {error}")));
    (theme, keys, problems)
}
