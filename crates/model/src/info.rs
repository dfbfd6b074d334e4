//! Static facts about a model.

use crate::{Cost, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest number of parameters of a small model.
const SMALL_PARAMETERS: u64 = 4_000_000_000;

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
    /// The number of parameters; 0 if unknown.
    #[serde(default)]
    pub parameters: u64,
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

    /// Whether the model is so small that it needs a short prompt and few tools.
    pub fn is_small(&self) -> bool {
        (1..=SMALL_PARAMETERS).contains(&self.parameters)
    }

    /// The cost of a request by the catalogue's prices; `None` if the prices are unknown.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        self.prices.as_ref().map(|prices| prices.cost(usage))
    }
}

/// The number of parameters that a model's name states, such as `1.5b` in `qwen2.5-coder:1.5b`; 0 if it states none. The
/// experts of a mixture such as `8x7b` are added up.
pub fn parameters_in(name: &str) -> u64 {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
    // A dot also separates a file extension.
    let stated = words.flat_map(|word| [word, word.rsplit_once('.').map_or(word, |(stem, _)| stem)]);
    stated.filter_map(parameter_count).max().unwrap_or(0)
}

/// Parses `1.5b`, `500M` or `8x7B`.
fn parameter_count(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let (number, unit) = match (word.strip_suffix('b'), word.strip_suffix('m')) {
        (Some(number), _) => (number, 1e9),
        (_, Some(number)) => (number, 1e6),
        (None, None) => return None,
    };
    let (experts, size) = number.split_once('x').unwrap_or(("1", number));
    let (experts, size): (f64, f64) = (experts.parse().ok()?, size.parse().ok()?);
    let count = experts * size * unit;
    (count.is_finite() && count >= 1e6).then_some(count as u64)
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
    /// Converse on AWS Bedrock, for models of all vendors.
    BedrockConverse,
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
            Wire::BedrockConverse => "bedrock-converse",
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
    fn the_number_of_parameters_is_read_from_a_name() {
        for (name, count) in [
            ("qwen2.5-coder:1.5b", 1_500_000_000),
            ("/models/coder-0.5b.gguf", 500_000_000),
            ("Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf", 500_000_000),
            ("mixtral-8x7b", 56_000_000_000),
            ("smollm2:135m", 135_000_000),
            ("7.6B", 7_600_000_000),
            ("qwen3-30b-a3b", 30_000_000_000),
            ("claude-sonnet-4-6", 0),
            ("gemma", 0),
            ("nanb", 0),
            ("infb", 0),
        ] {
            assert_eq!(parameters_in(name), count, "{name}");
        }
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
