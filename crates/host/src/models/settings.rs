//! Connection settings of providers.

use super::{ModelRegistry, ResolvedProvider, url};
use crate::accounts;
use crate::config::ProviderConfig;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::keys::{self, KeySource, ProviderKey};
use crate::log;
use crate::redaction::Redactor;
use model::{Info, Wire};
use providers::presets::{AuthScheme, EffortStyle, Hosting, Quirks};
use providers::{AwsOptions, AwsSettings, GoogleOptions, GoogleSettings, ProviderEnvironment, ProviderSettings};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The maximum number of bytes of a reply that are recorded.
const MAX_RECORDED: usize = 8 << 20;

impl ModelRegistry<'_> {
    /// The connection settings for a model, with its key.
    pub async fn settings(&self, info: &Info) -> Result<ProviderSettings> {
        let provider = self.provider_of(info)?;
        let key = self.key(&provider).await?;
        self.settings_with(info, &provider, key)
    }

    /// The connection settings for a model, with an immediately available key.
    pub fn immediate_settings(&self, info: &Info) -> Result<ProviderSettings> {
        let provider = self.provider_of(info)?;
        let key = self.immediate_key(&provider);
        self.settings_with(info, &provider, key)
    }

    /// The settings that determine the body of a request for a model. A key is not necessary.
    pub fn body_settings(&self, info: &Info) -> Result<ProviderSettings> {
        let provider = self.provider_of(info)?;
        match self.immediate_key(&provider) {
            Some(key) => self.settings_with(info, &provider, Some(key)),
            None => self.settings_without_key(info, &provider),
        }
    }

    fn provider_of<'n>(&'n self, info: &'n Info) -> Result<ResolvedProvider<'n>> {
        self.provider(&info.provider)
            .ok_or_else(|| Failure::usage(format!("there is no provider `{}`", info.provider)))
    }

    /// The connection settings for a model, with this key.
    pub fn settings_with(
        &self,
        info: &Info,
        provider: &ResolvedProvider<'_>,
        key: Option<ProviderKey>,
    ) -> Result<ProviderSettings> {
        let mut settings = self.settings_without_key(info, provider)?;
        if let Some(key) = key
            .as_ref()
            .filter(|key| key.secret.reveal().contains(char::is_control))
        {
            return Err(Failure::usage(format!(
                "the key of {} from {} is invalid: it contains a line break or another control character",
                provider.title(),
                key.source
            ))
            .hint("copy it again, on one line"));
        }
        let quirks = settings.quirks.clone();
        self.authenticate(&mut settings, &quirks, provider, key)?;
        settings.quirks = quirks;
        Ok(settings)
    }

    fn settings_without_key(&self, info: &Info, provider: &ResolvedProvider<'_>) -> Result<ProviderSettings> {
        let none = ProviderConfig::default();
        let entry = provider.entry.unwrap_or(&none);
        let quirks = quirks(provider, info.wire)?;
        let base_url = self.base_url(provider);
        if base_url.is_empty() && !matches!(quirks.auth, AuthScheme::Aws | AuthScheme::Google) {
            return Err(missing_url(provider));
        }
        let name = provider.name;
        let mut settings = ProviderSettings::new(name, entry.wire.map_or(info.wire, Wire::from), &base_url);
        if let Some(wire) = self.config.models.get(&info.name()).and_then(|model| model.wire) {
            settings.wire = wire.into();
        }
        settings.headers = entry.headers.clone().into_iter().collect();
        let is_secret = |name: &str| {
            ["auth", "key", "token", "secret", "cookie"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
        };
        let secret = settings.headers.iter().filter(|(name, _)| is_secret(name));
        secret.for_each(|(_, value)| log::hide(value));
        settings.other_secrets = Arc::clone(Redactor::of_config(self.config, self.env).secrets());
        settings.options = entry.options.clone();
        settings.model_options = self.model_options(info);
        if let Some(stall) = entry.stall {
            settings.stall_timeout = stall.0;
        }
        let proxy = entry.proxy.as_deref().or(self.config.proxy.as_deref());
        settings.proxy = url::proxy_for(&base_url, proxy, self.env);
        settings.quirks = quirks;
        settings.record = self.config.record.then_some(MAX_RECORDED);
        Ok(settings)
    }

    /// The configured additional request fields of a model.
    pub fn model_options(&self, info: &Info) -> Map<String, Value> {
        let entry = self.config.models.get(&info.name());
        entry.map(|entry| entry.options.clone()).unwrap_or_default()
    }

    /// The base URL of a provider: the vendor's variable, then the configuration, then the preset.
    pub fn base_url(&self, provider: &ResolvedProvider<'_>) -> String {
        let variables = provider.preset.map_or(&[] as &[&str], |preset| preset.url_env);
        let (variable, configured) = match self.env.first(variables.iter().copied()) {
            Some((name, value)) => (name, Some(value)),
            None => ("", provider.entry.and_then(|entry| entry.base_url.as_deref())),
        };
        let known = provider.preset.map_or("", |preset| preset.base_url);
        match configured {
            Some(text) => url::complete_url(text, variable, known),
            None => known.into(),
        }
    }

    /// Adds the credentials.
    fn authenticate(
        &self,
        settings: &mut ProviderSettings,
        quirks: &Quirks,
        provider: &ResolvedProvider<'_>,
        key: Option<ProviderKey>,
    ) -> Result<()> {
        let none = ProviderConfig::default();
        let entry = provider.entry.unwrap_or(&none);
        let environment = ProviderEnvironment {
            var: &|name| self.env.get(name).map(String::from),
            read: &|path| std::fs::read_to_string(path).ok(),
        };
        let signed_in = key.as_ref().is_some_and(|key| key.source == KeySource::Account);
        if signed_in && let Some(source) = self.token_source(provider) {
            settings.token_source = Some(Arc::new(source?));
            return Ok(());
        }
        let secret = key.map(|key| key.secret);
        match quirks.auth {
            AuthScheme::Aws => {
                let given = AwsOptions {
                    region: entry.region.clone(),
                    profile: entry.profile.clone(),
                    keys: None,
                    bearer: secret,
                };
                settings.aws = Some(AwsSettings::resolve(given, &environment)?);
            }
            AuthScheme::Google => {
                let given = GoogleOptions {
                    project: entry.project.clone(),
                    location: entry.region.clone(),
                    token: secret,
                    file: None,
                };
                settings.google = Some(GoogleSettings::resolve(given, &environment)?);
            }
            AuthScheme::Bearer | AuthScheme::XApiKey | AuthScheme::ApiKey | AuthScheme::XGoogApiKey => {
                // A provider without a variable for a key has accounts only.
                let is_account_only = provider
                    .preset
                    .is_some_and(|preset| preset.hosting == Hosting::Cloud && preset.key_env.is_empty());
                let optional = provider.preset.is_none_or(|preset| preset.hosting == Hosting::Local)
                    || (url::is_loopback(&settings.base_url) && !is_account_only)
                    || !entry.headers.is_empty();
                if secret.is_none() && !optional {
                    return Err(missing_key(provider, self.env));
                }
                settings.key = secret;
            }
        }
        Ok(())
    }
}

