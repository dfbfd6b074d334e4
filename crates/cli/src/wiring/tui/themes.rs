//! Themes of the person's own, from files beside their configuration.

use crate::environment::Environment;
use crate::places;
use std::collections::BTreeMap;
use tui::{Keys, Spec, Theme};

/// The themes in `themes/NAME.toml` beside the configuration file. One that cannot be read is not there.
pub(crate) fn own(env: &Environment) -> BTreeMap<String, Spec> {
    let file = places::user_config(env).ok();
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

/// The theme and the keys that the configuration asks for; and what is wrong with it, in words.
pub(crate) fn chosen(config: &crate::config::Config, env: &Environment) -> (Option<Theme>, Keys, Vec<String>) {
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
    let (keys, wrong) = Keys::with(&config.keys);
    problems.extend(wrong.iter().map(|(action, error)| format!("keys.{action}: {error}")));
    (theme, keys, problems)
}
