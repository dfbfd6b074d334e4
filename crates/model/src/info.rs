//! Static facts about a model.

use crate::{Cost, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A model: its provider, wire, limits, features and prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// The provider's name in the configuration, such as `anthropic`.
    pub provider: String,
    /// The provider's id for the model.
    pub id: String,
    /// The API protocol.
    pub wire: Wire,
    /// Token limits.
    pub limits: TokenLimits,
    /// Supported features.
    pub features: Features,
    /// The prices, if known.
    pub prices: Option<ModelPrices>,
    /// The first day without support by the provider, as `YYYY-MM-DD`.
    pub deprecated_on: Option<String>,
    /// Extra request fields: the first layer of the options merge.
    #[serde(default)]
    pub options: Map<String, Value>,
}

impl Info {
    /// The qualified name, `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// The cost of a request by the catalogue's prices; `None` if the prices are unknown.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        self.prices.as_ref().map(|prices| prices.cost(usage))
    }
}

/// A vendor's HTTP API protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions and compatible servers.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini `streamGenerateContent`.
    Gemini,
    /// Anthropic Messages in AWS event streams.
    BedrockAnthropic,
    /// Anthropic Messages through Google's Vertex AI.
    VertexAnthropic,
}

impl Wire {
    /// The name in the configuration and in [`crate::ReplayData::wire`].
    pub fn name(self) -> &'static str {
        match self {
            Wire::AnthropicMessages => "anthropic-messages",
            Wire::OpenaiChat => "openai-chat",
            Wire::OpenaiResponses => "openai-responses",
            Wire::Gemini => "gemini",
            Wire::BedrockAnthropic => "bedrock-anthropic",
            Wire::VertexAnthropic => "vertex-anthropic",
        }
    }
}

/// Token limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenLimits {
    /// The context window: prompt and reply together; 0 if unknown.
    pub window: u64,
    /// The maximum reply; 0 if unknown.
    pub output: u64,
}

/// Features of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// Native tool calls.
    pub tools: bool,
    /// Several tool calls in one reply.
    pub parallel_tools: bool,
    /// Images in the prompt.
    pub images: bool,
    /// PDF documents in the prompt.
    pub pdf: bool,
    /// Reasoning before the reply.
    pub reasoning: bool,
    /// Prompt caching.
    pub caching: bool,
}

/// How much a model should reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No reasoning, if the model allows that.
    None,
    /// The smallest amount.
    Minimal,
    /// Little.
    Low,
    /// The default amount.
    Medium,
    /// Much.
    High,
    /// The largest amount.
    Max,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelPrices {
    /// The base prices.
    #[serde(flatten)]
    pub base: PriceTier,
    /// A prompt length in tokens, and the prices of a whole request with a longer prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<(u64, PriceTier)>,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PriceTier {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Reply tokens.
    pub output: f64,
    /// Prompt tokens read from the cache; defaults to the input price.
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache; defaults to the input price.
    pub cache_write: Option<f64>,
    /// Prompt tokens written to the one-hour cache; defaults to the `cache_write` price.
    pub cache_write_1h: Option<f64>,
}

impl ModelPrices {
    /// The prices of a request with this many prompt tokens.
    pub fn tier(&self, prompt: u64) -> &PriceTier {
        match &self.long {
            Some((above, tier)) if prompt > *above => tier,
            Some(_) | None => &self.base,
        }
    }

    /// The cost of the prompt tokens that came from the cache.
    pub fn cost_of_cached(&self, usage: &Usage) -> Cost {
        let tier = self.tier(usage.prompt_tokens());
        let nano = usage.cache_read as f64 * tier.cache_read.unwrap_or(tier.input);
        Cost {
            nano_usd: (nano * 1_000.0).round() as i64,
        }
    }

    /// The cost of a request.
    pub fn cost(&self, usage: &Usage) -> Cost {
        let tier = self.tier(usage.prompt_tokens());
        let write = tier.cache_write.unwrap_or(tier.input);
        // Dollars per million tokens are thousands of nano-dollars per token.
        let nano = usage.input as f64 * tier.input
            + usage.cache_read as f64 * tier.cache_read.unwrap_or(tier.input)
            + usage.cache_write as f64 * write
            + usage.cache_write_1h as f64 * tier.cache_write_1h.unwrap_or(write)
            + usage.output as f64 * tier.output;
        Cost {
            nano_usd: (nano * 1_000.0).round() as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_costs_what_its_tokens_cost_and_long_prompts_cost_the_long_price() {
        let tier = |input: f64, output: f64| PriceTier {
            input,
            output,
            cache_read: Some(input / 10.0),
            cache_write: Some(input * 1.25),
            cache_write_1h: Some(input * 2.0),
        };
        let prices = ModelPrices {
            base: tier(3.0, 15.0),
            long: Some((200_000, tier(6.0, 22.5))),
        };
        let usage = Usage {
            input: 1_000,
            cache_read: 10_000,
            cache_write: 2_000,
            output: 500,
            ..Usage::default()
        };
        assert_eq!(
            prices.cost(&usage).nano_usd,
            3_000_000 + 3_000_000 + 7_500_000 + 7_500_000
        );
        let long = Usage {
            input: 1_000,
            cache_read: 200_000,
            output: 500,
            ..Usage::default()
        };
        assert_eq!(prices.cost(&long).nano_usd, 6_000_000 + 120_000_000 + 11_250_000);
        let hour = Usage {
            cache_write_1h: 1_000,
            ..Usage::default()
        };
        assert_eq!(prices.cost(&hour).nano_usd, 6_000_000);
    }

    #[test]
    fn a_missing_cache_price_is_the_input_price() {
        let tier = PriceTier {
            input: 2.0,
            output: 4.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        let usage = Usage {
            cache_read: 500_000,
            cache_write: 500_000,
            ..Usage::default()
        };
        assert_eq!(ModelPrices { base: tier, long: None }.cost(&usage).usd(), 2.0);
    }
}
