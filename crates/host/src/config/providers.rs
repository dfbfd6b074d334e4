//! Providers and models in the configuration.

use super::{HumanDuration, bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// The wire format. Required if hew does not know the provider.
    pub wire: Option<WireName>,
    /// The base URL of the API. Required if hew does not know the provider.
    #[serde(deserialize_with = "bounds::web_address")]
    pub base_url: Option<String>,
    /// The key itself. Better: `key_env`, `key_command` or `hew keys set`.
    pub key: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// A program that prints the key, with its arguments, such as `["pass", "show", "anthropic"]`.
    pub key_command: Option<Vec<String>>,
    /// Additional headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Additional fields of every request body.
    pub options: Map<String, Value>,
    /// Deviations from the wire format; they override the known ones.
    pub quirks: Map<String, Value>,
    /// Endpoints for `hew login`; they override the known ones.
    pub sign_in: Map<String, Value>,
    /// Models that it serves, for `hew models`.
    pub models: Vec<String>,
    /// A request fails if the provider sends nothing for this long.
    pub stall: Option<HumanDuration>,
    /// The HTTP proxy for this provider.
    pub proxy: Option<String>,
    /// The AWS region (Bedrock) or the Google Cloud location (Vertex).
    pub region: Option<String>,
    /// The AWS profile (Bedrock).
    pub profile: Option<String>,
    /// The Google Cloud project (Vertex).
    pub project: Option<String>,
}

/// A model. Missing values are taken from the catalogue or are estimated.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The wire format, if it is not that of the provider.
    pub wire: Option<WireName>,
    /// The context window: tokens of prompt and reply together.
    pub window: Option<u64>,
    /// The maximum number of tokens of a reply.
    pub output: Option<u64>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it calls several tools in one reply.
    pub parallel_tools: Option<bool>,
    /// Whether it accepts images.
    pub images: Option<bool>,
    /// Whether it accepts PDF documents.
    pub pdf: Option<bool>,
    /// Whether it supports reasoning.
    pub reasoning: Option<bool>,
    /// Whether its provider caches prompts.
    pub caching: Option<bool>,
    /// Its prices.
    pub prices: Option<PricesConfig>,
    /// Additional fields of every request body.
    pub options: Map<String, Value>,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesConfig {
    /// Prompt.
    pub input: f64,
    /// Reply.
    pub output: f64,
    /// Prompt read from the cache.
    pub cache_read: Option<f64>,
    /// Prompt written to the cache.
    pub cache_write: Option<f64>,
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WireName {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions, and compatible APIs.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini.
    Gemini,
    /// Anthropic on AWS Bedrock.
    BedrockAnthropic,
    /// Converse on AWS Bedrock, for models of all vendors.
    BedrockConverse,
    /// Anthropic on Google Vertex AI.
    VertexAnthropic,
}

impl From<WireName> for model::Wire {
    fn from(wire: WireName) -> Self {
        match wire {
            WireName::AnthropicMessages => model::Wire::AnthropicMessages,
            WireName::OpenaiChat => model::Wire::OpenaiChat,
            WireName::OpenaiResponses => model::Wire::OpenaiResponses,
            WireName::Gemini => model::Wire::Gemini,
            WireName::BedrockAnthropic => model::Wire::BedrockAnthropic,
            WireName::BedrockConverse => model::Wire::BedrockConverse,
            WireName::VertexAnthropic => model::Wire::VertexAnthropic,
        }
    }
}
