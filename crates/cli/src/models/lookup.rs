//! From a name to what is known about a model.

use super::suggest::suggest;
use super::{Models, Provider};
use crate::config::{ModelEntry, ToolProtocol};
use crate::failure::{Failure, Result};
use model::{Features, Info, Limits, Lookup, Prices, Tier, Wire};
use providers::presets;

/// Providers that serve other vendors' models at the vendors' prices.
const SAME_PRICES: &[&str] = &["vertex", "azure", "openrouter", "vercel"];

impl Models<'_> {
    /// Finds a model by `provider/id` or by its id alone.
    pub(crate) fn find(&self, name: &str) -> Result<Info> {
        let mut info = match self.catalogue.find(name) {
            Lookup::Found(info) => *info,
            Lookup::Ambiguous(names) => self.choose(name, &names)?,
            Lookup::Unknown(_) => self.describe_open(name).ok_or_else(|| self.unknown(name))?,
        };
        // Who names a protocol knows better what the model, or the server in front of it, can do.
        match self.config.tool_protocol {
            Some(ToolProtocol::Native) => info.features.tools = true,
            Some(ToolProtocol::Xml) => info.features.tools = false,
            None => {}
        }
        Ok(info)
    }

    /// Several providers serve it: the only one with a key is meant.
    fn choose(&self, name: &str, names: &[String]) -> Result<Info> {
        let usable: Vec<&String> = names
            .iter()
            .filter(|name| {
                let provider = name.split_once('/').and_then(|(provider, _)| self.provider(provider));
                provider.is_some_and(|provider| self.key_at_hand(&provider).is_some())
            })
            .collect();
        let only = match usable.as_slice() {
            [only] => self.catalogue.find(only),
            [] | [_, ..] => Lookup::Unknown(Vec::new()),
        };
        match only {
            Lookup::Found(info) => Ok(*info),
            Lookup::Ambiguous(_) | Lookup::Unknown(_) => {
                Err(Failure::usage(format!("several providers serve `{name}`"))
                    .hint(format!("name one of them: {}", names.join(", "))))
            }
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let failure = Failure::usage(format!("there is no model `{name}`"));
        let nearest = suggest(&self.catalogue, name);
        let (said, id) = match name.split_once('/') {
            Some((provider, id)) => (Some(provider), id),
            None => (None, name),
        };
        if let Some(provider) = said
            && self.provider(provider).is_none()
            && nearest.is_empty()
        {
            let names: Vec<&str> = self.providers().iter().map(|provider| provider.name).collect();
            return failure.hint(format!(
                "`{provider}` is not a provider; known are {}; others are described in the configuration",
                names.join(", ")
            ));
        }
        // Whoever adds just this line can use the model, so it names a provider that exists.
        let provider = said
            .filter(|name| self.provider(name).is_some())
            .map(String::from)
            .or_else(|| nearest.first().map(|info| info.provider.clone()))
            .or_else(|| self.first_with_key());
        let add = match provider {
            Some(provider) if !id.is_empty() => {
                format!("adding [models.\"{provider}/{id}\"] to the configuration")
            }
            Some(_) | None => format!("naming its provider: -m PROVIDER/{id}, and adding [models.\"PROVIDER/{id}\"]"),
        };
        let add = format!("a model that hew does not know yet can be used after {add}");
        let names: Vec<String> = nearest.iter().map(|info| info.name()).collect();
        failure.hint(match names.is_empty() {
            true => format!("`hew models` lists those that hew knows; {add}"),
            false => format!("did you mean {}? {}", names.join(" or "), capital(&add)),
        })
    }

    fn first_with_key(&self) -> Option<String> {
        let providers = self.providers();
        let first = providers.iter().find(|provider| self.key_at_hand(provider).is_some());
        first.map(|provider| provider.name.to_string())
    }

    /// What is known about a model that need not be in the catalogue, because its provider takes any.
    fn describe_open(&self, name: &str) -> Option<Info> {
        let (provider, id) = name.split_once('/')?;
        let known = self.provider(provider)?;
        let open = match known.preset {
            Some(preset) => preset.models == presets::Models::Open,
            None => true,
        };
        let listed = known
            .entry
            .is_some_and(|entry| entry.models.iter().any(|own| own == id));
        (open || listed).then(|| self.guess(&known, id))
    }

    /// What is known about a model that the configuration describes.
    pub(super) fn describe(&self, name: &str) -> Option<Info> {
        let entry = self.config.models.get(name)?;
        let (provider, id) = name.split_once('/')?;
        let known = self.provider(provider)?;
        let known_info = self.catalogue.get(provider, id).cloned();
        let mut info = known_info.unwrap_or_else(|| self.guess(&known, id));
        apply(&mut info, entry);
        Some(info)
    }

    /// Some model of a provider, to find out how the provider is reached.
    pub(crate) fn any_info(&self, provider: &Provider<'_>) -> Info {
        let known = self.catalogue.iter().find(|info| info.provider == provider.name);
        known.cloned().unwrap_or_else(|| self.guess(provider, "any"))
    }

    /// A model that nobody has described: what its namesake at another provider can do, or else the usual.
    fn guess(&self, provider: &Provider<'_>, id: &str) -> Info {
        let wire = match (provider.entry.and_then(|entry| entry.wire), provider.preset) {
            (Some(wire), _) => wire.into(),
            // Google serves its own models on Vertex by its own dialect.
            (None, Some(preset)) if preset.name == "vertex" && id.starts_with("gemini") => Wire::Gemini,
            (None, Some(preset)) => preset.wire,
            (None, None) => Wire::OpenaiChat,
        };
        let namesake = self.namesake(id);
        let prices = namesake
            .and_then(|info| info.prices.clone())
            .filter(|_| SAME_PRICES.contains(&provider.name));
        Info {
            provider: provider.name.into(),
            id: id.into(),
            wire,
            limits: namesake.map_or(Limits { window: 0, output: 0 }, |info| info.limits),
            features: namesake.map_or(USUAL, |info| info.features),
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

/// What almost every model that a coding agent is used with can do.
const USUAL: Features = Features {
    tools: true,
    parallel_tools: true,
    images: false,
    pdf: false,
    reasoning: false,
    caching: false,
};

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn apply(info: &mut Info, entry: &ModelEntry) {
    if let Some(wire) = entry.wire {
        info.wire = wire.into();
    }
    let Limits { window, output } = &mut info.limits;
    for (field, said) in [(window, entry.window), (output, entry.output)] {
        *field = said.unwrap_or(*field);
    }
    let features = &mut info.features;
    for (field, said) in [
        (&mut features.tools, entry.tools),
        (&mut features.parallel_tools, entry.parallel_tools),
        (&mut features.images, entry.images),
        (&mut features.pdf, entry.pdf),
        (&mut features.reasoning, entry.reasoning),
        (&mut features.caching, entry.caching),
    ] {
        *field = said.unwrap_or(*field);
    }
    if let Some(prices) = &entry.prices {
        info.prices = Some(Prices {
            base: Tier {
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
    use crate::environment::Environment;

    fn find(config: &str, env: Environment, name: &str) -> Result<Info> {
        let config: Config = toml::from_str(config).unwrap();
        Models::new(&config, &env).find(name)
    }

    #[test]
    fn a_typing_mistake_gets_the_nearest_names() {
        let failure = find("", Environment::default(), "anthropic/claude-sonet-4-6").unwrap_err();
        assert_eq!(failure.what, "there is no model `anthropic/claude-sonet-4-6`");
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("did you mean anthropic/claude-sonnet-4-6")
        );
        let failure = find("", Environment::default(), "nowhere/qqqq").unwrap_err();
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("`nowhere` is not a provider; known are anthropic, openai, ")
        );
    }

    #[test]
    fn the_hint_about_an_unknown_model_works_when_it_is_followed() {
        for (name, key) in [
            ("claude-sonnet-99", None),
            ("anthropic/claude-zebra-99", None),
            ("anthropc/claude-sonnet-99", None),
            ("zzzz", Some(("OPENAI_API_KEY", "k"))),
        ] {
            let env = || key.map_or_else(Environment::default, |pair| Environment::from([pair]));
            let hint = find("", env(), name).unwrap_err().hint.unwrap();
            let table = hint.split_once("[models.").unwrap().1.split_once(']').unwrap().0;
            let full = table.trim_matches('"');
            let info = find(&format!("[models.{table}]"), env(), full).unwrap();
            assert_eq!(info.name(), full, "{hint}");
        }
        let hint = find("", Environment::default(), "zzzz").unwrap_err().hint.unwrap();
        assert!(hint.contains("-m PROVIDER/zzzz"), "{hint}");
    }

    #[test]
    fn local_and_described_providers_take_any_model() {
        let info = find("", Environment::default(), "ollama/qwen3-coder:30b").unwrap();
        assert_eq!((info.wire, info.features.tools), (Wire::OpenaiChat, true));
        let mine = "[providers.mine]\nwire = 'anthropic-messages'\nbase_url = 'http://127.0.0.1:1'";
        let info = find(mine, Environment::default(), "mine/whatever").unwrap();
        assert_eq!(info.wire, Wire::AnthropicMessages);
    }

    #[test]
    fn a_gateway_model_is_known_by_its_namesake() {
        let info = find("", Environment::default(), "openrouter/anthropic/claude-sonnet-4.6").unwrap();
        assert_eq!((info.provider.as_str(), info.wire), ("openrouter", Wire::OpenaiChat));
        assert!(info.limits.window >= 200_000 && info.features.images && info.prices.is_some());
    }

    #[test]
    fn the_configuration_adds_models_and_changes_known_ones() {
        let config = "[models.'anthropic/claude-next']\nwindow = 5\nprices = {input = 1.0, output = 2.0}\n[models.'openai/gpt-5.5']\nimages = false";
        let next = find(config, Environment::default(), "anthropic/claude-next").unwrap();
        assert_eq!((next.limits.window, next.wire), (5, Wire::AnthropicMessages));
        assert_eq!(next.prices.map(|prices| prices.base.output), Some(2.0));
        let gpt = find(config, Environment::default(), "openai/gpt-5.5").unwrap();
        assert!(!gpt.features.images && gpt.features.tools && gpt.limits.window > 0);
    }
}
