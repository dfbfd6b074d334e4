//! Models and providers: lookup by name, keys and connections.

mod aliases;
mod listing;
mod local;
mod lookup;
mod settings;
mod suggest;
mod thinking;
mod url;

pub use listing::{ListingOptions, ModelListing};
pub use local::{MainModel, MainModelChoice, best_model};
pub use suggest::listing_order;
pub use thinking::default_effort;
pub use url::proxy_for;

use crate::config::{Config, ProviderConfig};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::images;
use crate::keys::{self, ProviderKey, SystemKeyring};
use model::{Catalogue, Info, Model};
use providers::presets::{Hosting, Preset, preset, presets};
use providers::{ImageModel, ProviderSettings};
use std::sync::Arc;

/// The value of `edit_model` and `summary_model` for the main model.
const SAME_MODEL: &str = "same";

/// The known models and providers.
#[derive(Debug)]
pub struct ModelRegistry<'a> {
    catalogue: Catalogue,
    pub(crate) config: &'a Config,
    pub(crate) env: &'a ProcessEnv,
}

/// A provider with its preset and its configuration.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedProvider<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its preset, if hew knows it.
    pub preset: Option<&'static Preset>,
    /// Its configuration.
    pub entry: Option<&'a ProviderConfig>,
}

impl ResolvedProvider<'_> {
    /// Its display name.
    pub fn title(&self) -> &str {
        self.preset.map_or(self.name, |preset| preset.title)
    }

    /// Whether it is a local server.
    pub fn is_local(&self) -> bool {
        self.preset.is_some_and(|preset| preset.hosting == Hosting::Local)
    }
}

impl<'a> ModelRegistry<'a> {
    /// Creates a registry of the catalogue and the configured models.
    pub fn new(config: &'a Config, env: &'a ProcessEnv) -> Self {
        let mut models = ModelRegistry {
            catalogue: Catalogue::embedded(),
            config,
            env,
        };
        for name in config.models.keys() {
            if let Some(info) = models.describe(name) {
                models.catalogue.add(info);
            }
        }
        models
    }

    /// All models, sorted by provider and id.
    pub fn iter(&self) -> impl Iterator<Item = &Info> {
        self.catalogue.iter()
    }

    /// All providers: the known ones in their order, then the other configured ones.
    pub fn providers(&self) -> Vec<ResolvedProvider<'a>> {
        let known = presets().iter().map(|preset| preset.name);
        let own = self.config.providers.keys().map(String::as_str);
        known
            .chain(own.filter(|name| preset(name).is_none()))
            .filter_map(|name| self.provider(name))
            .collect()
    }

    /// Returns the provider with this name.
    pub fn provider<'n>(&self, name: &'n str) -> Option<ResolvedProvider<'n>>
    where
        'a: 'n,
    {
        let provider = ResolvedProvider {
            name,
            preset: preset(name),
            entry: self.config.providers.get(name),
        };
        (provider.preset.is_some() || provider.entry.is_some()).then_some(provider)
    }

    /// The key of a provider that is available without running a program.
    pub fn immediate_key(&self, provider: &ResolvedProvider<'_>) -> Option<ProviderKey> {
        keys::immediate(provider, self.env)
    }

    /// The key of a provider from any source.
    pub async fn key(&self, provider: &ResolvedProvider<'_>) -> Result<Option<ProviderKey>> {
        if let Some(key) = self.immediate_key(provider) {
            return Ok(Some(key));
        }
        if let Some(command) = provider.entry.and_then(|entry| entry.key_command.as_deref()) {
            return keys::from_command(provider.name, command, self.env).await.map(Some);
        }
        let keyring = SystemKeyring::new(self.env);
        if !keyring.is_available() {
            return Ok(None);
        }
        // A keyring that fails is treated as empty; a missing key is reported when it is needed.
        Ok(keyring.get(provider.name).await.unwrap_or(None))
    }

    /// The name of the main model: the configured one, or the default.
    async fn main_name(&self) -> Result<String> {
        match &self.config.model {
            Some(name) => Ok(name.clone()),
            None => self.default_name().await,
        }
    }

    /// The model of the first provider with a key.
    pub async fn default_name(&self) -> Result<String> {
        let providers = self.providers();
        for provider in &providers {
            let described = provider.preset.is_none() && provider.entry.is_some_and(|entry| entry.base_url.is_some());
            let ready = described || (!provider.is_local() && self.immediate_key(provider).is_some());
            if let Some(id) = first_model(provider).filter(|_| ready) {
                return Ok(format!("{}/{id}", provider.name));
            }
        }
        for provider in providers.iter().filter(|provider| !provider.is_local()) {
            if let Some(id) = first_model(provider)
                && self.key(provider).await?.is_some()
            {
                return Ok(format!("{}/{id}", provider.name));
            }
        }
        Err(Failure::usage("no model is configured, and no provider has a key")
            .needs_setup()
            .hint(format!(
                "set a key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or store one with `{}`\n\
             hint: or sign in with a subscription (GitHub Copilot, ChatGPT): `hew login`\n\
             hint: or start Ollama, LM Studio, llama.cpp or vLLM on this machine: hew uses its model\n\
             hint: or run `hew demo`, which needs neither a key nor a network",
                keys::set_command("anthropic", self.env)
            )))
    }

    /// The small model of a model's provider, if it has one.
    pub fn small_name(&self, info: &Info) -> Option<String> {
        let small = preset(&info.provider)?.small;
        (!small.is_empty()).then(|| format!("{}/{small}", info.provider))
    }

    /// Connects a model.
    pub async fn connect(&self, info: Info) -> Result<Arc<dyn Model>> {
        let settings = self.settings(&info).await?;
        providers::connect(info, settings).map_err(Failure::from)
    }
}

