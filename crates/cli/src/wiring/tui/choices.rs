//! Models and modes to choose from.

use super::here::Here;
use crate::failure::Result;
use crate::models::Models;
use crate::output::words::{line, tokens};
use crate::wiring::{modes, shelves};
use model::Info;
use providers::discover;
use std::collections::BTreeMap;
use tui::Choice;

/// All models, those that can be used now first.
pub(super) async fn models(here: &Here) -> Result<Vec<Choice>> {
    let loaded = here.config()?;
    let models = Models::new(&loaded.config, &here.env);
    let mut obstacles: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut servers = Vec::new();
    for provider in models.providers() {
        let key = models.key(&provider).await.unwrap_or(None);
        let obstacle = match (provider.local(), key.is_some() || provider.preset.is_none()) {
            (true, _) => Some("no server on this machine".to_owned()),
            (false, true) => None,
            (false, false) => Some("no key".to_owned()),
        };
        if provider.local()
            && let Ok(settings) = models.settings_with(&models.any_info(&provider), &provider, key)
        {
            servers.push(settings);
        }
        obstacles.insert(provider.name.to_owned(), obstacle);
    }
    let mut infos: Vec<Info> = models.iter().cloned().collect();
    for found in discover::discover(&servers, discover::PATIENCE).await {
        if let Ok(discovered) = found.models {
            obstacles.insert(found.provider, None);
            infos.retain(|known| !discovered.iter().any(|info| info.name() == known.name()));
            infos.extend(discovered);
        }
    }
    let mut choices: Vec<Choice> = infos
        .iter()
        .map(|info| Choice {
            name: info.name(),
            about: about(info),
            obstacle: obstacles.get(&info.provider).cloned().flatten(),
        })
        .collect();
    choices.sort_by_key(|choice| choice.obstacle.is_some());
    Ok(choices)
}

/// Slash commands that files define.
pub(super) fn commands(here: &Here) -> Result<Vec<Choice>> {
    let loaded = here.config()?;
    let found = shelves::commands(&here.root, &loaded, &here.env)?;
    let choices = found.into_values().map(|slash| Choice {
        name: slash.name.clone(),
        about: line(&slash.description, 200),
        obstacle: None,
    });
    Ok(choices.collect())
}

/// Prompts of MCP servers, as far as they are known.
pub(super) fn prompts(servers: &mcp::Servers) -> Vec<Choice> {
    let choice = |prompt: &mcp::Prompt| Choice {
        name: prompt.command(),
        about: line(prompt.description.as_deref().unwrap_or("a prompt of this server"), 200),
        obstacle: None,
    };
    servers.prompts().iter().map(choice).collect()
}

/// How many tokens a model takes; 0 where nobody knows.
pub(super) fn window(model: &str, here: &Here) -> Result<u64> {
    let loaded = here.config()?;
    let models = Models::new(&loaded.config, &here.env);
    let info = models.find(model)?;
    // A session finds models with the keys that are at hand, and so does this.
    models.settings_at_hand(&info)?;
    Ok(info.limits.window)
}

/// The modes of this project.
pub(super) fn modes(here: &Here) -> Result<Vec<Choice>> {
    let loaded = here.config()?;
    let found = modes::find(&here.root, loaded.trust, &here.env);
    let choices = found.modes.iter().map(|mode| Choice {
        name: mode.name.clone(),
        about: line(mode.when_to_use.trim(), 200),
        obstacle: None,
    });
    Ok(choices.collect())
}

fn about(info: &Info) -> String {
    let mut parts = Vec::new();
    if info.limits.window > 0 {
        parts.push(format!("{} window", tokens(info.limits.window)));
    }
    if let Some(prices) = &info.prices {
        parts.push(format!("${} in, ${} out", prices.base.input, prices.base.output));
    }
    if info.features.reasoning {
        parts.push("thinks".into());
    }
    if let Some(day) = &info.deprecated_on {
        parts.push(format!("goes away on {day}"));
    }
    parts.join(" · ")
}
