//! The known models: the embedded list and the user's additions.

use crate::{Features, Info, ModelPrices, PriceTier, TokenLimits, Wire};
use serde::Deserialize;
use serde_json::Map;
use std::collections::BTreeMap;

/// Every known model, by provider and id.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    models: BTreeMap<(String, String), Info>,
}

/// The result of looking up a model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelLookup {
    /// Exactly one model.
    Found(Box<Info>),
    /// A bare id that several providers serve, with their full names.
    Ambiguous(Vec<String>),
    /// No model, with the most similar names.
    Unknown(Vec<String>),
}

impl Catalogue {
    /// The list embedded in the binary.
    pub fn embedded() -> Self {
        let mut catalogue = Catalogue::default();
        // A test loads the embedded list, so decompressing and parsing it cannot fail at run time.
        let packed = include_bytes!(concat!(env!("OUT_DIR"), "/models.deflate"));
        let list = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
        let rows = serde_json::from_slice::<CatalogueFile>(&list).map(|rows| rows.models);
        for row in rows.unwrap_or_default() {
            let info = row.into_info();
            let name = (info.provider.clone(), info.id.clone());
            catalogue.models.entry(name).or_insert(info);
        }
        catalogue
    }

    /// Adds a model, or replaces the model with the same name.
    pub fn add(&mut self, info: Info) {
        self.models.insert((info.provider.clone(), info.id.clone()), info);
    }

    /// All models, by provider and id.
    pub fn iter(&self) -> impl Iterator<Item = &Info> {
        self.models.values()
    }

    /// The model with this provider and id.
    pub fn get(&self, provider: &str, id: &str) -> Option<&Info> {
        self.models.get(&(provider.to_string(), id.to_string()))
    }

    /// Finds a model by `provider/id` or by a bare id.
    pub fn find(&self, name: &str) -> ModelLookup {
        if let Some((provider, id)) = name.split_once('/')
            && let Some(info) = self.get(provider, id)
        {
            return ModelLookup::Found(Box::new(info.clone()));
        }
        let same_id: Vec<&Info> = self.iter().filter(|info| info.id == name).collect();
        match same_id.as_slice() {
            [] => ModelLookup::Unknown(self.nearest(name)),
            [info] => ModelLookup::Found(Box::new((*info).clone())),
            several => ModelLookup::Ambiguous(several.iter().map(|info| info.name()).collect()),
        }
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let qualified = name.contains('/');
        let mut scored: Vec<(f64, String)> = self
            .iter()
            .map(|info| {
                let full = info.name();
                let score = strsim::jaro_winkler(name, if qualified { &full } else { &info.id });
                (score, full)
            })
            .filter(|(score, _)| *score > 0.8)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

#[derive(Deserialize)]
struct CatalogueFile {
    models: Vec<CatalogueRow>,
}

/// A model in the embedded list; the build script omits false and null fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CatalogueRow {
    provider: String,
    id: String,
    context_window: Option<u64>,
    max_output: Option<u64>,
    usd_per_million_tokens: Option<PriceTier>,
    long_context_tier: Option<LongContextTier>,
    tools: bool,
    parallel_tools: bool,
    vision: bool,
    pdf: bool,
    reasoning: bool,
    prompt_caching: bool,
    responses_api_only: bool,
    deprecated_on: Option<String>,
}

#[derive(Deserialize)]
struct LongContextTier {
    above_tokens: u64,
    #[serde(flatten)]
    tier: PriceTier,
}

impl CatalogueRow {
    fn into_info(self) -> Info {
        let wire = match self.provider.as_str() {
            "anthropic" => Wire::AnthropicMessages,
            "bedrock" if self.id.contains("anthropic.") => Wire::BedrockAnthropic,
            "bedrock" => Wire::BedrockConverse,
            "gemini" => Wire::Gemini,
            "openai" => Wire::OpenaiResponses,
            _ if self.responses_api_only => Wire::OpenaiResponses,
            _ => Wire::OpenaiChat,
        };
        Info {
            provider: self.provider,
            id: self.id,
            wire,
            limits: TokenLimits {
                window: self.context_window.unwrap_or(0),
                output: self.max_output.unwrap_or(0),
            },
            parameters: 0,
            features: Features {
                tools: self.tools,
                parallel_tools: self.parallel_tools,
                images: self.vision,
                pdf: self.pdf,
                reasoning: self.reasoning,
                // Converse caches only at explicit points.
                caching: self.prompt_caching && wire != Wire::BedrockConverse,
            },
            prices: self.usd_per_million_tokens.map(|base| ModelPrices {
                base,
                long: self.long_context_tier.map(|long| (long.above_tokens, long.tier)),
            }),
            deprecated_on: self.deprecated_on,
            options: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_has_prices_and_long_context_tiers() {
        let catalogue = Catalogue::embedded();
        assert!(catalogue.iter().count() > 300);
        let ModelLookup::Found(info) = catalogue.find("anthropic/claude-sonnet-4-6") else {
            panic!("not found")
        };
        assert_eq!(info.wire, Wire::AnthropicMessages);
        assert!(info.limits.window >= 200_000 && info.features.tools && info.prices.is_some());
        let long = catalogue
            .get("anthropic", "claude-haiku-5-5")
            .and_then(|info| info.prices.clone())
            .unwrap();
        assert_eq!(long.long.map(|(above, tier)| (above, tier.input)), Some((100_000, 0.5)));
        assert!(
            catalogue
                .iter()
                .filter(|info| info.provider == "bedrock")
                .all(
                    |info| (info.wire == Wire::BedrockAnthropic) == info.id.contains("anthropic.")
                        && !(info.wire == Wire::BedrockConverse && info.features.caching)
                )
        );
    }

    #[test]
    fn a_model_is_found_by_its_full_name_or_a_bare_id_and_a_typo_gets_suggestions() {
        let mut catalogue = Catalogue::embedded();
        assert!(matches!(catalogue.find("gpt-5.5"), ModelLookup::Found(info) if info.provider == "openai"));
        let ModelLookup::Unknown(nearest) = catalogue.find("anthropic/claude-sonet-4-6") else {
            panic!("found a typo")
        };
        assert_eq!(nearest.first().map(String::as_str), Some("anthropic/claude-sonnet-4-6"));
        let ModelLookup::Found(mut twin) = catalogue.find("gpt-5.5") else {
            panic!("not found")
        };
        twin.provider = "azure".into();
        catalogue.add(*twin);
        assert_eq!(
            catalogue.find("gpt-5.5"),
            ModelLookup::Ambiguous(vec!["azure/gpt-5.5".into(), "openai/gpt-5.5".into()])
        );
    }
}
