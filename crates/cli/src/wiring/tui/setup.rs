//! Setting up: which providers can be used, keeping a key, and whether a model answers.

use super::here::Here;
use crate::failure::{Failure, Result};
use crate::keys::{self, Keyring};
use crate::models::Models;
use crate::output::words::took;
use crate::places::tidy;
use model::Info;
use providers::discover::{self, probe};
use std::collections::BTreeMap;
use std::time::Duration;
use tui::{Access, Keep, Provider};

/// As many models of a provider are offered.
const MODELS: usize = 12;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

/// All providers, those that can be used now first.
pub(super) async fn providers(here: &Here) -> Result<Vec<Provider>> {
    let loaded = here.config()?;
    let models = Models::new(&loaded.config, &here.env);
    let mut servers = Vec::new();
    let mut providers = Vec::new();
    for provider in models.providers() {
        let key = models.key(&provider).await.unwrap_or(None);
        let access = match (&key, provider.local(), provider.preset.is_none()) {
            (_, true, _) => Access::Absent("no server on this machine".into()),
            (Some(key), false, _) => Access::Key(key.source.to_string()),
            (None, false, true) => Access::Key("your configuration".into()),
            (None, false, false) => Access::NeedsKey,
        };
        if provider.local()
            && let Ok(settings) = models.settings_with(&models.any_info(&provider), &provider, key)
        {
            servers.push(settings);
        }
        let known = models
            .iter()
            .filter(|info| info.provider == provider.name && info.deprecated_on.is_none());
        providers.push(Provider {
            name: provider.name.to_owned(),
            title: provider.title().to_owned(),
            access,
            models: best(known),
        });
    }
    let found = discover::discover(&servers, discover::PATIENCE).await.into_iter();
    let found: BTreeMap<String, Vec<Info>> = found
        .filter_map(|found| Some((found.provider, found.models.ok()?)))
        .collect();
    for provider in &mut providers {
        if let Some(infos) = found.get(&provider.name) {
            provider.access = Access::Local;
            provider.models = infos.iter().map(Info::name).collect();
        }
    }
    providers.sort_by_key(|provider| match provider.access {
        Access::Key(_) => 0,
        Access::Local => 1,
        Access::NeedsKey => 2,
        Access::Absent(_) => 3,
    });
    Ok(providers)
}

/// Where a key can be kept: in the keyring where there is one, else in a file or nowhere.
pub(super) fn key_places(here: &Here) -> Vec<(Keep, String)> {
    let mut places = Vec::new();
    if Keyring::new(&here.env).present() {
        places.push((Keep::Keyring, "in the system's keyring".into()));
    }
    if let Ok(file) = crate::places::keys(&here.env) {
        let file = tidy(&file, &here.env);
        places.push((Keep::File, format!("in {file}, a file that only you can read")));
    }
    places.push((Keep::Now, "nowhere: it is used until you leave hew".into()));
    places
}

/// Keeps a key where the person wants it.
pub(super) async fn save_key(provider: &str, key: &str, keep: Keep, here: &Here) -> Result<String> {
    if !keys::is_likely(key) {
        return Err(Failure::usage(keys::UNLIKELY));
    }
    match keep {
        Keep::Keyring => {
            Keyring::new(&here.env).set(provider, key).await?;
            Ok(format!("the key of {provider} is in the keyring"))
        }
        Keep::File => {
            let file = keys::file::set(provider, key, &here.env)?;
            Ok(format!("the key of {provider} is in {}", tidy(&file, &here.env)))
        }
        Keep::Now => {
            here.env.give(provider, key);
            Ok(format!("the key of {provider} is used until you leave hew"))
        }
    }
}

/// Asks whether a model's provider answers. Nothing is paid.
pub(super) async fn test(model: &str, here: &Here) -> Result<String> {
    let loaded = here.config()?;
    let models = Models::new(&loaded.config, &here.env);
    let info = models.find(model)?;
    let settings = models.settings(&info).await?;
    let answer = probe(&settings, PATIENCE).await?;
    Ok(format!("it answers in {}", took(answer.took)))
}

/// The newest first, as far as their names tell.
fn best<'a>(infos: impl Iterator<Item = &'a Info>) -> Vec<String> {
    let mut infos: Vec<&Info> = infos.filter(|info| info.features.tools).collect();
    infos.sort_by(|one, two| {
        let price = |info: &Info| info.prices.as_ref().map_or(0.0, |prices| prices.base.output);
        price(two).total_cmp(&price(one))
    });
    infos.into_iter().take(MODELS).map(Info::name).collect()
}
