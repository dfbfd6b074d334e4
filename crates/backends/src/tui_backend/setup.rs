//! Setup: lists providers, stores keys and tests models.

use super::backend_context::{BackendContext, boxed};
use crate::failure::{Failure, Result};
use crate::keys::{self, SystemKeyring};
use crate::models::ModelRegistry;
use crate::paths::display_path;
use futures::future::FutureExt as _;
use host::accounts;
use model::Info;
use providers::discover::{self, DiscoveredModel, probe};
use providers::presets::key_page;
use providers::sign_in::DeviceSignIn;
use std::collections::BTreeMap;
use std::time::Duration;
use tui::format::{duration, tokens};
use tui::{KeyStorage, PickerItem, ProviderAccess, ProviderRow, SignInPrompt};

/// The time limit of a test.
const TIMEOUT: Duration = Duration::from_secs(15);

/// All providers, the usable ones first.
pub(super) async fn providers(here: &BackendContext) -> Result<Vec<ProviderRow>> {
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let mut servers = Vec::new();
    let mut providers = Vec::new();
    for provider in models.providers() {
        let key = models.key(&provider).await.unwrap_or(None);
        let needs_sign_in = provider.preset.is_some_and(|preset| preset.key_env.is_empty());
        let terms = accounts::endpoints(&provider)
            .and_then(Result::ok)
            .filter(|_| needs_sign_in);
        let access = match (&key, provider.is_local(), provider.preset.is_none()) {
            (_, true, _) => ProviderAccess::Absent("no server on this machine".into()),
            (Some(key), false, _) => ProviderAccess::Key(key.source.to_string()),
            (None, false, true) => ProviderAccess::Key("your configuration".into()),
            (None, false, false) => match terms {
                Some(endpoints) => ProviderAccess::SignIn(endpoints.terms),
                None => ProviderAccess::NeedsKey,
            },
        };
        if provider.is_local()
            && let Ok(settings) = models.settings_with(&models.representative(&provider), &provider, key)
        {
            servers.push(settings);
        }
        let known = models
            .iter()
            .filter(|info| info.provider == provider.name && info.deprecated_on.is_none());
        let recommended = provider.preset.map(|preset| preset.large).unwrap_or_default();
        let mut known = listed(known, recommended);
        if known.is_empty() {
            // The catalogue does not list the models of subscriptions.
            let ids = provider.preset.map_or([""; 2], |preset| [preset.large, preset.small]);
            let found = ids.iter().filter(|id| !id.is_empty());
            let found = found.filter_map(|id| models.find(&format!("{}/{id}", provider.name)).ok());
            known = listed(found.collect::<Vec<Info>>().iter(), recommended);
        }
        providers.push(ProviderRow {
            name: provider.name.to_owned(),
            title: provider.title().to_owned(),
            access,
            models: known,
            key_page: key_page(provider.name).unwrap_or_default().to_owned(),
        });
    }
    let found = discover::discover(&servers, discover::DISCOVERY_TIMEOUT)
        .await
        .into_iter();
    let found: BTreeMap<String, Vec<DiscoveredModel>> = found
        .filter_map(|found| Some((found.provider, found.models.ok()?)))
        .collect();
    for provider in &mut providers {
        if let Some(models) = found.get(&provider.name) {
            provider.access = ProviderAccess::Local;
            provider.models = listed(models.iter().map(|model| &model.info), "");
        }
    }
    providers.sort_by_key(|provider| match provider.access {
        ProviderAccess::Key(_) => 0,
        ProviderAccess::Local => 1,
        ProviderAccess::NeedsKey | ProviderAccess::SignIn(_) => 2,
        ProviderAccess::Absent(_) => 3,
    });
    Ok(providers)
}

/// Where a key can be stored: in the keyring if there is one, in a file, or only in this process.
pub(super) fn key_places(here: &BackendContext) -> Vec<(KeyStorage, String)> {
    let mut places = Vec::new();
    if SystemKeyring::new(&here.env).is_available() {
        places.push((KeyStorage::Keyring, "in the system keyring".into()));
    }
    if let Ok(file) = crate::paths::keys_file(&here.env) {
        let file = display_path(&file, &here.env);
        places.push((KeyStorage::File, format!("in {file}, a file that only you can read")));
    }
    places.push((KeyStorage::Memory, "in memory only, until hew exits".into()));
    places
}

/// Stores a key.
pub(super) async fn save_key(provider: &str, key: &str, keep: KeyStorage, here: &BackendContext) -> Result<String> {
    if !keys::is_plausible(key) {
        return Err(Failure::usage(keys::IMPLAUSIBLE_KEY));
    }
    match keep {
        KeyStorage::Keyring => {
            SystemKeyring::new(&here.env).set(provider, key).await?;
            Ok(format!("The key for {provider} is stored in the system keyring."))
        }
        KeyStorage::File => {
            let file = keys::file::set(provider, key, &here.env)?;
            let file = display_path(&file, &here.env);
            Ok(format!("The key for {provider} is stored in {file}."))
        }
        KeyStorage::Memory => {
            here.env.set_session_key(provider, key);
            Ok(format!("The key for {provider} is used until hew exits."))
        }
    }
}

/// Starts signing in with a code.
pub(super) async fn sign_in(name: &str, here: BackendContext) -> Result<SignInPrompt> {
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let client = models.sign_in_client(name)?;
    let name = name.to_owned();
    let started = DeviceSignIn::start(&client).await;
    let started = started.map_err(|error| accounts::sign_in_failure(&name, &error))?;
    Ok(SignInPrompt {
        page: started.page.clone(),
        code: started.user_code.clone(),
        finished: boxed(
            async move {
                let tokens = started
                    .finish()
                    .await
                    .map_err(|error| accounts::sign_in_failure(&name, &error))?;
                let (_, kept) = accounts::store_sign_in(&client, tokens, &name, None, &here.env).await?;
                Ok(format!("signed in; the tokens are in {kept}"))
            }
            .boxed(),
        ),
    })
}

/// Tests a model's provider with a request that costs nothing.
pub(super) async fn test(model: &str, here: &BackendContext) -> Result<String> {
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let info = models.find(model)?;
    let settings = models.settings(&info).await?;
    let answer = probe(&settings, TIMEOUT).await?;
    Ok(format!("the provider answered in {}", duration(answer.took)))
}

/// The models that can call tools, the recommended one first, with their prices.
fn listed<'a>(infos: impl Iterator<Item = &'a Info>, recommended: &str) -> Vec<PickerItem> {
    let mut infos: Vec<&Info> = infos.filter(|info| info.features.tools).collect();
    infos.sort_by_key(|info| (info.id != recommended, info.name()));
    let row = |info: &&Info| {
        let mut about = Vec::new();
        if info.id == recommended {
            about.push("recommended".to_owned());
        }
        if let Some(prices) = &info.prices {
            about.push(format!("${} in, ${} out", prices.base.input, prices.base.output));
        }
        if info.limits.window > 0 {
            about.push(format!("{} window", tokens(info.limits.window)));
        }
        PickerItem {
            name: info.name(),
            description: about.join(" · "),
            unavailable_reason: None,
        }
    };
    infos.iter().map(row).collect()
}
