//! From a model to how its provider is reached.

use super::{Models, Provider, address};
use crate::config::ProviderEntry;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::keys::{self, Key};
use crate::log;
use model::{Info, Wire};
use providers::presets::{Auth, Place, Quirks};
use providers::{Aws, AwsGiven, Google, GoogleGiven, Settings, Surroundings};
use serde_json::{Map, Value};

impl Models<'_> {
    /// How the provider of a model is reached, with its key.
    pub(crate) async fn settings(&self, info: &Info) -> Result<Settings> {
        let provider = self.provider_of(info)?;
        let key = self.key(&provider).await?;
        self.settings_with(info, &provider, key)
    }

    /// The same, with keys that are at hand only.
    pub(crate) fn settings_at_hand(&self, info: &Info) -> Result<Settings> {
        let provider = self.provider_of(info)?;
        let key = self.key_at_hand(&provider);
        self.settings_with(info, &provider, key)
    }

    fn provider_of<'n>(&'n self, info: &'n Info) -> Result<Provider<'n>> {
        self.provider(&info.provider)
            .ok_or_else(|| Failure::usage(format!("there is no provider `{}`", info.provider)))
    }

    /// How the provider of a model is reached, with this key.
    pub(crate) fn settings_with(&self, info: &Info, provider: &Provider<'_>, key: Option<Key>) -> Result<Settings> {
        let none = ProviderEntry::default();
        let entry = provider.entry.unwrap_or(&none);
        let quirks = quirks(provider, info.wire)?;
        let base_url = self.base_url(provider);
        if base_url.is_empty() && !matches!(quirks.auth, Auth::Aws | Auth::Google) {
            return Err(no_address(provider));
        }
        let name = provider.name;
        let mut settings = Settings::new(name, entry.wire.map_or(info.wire, Wire::from), &base_url);
        if let Some(wire) = self.config.models.get(&info.name()).and_then(|model| model.wire) {
            settings.wire = wire.into();
        }
        settings.headers = entry.headers.clone().into_iter().collect();
        let telling = |name: &str| {
            ["auth", "key", "token", "secret", "cookie"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
        };
        let secret = settings.headers.iter().filter(|(name, _)| telling(name));
        secret.for_each(|(_, value)| log::hide(value));
        settings.options = entry.options.clone();
        settings.model_options = self.model_options(info);
        if let Some(stall) = entry.stall {
            settings.stall = stall.0;
        }
        if let Some(key) = key
            .as_ref()
            .filter(|key| key.secret.reveal().contains(char::is_control))
        {
            return Err(Failure::usage(format!(
                "the key of {} from {} is broken: it contains a line break or another control character",
                provider.title(),
                key.source
            ))
            .hint("copy it again, in one line"));
        }
        let proxy = entry.proxy.as_deref().or(self.config.proxy.as_deref());
        settings.proxy = address::proxy(&base_url, proxy, self.env);
        self.prove(&mut settings, &quirks, provider, key)?;
        settings.quirks = quirks;
        Ok(settings)
    }

    /// The extra request fields that the configuration has for a model.
    pub(crate) fn model_options(&self, info: &Info) -> Map<String, Value> {
        let entry = self.config.models.get(&info.name());
        entry.map(|entry| entry.options.clone()).unwrap_or_default()
    }

    /// Where a provider is: the vendor's own variable, then the configuration, then what hew knows.
    pub(crate) fn base_url(&self, provider: &Provider<'_>) -> String {
        let variables = provider.preset.map_or(&[] as &[&str], |preset| preset.url_env);
        let (variable, said) = match self.env.first(variables.iter().copied()) {
            Some((name, value)) => (name, Some(value)),
            None => ("", provider.entry.and_then(|entry| entry.base_url.as_deref())),
        };
        let known = provider.preset.map_or("", |preset| preset.base_url);
        match said {
            Some(said) => address::complete(said, variable, known),
            None => known.into(),
        }
    }

    /// Adds the proof of who asks.
    fn prove(&self, settings: &mut Settings, quirks: &Quirks, provider: &Provider<'_>, key: Option<Key>) -> Result<()> {
        let none = ProviderEntry::default();
        let entry = provider.entry.unwrap_or(&none);
        let around = Surroundings {
            var: &|name| self.env.get(name).map(String::from),
            read: &|path| std::fs::read_to_string(path).ok(),
        };
        let secret = key.map(|key| key.secret);
        match quirks.auth {
            Auth::Aws => {
                let given = AwsGiven {
                    region: entry.region.clone(),
                    profile: entry.profile.clone(),
                    keys: None,
                    bearer: secret,
                };
                settings.aws = Some(Aws::find(given, &around)?);
            }
            Auth::Google => {
                let given = GoogleGiven {
                    project: entry.project.clone(),
                    location: entry.region.clone(),
                    token: secret,
                    file: None,
                };
                settings.google = Some(Google::find(given, &around)?);
            }
            Auth::Bearer | Auth::XApiKey | Auth::ApiKey | Auth::XGoogApiKey => {
                let optional = provider.preset.is_none_or(|preset| preset.place == Place::Local)
                    || address::is_loopback(&settings.base_url)
                    || !entry.headers.is_empty();
                if secret.is_none() && !optional {
                    return Err(no_key(provider, self.env));
                }
                settings.key = secret;
            }
        }
        Ok(())
    }
}

