//! Looks up models by name.

use super::aliases::nearest_alias;
use super::suggest::suggest;
use super::{ModelRegistry, ResolvedProvider};
use crate::config::{EffortName, ModelConfig, ToolProtocol};
use crate::failure::{Failure, Result};
use model::{Features, Info, ModelLookup, ModelPrices, PriceTier, TokenLimits, Wire};
use providers::presets;

/// Providers that serve models of other vendors at the vendors' prices.
const SAME_PRICES: &[&str] = &["vertex", "azure", "openrouter", "vercel"];

impl ModelRegistry<'_> {
    /// Finds a model by `provider/id` or by its id alone.
    pub fn find(&self, name: &str) -> Result<Info> {
        Ok(self.complete(match self.catalogue.find(name) {
            ModelLookup::Found(info) => *info,
            ModelLookup::Ambiguous(names) => match (self.choose(name, &names), self.by_alias(name)) {
                (Ok(info), _) | (Err(_), Some(info)) => info,
                (Err(failure), None) => return Err(failure),
            },
            ModelLookup::Unknown(_) => self
                .by_alias(name)
                .or_else(|| self.describe_unlisted(name))
                .ok_or_else(|| self.unknown(name))?,
        }))
    }

    /// Completes a description: the configured protocol, and the maximum reply of local models.
    pub(super) fn complete(&self, mut info: Info) -> Info {
        // A configured protocol overrides the catalogue.
        match self.config.tool_protocol {
            Some(ToolProtocol::Native) => info.features.tools = true,
            Some(ToolProtocol::Xml) => info.features.tools = false,
            None => {}
        }
        let is_local = self
            .provider(&info.provider)
            .is_some_and(|provider| provider.is_local());
        if is_local && info.limits.output == 0 {
            info.limits.output = local_reply_limit(&info);
        }
        info
    }

    /// Chooses the only provider with a key of several that serve a model.
    fn choose(&self, name: &str, names: &[String]) -> Result<Info> {
        let usable: Vec<&String> = names
            .iter()
            .filter(|name| {
                let provider = name.split_once('/').and_then(|(provider, _)| self.provider(provider));
                provider.is_some_and(|provider| self.immediate_key(&provider).is_some())
            })
            .collect();
        let only = match usable.as_slice() {
            [only] => self.catalogue.find(only),
            [] | [_, ..] => ModelLookup::Unknown(Vec::new()),
        };
        match only {
            ModelLookup::Found(info) => Ok(*info),
            ModelLookup::Ambiguous(_) | ModelLookup::Unknown(_) => {
                Err(Failure::usage(format!("several providers serve `{name}`"))
                    .hint(format!("name one of them: {}", names.join(", "))))
            }
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let failure = Failure::usage(format!("there is no model `{name}`"));
        let nearest = suggest(&self.catalogue, name);
        let (named, id) = match name.split_once('/') {
            Some((provider, id)) => (Some(provider), id),
            None => (None, name),
        };
        if let Some(provider) = named
            && self.provider(provider).is_none()
            && nearest.is_empty()
        {
            let names: Vec<&str> = self.providers().iter().map(|provider| provider.name).collect();
            return failure.hint(format!(
                "`{provider}` is not a provider; known providers: {}; others can be defined in the configuration",
                names.join(", ")
            ));
        }
        // The suggested line must work as it is, so it names an existing provider.
        let provider = named
            .filter(|name| self.provider(name).is_some())
            .map(String::from)
            .or_else(|| nearest.first().map(|info| info.provider.clone()))
            .or_else(|| self.first_provider_with_key());
        let add = match provider {
            Some(provider) if !id.is_empty() => {
                format!("adding [models.\"{provider}/{id}\"] to the configuration")
            }
            Some(_) | None => format!("naming its provider: -m PROVIDER/{id}, and adding [models.\"PROVIDER/{id}\"]"),
        };
        let add = format!("an unknown model can be used after {add}");
        let alias = nearest_alias(name).map(str::to_owned);
        let names: Vec<String> = alias
            .into_iter()
            .chain(nearest.iter().map(|info| info.name()))
            .collect();
        failure.hint(match names.is_empty() {
            true => format!("`hew models` lists the known models; {add}"),
            false => format!("did you mean {}? {}", names.join(" or "), capitalized(&add)),
        })
    }

    fn first_provider_with_key(&self) -> Option<String> {
        let providers = self.providers();
        let first = providers.iter().find(|provider| self.immediate_key(provider).is_some());
        first.map(|provider| provider.name.to_string())
    }

    /// Describes a model that is not in the catalogue, if its provider accepts any model.
    fn describe_unlisted(&self, name: &str) -> Option<Info> {
        let (provider, id) = name.split_once('/')?;
        let known = self.provider(provider)?;
        let open = match known.preset {
            Some(preset) => preset.models == presets::AcceptedModels::Any,
            None => true,
        };
        let listed = known
            .entry
            .is_some_and(|entry| entry.models.iter().any(|own| own == id));
        (open || listed).then(|| self.guess(&known, id))
    }

    /// Describes a model of the configuration.
    pub(super) fn describe(&self, name: &str) -> Option<Info> {
        let entry = self.config.models.get(name)?;
        let (provider, id) = name.split_once('/')?;
        let known = self.provider(provider)?;
        let known_info = self.catalogue.get(provider, id).cloned();
        let mut info = known_info.unwrap_or_else(|| self.guess(&known, id));
        apply_overrides(&mut info, entry);
        Some(info)
    }

    /// Any model of a provider, to determine how the provider is reached.
    pub fn representative(&self, provider: &ResolvedProvider<'_>) -> Info {
        let known = self.catalogue.iter().find(|info| info.provider == provider.name);
        known.cloned().unwrap_or_else(|| self.guess(provider, "any"))
    }

    /// Describes an unknown model by its namesake at another provider, or by default values.
    fn guess(&self, provider: &ResolvedProvider<'_>, id: &str) -> Info {
        let wire = match (provider.entry.and_then(|entry| entry.wire), provider.preset) {
            (Some(wire), _) => wire.into(),
            // Google serves its own models on Vertex with its own wire format.
            (None, Some(preset)) if preset.name == "vertex" && id.starts_with("gemini") => Wire::Gemini,
            // Only Anthropic's models have their own format on Bedrock.
            (None, Some(preset)) if preset.name == "bedrock" && !id.contains("anthropic") && !id.contains("claude") => {
                Wire::BedrockConverse
            }
            (None, Some(preset)) => preset.wire,
            (None, None) => Wire::OpenaiChat,
        };
        let namesake = self.namesake(id);
        let has_effort = !matches!(self.config.effort, None | Some(EffortName::None));
        let prices = namesake
            .and_then(|info| info.prices.clone())
            .filter(|_| SAME_PRICES.contains(&provider.name));
        Info {
            provider: provider.name.into(),
            id: id.into(),
            wire,
            limits: namesake.map_or(TokenLimits { window: 0, output: 0 }, |info| info.limits),
            parameters: model::parameters_in(id),
            features: namesake.map_or(
                Features {
                    // A configured effort is sent to a provider that hew does not know.
                    reasoning: provider.preset.is_none() && has_effort,
                    ..DEFAULT_FEATURES
                },
                |info| info.features,
            ),
            prices,
            deprecated_on: None,
            options: serde_json::Map::new(),
        }
    }

    fn namesake(&self, id: &str) -> Option<&Info> {
        let plain = |id: &str| {
            let last = id.rsplit('/').next().unwrap_or(id);
            let last = last.split(['@', ':']).next().unwrap_or(last);
            last.replace('.', "-").to_ascii_lowercase()
        };
        let wanted = plain(id);
        self.catalogue.iter().find(|info| plain(&info.id) == wanted)
    }
}