fn first_model<'a>(provider: &ResolvedProvider<'a>) -> Option<&'a str> {
    let own = provider
        .entry
        .and_then(|entry| entry.models.first())
        .map(String::as_str);
    own.or_else(|| provider.preset.map(|preset| preset.large))
        .filter(|id| !id.is_empty())
}

/// The models of a session.
pub(crate) struct SessionModels {
    /// Does the work.
    pub(crate) main: Arc<dyn Model>,
    /// Writes titles.
    pub(crate) small: Option<Arc<dyn Model>>,
    /// Writes edits that the main model only describes.
    pub(crate) edit: Option<Arc<dyn Model>>,
    /// Summarizes, if it is not the main model.
    pub(crate) summary: Option<Arc<dyn Model>>,
    /// Generates images.
    pub(crate) image: Option<ImageModel>,
    /// Tells the user which model was detected.
    pub(crate) notice: Option<String>,
}

/// Connects the configured models, or the default main model.
pub(crate) async fn connect_models(models: &ModelRegistry<'_>, config: &Config) -> Result<SessionModels> {
    let main = models.main_model().await?;
    let notice = main.notice();
    let info = main.info;
    let find_other = |name: &Option<String>| match name.as_deref() {
        Some(SAME_MODEL) | None => Ok(None),
        Some(name) => models.find(name).map(Some),
    };
    let small = match &config.small_model {
        Some(name) => Some(models.find(name)?),
        // The provider's small model is optional; without it, titles are made without a model.
        None => models.small_name(&info).and_then(|name| models.find(&name).ok()),
    };
    let edit = find_other(&config.edit_model)?;
    let summary = find_other(&config.summary_model)?;
    let settings = models.settings(&info).await?;
    let image = images::image_model(models, config, &info, &settings).await?;
    let main = providers::connect(info, settings.clone())?;
    let edit = match connect_auxiliary(models, edit, &settings).await? {
        Some(edit) => Some(edit),
        None => config.edit_model.as_ref().map(|_| Arc::clone(&main)),
    };
    Ok(SessionModels {
        main,
        small: connect_auxiliary(models, small, &settings).await?,
        edit,
        summary: connect_auxiliary(models, summary, &settings).await?,
        image,
        notice,
    })
}

/// Connects another model. If it has the provider of the main model, they share connections, and the key is not looked
/// up again.
async fn connect_auxiliary(
    models: &ModelRegistry<'_>,
    info: Option<Info>,
    main: &ProviderSettings,
) -> Result<Option<Arc<dyn Model>>> {
    let Some(info) = info else { return Ok(None) };
    if info.provider != main.provider {
        return models.connect(info).await.map(Some);
    }
    let mut same = main.clone();
    same.wire = info.wire;
    same.model_options = models.model_options(&info);
    Ok(Some(providers::connect(info, same)?))
}

/// Connects models while a session runs. Only keys that are immediately available are used: no program may ask the
/// user.
pub(crate) fn model_source(config: Config, env: ProcessEnv) -> agent::ModelSource {
    Arc::new(move |name| {
        let models = ModelRegistry::new(&config, &env);
        let found = models.find(name).and_then(|info| {
            let settings = models.immediate_settings(&info)?;
            Ok(providers::connect(info, settings)?)
        });
        found.map_err(|failure| agent::ModelUnavailable(failure.with_hint()))
    })
}