/// What hew knows about how a provider departs from its dialect, with what the configuration says laid over it.
fn quirks(provider: &Provider<'_>, wire: Wire) -> Result<Quirks> {
    let known = match provider.preset {
        Some(preset) => preset.quirks.clone(),
        None => match wire {
            Wire::AnthropicMessages => Quirks {
                auth: Auth::XApiKey,
                ..Quirks::PLAIN
            },
            Wire::Gemini => Quirks {
                auth: Auth::XGoogApiKey,
                ..Quirks::PLAIN
            },
            Wire::BedrockAnthropic => Quirks {
                auth: Auth::Aws,
                ..Quirks::PLAIN
            },
            Wire::VertexAnthropic => Quirks {
                auth: Auth::Google,
                ..Quirks::PLAIN
            },
            Wire::OpenaiResponses => Quirks::PLAIN,
            Wire::OpenaiChat => Quirks {
                think_tags: true,
                ..Quirks::IMITATION
            },
        },
    };
    let said = match provider.entry {
        Some(entry) if !entry.quirks.is_empty() => &entry.quirks,
        Some(_) | None => return Ok(known),
    };
    let mut merged = match serde_json::to_value(&known) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    };
    merged.extend(said.clone());
    serde_json::from_value(Value::Object(merged)).map_err(|error| {
        Failure::usage(format!("providers.{}.quirks: {error}", provider.name)).hint("docs/providers.md lists them")
    })
}

fn no_key(provider: &Provider<'_>, env: &Environment) -> Failure {
    let name = provider.name;
    let variable = provider.preset.and_then(|preset| preset.key_env.first());
    let set = match variable {
        Some(variable) => format!("set {variable}"),
        None => format!("set providers.{name}.key_env in the configuration"),
    };
    Failure::usage(format!("there is no key for {}", provider.title()))
        .needs_setup()
        .hint(format!(
            "{set}, or keep the key with `{}`; `hew demo` needs none",
            keys::set_command(name, env)
        ))
}

fn no_address(provider: &Provider<'_>) -> Failure {
    let name = provider.name;
    let variable = provider.preset.and_then(|preset| preset.url_env.first());
    let or = variable
        .map(|variable| format!("set {variable}, or "))
        .unwrap_or_default();
    Failure::usage(format!("hew does not know where {} is", provider.title()))
        .hint(format!("{or}`hew config set providers.{name}.base_url https://…`"))
}
