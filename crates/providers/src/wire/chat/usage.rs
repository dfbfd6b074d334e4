//! Usage and cost in the formats of the different servers.

use model::{Cost, Usage};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The `usage` object with all vendors' field names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatUsage {
    prompt_tokens: TokenCount,
    completion_tokens: TokenCount,
    total_tokens: TokenCount,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: TokenCount,
    /// Moonshot.
    cached_tokens: TokenCount,
    /// Anthropic's models behind Vercel and others.
    cache_creation_input_tokens: TokenCount,
    cache_read_input_tokens: TokenCount,
    /// OpenRouter, Vercel and others, in dollars.
    cost: Option<Value>,
    is_byok: Option<bool>,
    cost_details: Option<CostDetails>,
    /// xAI: ten billion to the dollar.
    cost_in_usd_ticks: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: TokenCount,
    cache_write_tokens: TokenCount,
    cache_creation_tokens: TokenCount,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: TokenCount,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CostDetails {
    upstream_inference_cost: Option<Value>,
}

impl ChatUsage {
    /// Converts to [`Usage`].
    pub(super) fn usage(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let prompt = self.prompt_tokens.0;
        let cache_read = max_of([
            details.map_or(0, |details| details.cached_tokens.0),
            self.prompt_cache_hit_tokens.0,
            self.cached_tokens.0,
            self.cache_read_input_tokens.0,
        ])
        .min(prompt);
        let cache_write = max_of([
            details.map_or(0, |details| details.cache_write_tokens.0),
            details.map_or(0, |details| details.cache_creation_tokens.0),
            self.cache_creation_input_tokens.0,
        ])
        .min(prompt - cache_read);
        let thinking = self
            .completion_tokens_details
            .as_ref()
            .map_or(0, |details| details.reasoning_tokens.0);
        Usage {
            input: prompt - cache_read - cache_write,
            cache_read,
            cache_write,
            output: self.output(thinking),
            thinking,
            ..Usage::default()
        }
    }

    /// xAI, and Gemini behind some gateways, count reasoning in addition to the completion instead of within it.
    fn output(&self, thinking: u64) -> u64 {
        let (prompt, completion) = (self.prompt_tokens.0, self.completion_tokens.0);
        let beside = thinking > completion || (thinking > 0 && self.total_tokens.0 == prompt + completion + thinking);
        if beside { completion + thinking } else { completion }
    }

    /// The cost reported by the provider, if any.
    pub(super) fn cost(&self) -> Option<Cost> {
        if let Some(ticks) = self.cost_in_usd_ticks.as_ref().and_then(number) {
            return Some(Cost::from_usd(ticks / 1e10));
        }
        let own = self.cost.as_ref().and_then(number)?;
        // With the user's own key at the vendor, the gateway's cost is only its fee.
        let upstream = match self.is_byok {
            Some(true) => self
                .cost_details
                .as_ref()
                .and_then(|details| details.upstream_inference_cost.as_ref()),
            Some(false) | None => None,
        };
        Some(Cost::from_usd(own + upstream.and_then(number).unwrap_or(0.0)))
    }
}

fn max_of<const N: usize>(counts: [u64; N]) -> u64 {
    counts.into_iter().max().unwrap_or(0)
}

/// A number, sent as a number or as text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// A token count; other values count as 0.
#[derive(Debug, Default, Clone, Copy)]
struct TokenCount(u64);

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(TokenCount(
            value
                .as_u64()
                .or_else(|| number(&value).map(|number| number as u64))
                .unwrap_or(0),
        ))
    }
}
