//! Lists of models, modes and commands.

use super::backend_context::BackendContext;
use crate::failure::Result;
use crate::models::ModelRegistry;
use host::models::listing_order;
use host::project_context::{self, load_modes};
use host::text::line;
use model::Info;
use providers::discover;
use std::collections::{BTreeMap, BTreeSet};
use tui::format::tokens;
use tui::{PickerItem, PickerModel, UsableModel};

/// All models: the usable ones first, and of these the recommended ones and those with short names.
pub(super) async fn models(here: &BackendContext) -> Result<Vec<PickerItem>> {
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let mut obstacles: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut servers = Vec::new();
    for provider in models.providers() {
        let key = models.key(&provider).await.unwrap_or(None);
        let obstacle = match (provider.is_local(), key.is_some() || provider.preset.is_none()) {
            (true, _) => Some("no server on this machine".to_owned()),
            (false, true) => None,
            (false, false) => Some("no key".to_owned()),
        };
        if provider.is_local()
            && let Ok(settings) = models.settings_with(&models.representative(&provider), &provider, key)
        {
            servers.push(settings);
        }
        obstacles.insert(provider.name.to_owned(), obstacle);
    }
    let mut infos: Vec<Info> = models.iter().cloned().collect();
    for found in discover::discover(&servers, discover::DISCOVERY_TIMEOUT).await {
        if let Ok(discovered) = found.models {
            obstacles.insert(found.provider, None);
            let discovered = discovered.into_iter().map(|model| model.info);
            let discovered: Vec<Info> = discovered.collect();
            infos.retain(|known| !discovered.iter().any(|info| info.name() == known.name()));
            infos.extend(discovered);
        }
    }
    infos.sort_by(|a, b| listing_order(a).cmp(&listing_order(b)));
    let aliases: BTreeMap<String, &str> = models.aliases().map(|(alias, name)| (name, alias)).collect();
    let recommended: BTreeSet<String> = models
        .providers()
        .into_iter()
        .filter_map(|provider| Some(format!("{}/{}", provider.name, provider.preset?.large)))
        .collect();
    let configured = loaded.config.model.as_deref().and_then(|name| models.find(name).ok());
    let configured = configured.map(|info| info.name());
    let presets: BTreeSet<&str> = models
        .providers()
        .iter()
        .filter(|provider| provider.preset.is_some() && !provider.is_local())
        .map(|provider| provider.name)
        .collect();
    let choice = |info: &Info| {
        let name = info.name();
        let is_recommended = recommended.contains(&name);
        let marks = [is_recommended.then_some("recommended"), aliases.get(&name).copied()];
        let marks = marks.into_iter().flatten().map(String::from);
        let description: Vec<String> = marks.chain([about(info)]).filter(|part| !part.is_empty()).collect();
        let obstacle = obstacles.get(&info.provider).cloned().flatten();
        let is_suggested = obstacle.is_none()
            && (is_recommended
                || aliases.contains_key(&name)
                || configured.as_ref() == Some(&name)
                || !presets.contains(&*info.provider));
        let order = (
            obstacle.is_some(),
            !is_recommended,
            !aliases.contains_key(&name),
            !is_suggested,
        );
        let item = PickerItem {
            name,
            description: description.join(" · "),
            unavailable_reason: obstacle,
            model: Some(PickerModel {
                is_suggested,
                has_effort: info.features.reasoning,
                default_effort: host::models::default_effort(info),
            }),
        };
        (order, item)
    };
    let mut choices: Vec<_> = infos.iter().map(choice).collect();
    choices.sort_by_key(|(order, _)| *order);
    Ok(choices.into_iter().map(|(_, item)| item).collect())
}

/// The slash commands of the user and the project.
pub(super) fn commands(here: &BackendContext) -> Result<Vec<PickerItem>> {
    let loaded = here.config()?;
    let found = project_context::commands(&here.root, &loaded, &here.env)?;
    let choices = found.into_values().map(|slash| PickerItem {
        name: slash.name.clone(),
        description: line(&slash.description, 200),
        unavailable_reason: None,
        model: None,
    });
    Ok(choices.collect())
}

/// The known prompts of MCP servers.
pub(super) fn prompts(servers: &mcp::McpServers) -> Vec<PickerItem> {
    let choice = |prompt: &mcp::McpPrompt| PickerItem {
        name: prompt.command(),
        description: line(prompt.description.as_deref().unwrap_or("a prompt of this server"), 200),
        unavailable_reason: None,
        model: None,
    };
    servers.prompts().iter().map(choice).collect()
}

/// The model with this name or alias.
pub(super) fn resolve(model: &str, here: &BackendContext) -> Result<UsableModel> {
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let info = models.find(model)?;
    // A session only uses immediately available keys, too.
    models.immediate_settings(&info)?;
    Ok(UsableModel {
        name: info.name(),
        context_window: info.limits.window,
        default_effort: host::models::default_effort(&info),
    })
}

/// The modes of this project.
pub(super) fn modes(here: &BackendContext) -> Result<Vec<PickerItem>> {
    let loaded = here.config()?;
    let found = load_modes(&here.root, loaded.trust, &here.env);
    let choices = found.modes.iter().map(|mode| PickerItem {
        name: mode.name.clone(),
        description: line(mode.when_to_use.trim(), 200),
        unavailable_reason: None,
        model: None,
    });
    Ok(choices.collect())
}

pub(super) fn about(info: &Info) -> String {
    let mut parts = Vec::new();
    if let Some(prices) = &info.prices {
        parts.push(format!("${} in, ${} out", prices.base.input, prices.base.output));
    }
    if info.limits.window > 0 {
        parts.push(format!("{} window", tokens(info.limits.window)));
    }
    if info.features.reasoning {
        parts.push("reasoning".into());
    }
    if let Some(day) = &info.deprecated_on {
        parts.push(format!("deprecated on {day}"));
    }
    parts.join(" · ")
}
