//! Setup: lists providers, stores keys and tests models.

use super::backend_context::{BackendContext, boxed};
use crate::failure::{Failure, Result};
use crate::keys::{self, SystemKeyring};
use crate::models::ModelRegistry;
use crate::paths::display_path;
use futures::future::FutureExt as _;
use host::accounts;
use host::models::listing_order;
use model::Info;
use providers::discover::{self, DiscoveredModel, probe};
use providers::presets::{AuthScheme, address_example, key_page};
use providers::sign_in::DeviceSignIn;
use std::collections::{BTreeMap, BTreeSet};
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
                None => match provider.preset.map(|preset| preset.quirks.auth) {
                    Some(AuthScheme::Aws) => ProviderAccess::Credentials("your AWS credentials, or a key".into()),
                    Some(AuthScheme::Google) => {
                        ProviderAccess::Credentials("your gcloud credentials and GOOGLE_CLOUD_PROJECT".into())
                    }
                    Some(_) | None => ProviderAccess::NeedsKey,
                },
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
            address_example: address_example(provider.name)
                .filter(|_| models.base_url(&provider).is_empty())
                .map(str::to_owned),
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
        ProviderAccess::NeedsKey | ProviderAccess::SignIn(_) | ProviderAccess::Credentials(_) => 2,
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
    let place = match keep {
        KeyStorage::Keyring => {
            SystemKeyring::new(&here.env).set(provider, key).await?;
            // The file would take precedence.
            keys::file::remove(provider, &here.env)?;
            "in the system keyring".to_owned()
        }
        KeyStorage::File => {
            let file = keys::file::set(provider, key, &here.env)?;
            format!("in {}", display_path(&file, &here.env))
        }
        KeyStorage::Memory => {
            here.env.set_session_key(provider, key);
            return Ok(format!("The key for {provider} is used until hew exits."));
        }
    };
    if here.env.session_key(provider).is_some() {
        here.env.set_session_key(provider, key);
    }
    let loaded = here.config()?;
    let models = ModelRegistry::new(&loaded.config, &here.env);
    let used = match models.provider(provider) {
        Some(resolved) => models.key(&resolved).await.unwrap_or(None),
        None => None,
    };
    Ok(match used.filter(|used| used.secret.reveal() != key) {
        Some(used) => format!(
            "The key for {provider} is stored {place}, but hew uses the one from {}, which takes precedence.",
            used.source
        ),
        None => format!("The key for {provider} is stored {place}."),
    })
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
    let answer = probe(&settings, TIMEOUT).await.map_err(|error| match error {
        model::Error::Credentials { .. } => {
            Failure::failed(error.to_string()).hint("enter another key, or choose another provider")
        }
        error => error.into(),
    })?;
    Ok(format!("the provider answered in {}", duration(answer.took)))
}

/// The id of a model without the date of its version; `None` if there is no date.
fn undated(id: &str) -> Option<&str> {
    let (name, date) = id.rsplit_once('-')?;
    (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

/// The models that can call tools with their prices: the recommended one, then the newest. A dated version of a listed model is
/// omitted.
fn listed<'a>(infos: impl Iterator<Item = &'a Info>, recommended: &str) -> Vec<PickerItem> {
    let mut infos: Vec<&Info> = infos.filter(|info| info.features.tools).collect();
    let ids: BTreeSet<&str> = infos.iter().map(|info| info.id.as_str()).collect();
    infos.retain(|info| undated(&info.id).is_none_or(|id| !ids.contains(id)));
    infos.sort_by(|a, b| {
        let order = |info: &Info| info.id != recommended;
        order(a)
            .cmp(&order(b))
            .then_with(|| listing_order(a).cmp(&listing_order(b)))
    });
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
            model: None,
        }
    };
    infos.iter().map(row).collect()
}