/// The features of almost every model for coding agents.
const DEFAULT_FEATURES: Features = Features {
    tools: true,
    parallel_tools: true,
    images: false,
    pdf: false,
    reasoning: false,
    caching: false,
};

/// The maximum reply of a local model. Its server has no limit, and small models tend to repeat themselves.
fn local_reply_limit(info: &Info) -> u64 {
    let share = match info.features.reasoning {
        true => info.limits.window / 2,
        false => info.limits.window / 4,
    };
    match info.limits.window {
        0 => 4_096,
        _ => share.clamp(512, 16_384),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

pub(super) fn apply_overrides(info: &mut Info, entry: &ModelConfig) {
    if let Some(wire) = entry.wire {
        info.wire = wire.into();
    }
    let TokenLimits { window, output } = &mut info.limits;
    for (field, configured) in [(window, entry.window), (output, entry.output)] {
        *field = configured.unwrap_or(*field);
    }
    let features = &mut info.features;
    for (field, configured) in [
        (&mut features.tools, entry.tools),
        (&mut features.parallel_tools, entry.parallel_tools),
        (&mut features.images, entry.images),
        (&mut features.pdf, entry.pdf),
        (&mut features.reasoning, entry.reasoning),
        (&mut features.caching, entry.caching),
    ] {
        *field = configured.unwrap_or(*field);
    }
    if let Some(prices) = &entry.prices {
        info.prices = Some(ModelPrices {
            base: PriceTier {
                input: prices.input,
                output: prices.output,
                cache_read: prices.cache_read,
                cache_write: prices.cache_write,
                cache_write_1h: None,
            },
            long: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::environment::ProcessEnv;

    fn find(config: &str, env: ProcessEnv, name: &str) -> Result<Info> {
        let config: Config = toml::from_str(config).unwrap();
        ModelRegistry::new(&config, &env).find(name)
    }

    #[test]
    fn the_nearest_names_are_suggested_for_a_misspelled_model() {
        let failure = find("", ProcessEnv::default(), "anthropic/claude-sonet-4-6").unwrap_err();
        assert_eq!(failure.message, "there is no model `anthropic/claude-sonet-4-6`");
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("did you mean anthropic/claude-sonnet-4-6")
        );
        let failure = find("", ProcessEnv::default(), "sonet").unwrap_err();
        assert!(failure.hint.unwrap().starts_with("did you mean sonnet"));
        let failure = find("", ProcessEnv::default(), "nowhere/qqqq").unwrap_err();
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("`nowhere` is not a provider; known providers: anthropic, openai, ")
        );
    }

    #[test]
    fn the_suggested_configuration_of_an_unknown_model_works() {
        for (name, key) in [
            ("claude-sonnet-99", None),
            ("anthropic/claude-zebra-99", None),
            ("anthropc/claude-sonnet-99", None),
            ("zzzz", Some(("OPENAI_API_KEY", "k"))),
        ] {
            let env = || key.map_or_else(ProcessEnv::default, |pair| ProcessEnv::from([pair]));
            let hint = find("", env(), name).unwrap_err().hint.unwrap();
            let table = hint.split_once("[models.").unwrap().1.split_once(']').unwrap().0;
            let full = table.trim_matches('"');
            let info = find(&format!("[models.{table}]"), env(), full).unwrap();
            assert_eq!(info.name(), full, "{hint}");
        }
        let hint = find("", ProcessEnv::default(), "zzzz").unwrap_err().hint.unwrap();
        assert!(hint.contains("-m PROVIDER/zzzz"), "{hint}");
    }

    #[test]
    fn local_and_configured_providers_accept_any_model() {
        let info = find("", ProcessEnv::default(), "ollama/qwen3-coder:30b").unwrap();
        assert_eq!((info.wire, info.features.tools), (Wire::OpenaiChat, true));
        let mine = "[providers.mine]\nwire = 'anthropic-messages'\nbase_url = 'http://127.0.0.1:1'";
        let info = find(mine, ProcessEnv::default(), "mine/whatever").unwrap();
        assert_eq!(info.wire, Wire::AnthropicMessages);
    }

    #[test]
    fn a_gateway_model_is_described_by_its_namesake() {
        let info = find("", ProcessEnv::default(), "openrouter/anthropic/claude-sonnet-4.6").unwrap();
        assert_eq!((info.provider.as_str(), info.wire), ("openrouter", Wire::OpenaiChat));
        assert!(info.limits.window >= 200_000 && info.features.images && info.prices.is_some());
    }

    #[test]
    fn the_configuration_adds_models_and_changes_known_ones() {
        let config = "[models.'anthropic/claude-next']\nwindow = 5\nprices = {input = 1.0, output = 2.0}\n[models.'openai/gpt-5.5']\nimages = false";
        let next = find(config, ProcessEnv::default(), "anthropic/claude-next").unwrap();
        assert_eq!((next.limits.window, next.wire), (5, Wire::AnthropicMessages));
        assert_eq!(next.prices.map(|prices| prices.base.output), Some(2.0));
        let gpt = find(config, ProcessEnv::default(), "openai/gpt-5.5").unwrap();
        assert!(!gpt.features.images && gpt.features.tools && gpt.limits.window > 0);
    }
}