/// The deviations of a provider from its wire format: those of the preset, overridden by the configuration.
fn quirks(provider: &ResolvedProvider<'_>, wire: Wire) -> Result<Quirks> {
    let known = match provider.preset {
        Some(preset) => preset.quirks.clone(),
        None => match wire {
            Wire::AnthropicMessages => Quirks {
                auth: AuthScheme::XApiKey,
                ..Quirks::OPENAI
            },
            Wire::Gemini => Quirks {
                auth: AuthScheme::XGoogApiKey,
                ..Quirks::OPENAI
            },
            Wire::BedrockAnthropic | Wire::BedrockConverse => Quirks {
                auth: AuthScheme::Aws,
                ..Quirks::OPENAI
            },
            Wire::VertexAnthropic => Quirks {
                auth: AuthScheme::Google,
                ..Quirks::OPENAI
            },
            Wire::OpenaiResponses => Quirks::OPENAI,
            Wire::OpenaiChat => Quirks {
                think_tags: true,
                effort: EffortStyle::ThreeSteps,
                ..Quirks::COMPATIBLE
            },
        },
    };
    let configured = match provider.entry {
        Some(entry) if !entry.quirks.is_empty() => &entry.quirks,
        Some(_) | None => return Ok(known),
    };
    let mut merged = match serde_json::to_value(&known) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    };
    merged.extend(configured.clone());
    serde_json::from_value(Value::Object(merged)).map_err(|error| {
        Failure::usage(format!("providers.{}.quirks: {error}", provider.name)).hint("docs/providers.md lists them")
    })
}

fn missing_key(provider: &ResolvedProvider<'_>, env: &ProcessEnv) -> Failure {
    let name = provider.name;
    if accounts::endpoints(provider).is_some() {
        return Failure::usage(format!("you are not signed in to {}", provider.title()))
            .needs_setup()
            .hint(format!("run `hew login {name}`; `hew demo` needs no account"));
    }
    let variable = provider.preset.and_then(|preset| preset.key_env.first());
    let set = match variable {
        Some(variable) => format!("set {variable}"),
        None => format!("set providers.{name}.key_env in the configuration"),
    };
    Failure::usage(format!("there is no key for {}", provider.title()))
        .needs_setup()
        .hint(format!(
            "{set}, or store the key with `{}`; `hew demo` needs none",
            keys::set_command(name, env)
        ))
}

fn missing_url(provider: &ResolvedProvider<'_>) -> Failure {
    let name = provider.name;
    let variable = provider.preset.and_then(|preset| preset.url_env.first());
    let or = variable
        .map(|variable| format!("set {variable}, or "))
        .unwrap_or_default();
    Failure::usage(format!("the URL of {} is unknown", provider.title()))
        .hint(format!("{or}`hew config set providers.{name}.base_url https://…`"))
}
