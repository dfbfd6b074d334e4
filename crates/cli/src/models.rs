//! Which models there are, which of them can be used, and how a name becomes a model that can be talked to.

mod address;
mod lookup;
mod settings;
mod suggest;

pub(crate) use address::proxy;

use crate::config::{Config, ProviderEntry};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::keys::{self, Key, Keyring};
use model::{Catalogue, Info, Model};
use providers::presets::{Place, Preset, preset, presets};
use std::sync::Arc;

/// The models and providers that the configuration and the environment make known.
#[derive(Debug)]
pub(crate) struct Models<'a> {
    catalogue: Catalogue,
    config: &'a Config,
    env: &'a Environment,
}

/// A provider by name, with what hew and the configuration know about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Provider<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What hew knows about it.
    pub(crate) preset: Option<&'static Preset>,
    /// What the configuration says about it.
    pub(crate) entry: Option<&'a ProviderEntry>,
}

impl Provider<'_> {
    /// Its name for people.
    pub(crate) fn title(&self) -> &str {
        self.preset.map_or(self.name, |preset| preset.title)
    }

    /// Whether it runs on this machine.
    pub(crate) fn local(&self) -> bool {
        self.preset.is_some_and(|preset| preset.place == Place::Local)
    }
}

impl<'a> Models<'a> {
    /// The catalogue, with the configuration's additions.
    pub(crate) fn new(config: &'a Config, env: &'a Environment) -> Self {
        let mut models = Models {
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

    /// All models, by provider and id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Info> {
        self.catalogue.iter()
    }

    /// All providers: those hew knows in its own order, then those of the configuration.
    pub(crate) fn providers(&self) -> Vec<Provider<'a>> {
        let known = presets().iter().map(|preset| preset.name);
        let own = self.config.providers.keys().map(String::as_str);
        known
            .chain(own.filter(|name| preset(name).is_none()))
            .filter_map(|name| self.provider(name))
            .collect()
    }

    /// The provider of this name.
    pub(crate) fn provider<'n>(&self, name: &'n str) -> Option<Provider<'n>>
    where
        'a: 'n,
    {
        let provider = Provider {
            name,
            preset: preset(name),
            entry: self.config.providers.get(name),
        };
        (provider.preset.is_some() || provider.entry.is_some()).then_some(provider)
    }

    /// The key that a provider has without asking any program.
    pub(crate) fn key_at_hand(&self, provider: &Provider<'_>) -> Option<Key> {
        keys::at_hand(provider, self.env)
    }

    /// The key of a provider from wherever it can be had.
    pub(crate) async fn key(&self, provider: &Provider<'_>) -> Result<Option<Key>> {
        if let Some(key) = self.key_at_hand(provider) {
            return Ok(Some(key));
        }
        if let Some(command) = provider.entry.and_then(|entry| entry.key_command.as_deref()) {
            return keys::from_command(provider.name, command, self.env).await.map(Some);
        }
        let keyring = Keyring::new(self.env);
        if !keyring.present() {
            return Ok(None);
        }
        // A keyring that is locked or broken is the same as none: what is missing is said when it is needed.
        Ok(keyring.get(provider.name).await.unwrap_or(None))
    }

    /// The model that is used when nobody names one: that of the first provider with a key.
    pub(crate) async fn default_name(&self) -> Result<String> {
        let providers = self.providers();
        for provider in &providers {
            let described = provider.preset.is_none() && provider.entry.is_some_and(|entry| entry.base_url.is_some());
            let ready = described || (!provider.local() && self.key_at_hand(provider).is_some());
            if let Some(id) = first_model(provider).filter(|_| ready) {
                return Ok(format!("{}/{id}", provider.name));
            }
        }
        for provider in providers.iter().filter(|provider| !provider.local()) {
            if let Some(id) = first_model(provider)
                && self.key(provider).await?.is_some()
            {
                return Ok(format!("{}/{id}", provider.name));
            }
        }
        Err(Failure::usage("no model is configured, and no provider has a key")
            .needs_setup()
            .hint(format!(
                "set a key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or keep one with `{}`\n\
             hint: or name a model: `hew run -m ollama/NAME`; `hew models --discover` asks local servers\n\
             hint: or watch `hew demo`, which needs neither a key nor a network",
                keys::set_command("anthropic", self.env)
            )))
    }

    /// The small model that goes with a model, where its provider has one.
    pub(crate) fn small_name(&self, info: &Info) -> Option<String> {
        let small = preset(&info.provider)?.small;
        (!small.is_empty()).then(|| format!("{}/{small}", info.provider))
    }

    /// A model that can be talked to.
    pub(crate) async fn connect(&self, info: Info) -> Result<Arc<dyn Model>> {
        let settings = self.settings(&info).await?;
        providers::connect(info, settings).map_err(Failure::from)
    }
}

fn first_model<'a>(provider: &Provider<'a>) -> Option<&'a str> {
    let own = provider
        .entry
        .and_then(|entry| entry.models.first())
        .map(String::as_str);
    own.or_else(|| provider.preset.map(|preset| preset.large))
        .filter(|id| !id.is_empty())
}

impl From<providers::Error> for Failure {
    fn from(error: providers::Error) -> Self {
        Failure::usage(error.to_string()).hint(error.hint())
    }
}
