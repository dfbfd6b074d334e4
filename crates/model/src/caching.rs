//! Prompt caching rules of the providers, as data: trigger, minimum size, granularity and lifetime.

use crate::{Info, Wire};

/// How a model's provider caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// Which prefixes the provider caches.
    pub mode: CacheMode,
    /// The provider does not cache shorter prefixes, in tokens.
    pub min_tokens: u64,
    /// Hits are whole multiples of this many tokens.
    pub granularity: u64,
    /// Seconds for which a prefix stays cached after its last use; approximate if the provider does not document it.
    pub ttl_seconds: u64,
}

/// Which prefixes the provider caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMode {
    /// Prompts are not cached, or caching is unknown.
    Disabled,
    /// Every prefix is cached.
    Prefix,
    /// Prefixes that end at a breakpoint are cached.
    Breakpoints {
        /// The maximum number of breakpoints; the last ones count.
        most: usize,
        /// How many blocks before a breakpoint the provider searches for an earlier one.
        lookback: usize,
    },
}

/// Anthropic allows four breakpoints and looks back twenty blocks.
const ANTHROPIC_BREAKPOINTS: CacheMode = CacheMode::Breakpoints { most: 4, lookback: 20 };

/// Caching parameters by family: provider prefix, part of the model id, minimum tokens, granularity, seconds.
const ROWS: &[(CacheFamily, &str, &str, u64, u64, u64)] = &[
    (CacheFamily::Anthropic, "", "opus-4-5", 4096, 1, 300),
    (CacheFamily::Anthropic, "", "opus-4-6", 4096, 1, 300),
    (CacheFamily::Anthropic, "", "haiku-4-5", 4096, 1, 300),
    (CacheFamily::Anthropic, "", "opus-4-7", 2048, 1, 300),
    (CacheFamily::Anthropic, "", "haiku", 2048, 1, 300),
    (CacheFamily::Anthropic, "", "", 1024, 1, 300),
    (CacheFamily::Openai, "deepseek", "", 64, 64, 3600),
    (CacheFamily::Openai, "", "", 1024, 128, 600),
    (CacheFamily::Gemini, "", "pro", 4096, 1, 300),
    (CacheFamily::Gemini, "", "", 1024, 1, 300),
];

/// Wires with the same caching behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheFamily {
    Anthropic,
    Openai,
    Gemini,
}

impl CachePolicy {
    /// The caching rules for this model.
    pub fn of(info: &Info) -> CachePolicy {
        let family = match info.wire {
            Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => CacheFamily::Anthropic,
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::BedrockConverse => CacheFamily::Openai,
            Wire::Gemini => CacheFamily::Gemini,
        };
        let by = match family {
            _ if !info.features.caching => CacheMode::Disabled,
            CacheFamily::Anthropic => ANTHROPIC_BREAKPOINTS,
            CacheFamily::Openai | CacheFamily::Gemini => CacheMode::Prefix,
        };
        let row = ROWS.iter().find(|(of, provider, id, ..)| {
            *of == family && info.provider.starts_with(provider) && info.id.contains(id)
        });
        let (least, step, seconds) = row.map_or((1024, 1, 300), |row| (row.3, row.4, row.5));
        CachePolicy {
            mode: by,
            min_tokens: least,
            granularity: step,
            ttl_seconds: seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{CacheMode, CachePolicy, Catalogue};

    #[test]
    fn known_models_have_their_documented_caching_parameters() {
        let catalogue = Catalogue::embedded();
        let cases = [
            ("anthropic", "claude-sonnet-4-6", 1024, 1),
            ("anthropic", "claude-sonnet-4-5", 1024, 1),
            ("anthropic", "claude-haiku-4-5", 4096, 1),
            ("openai", "gpt-5.5", 1024, 128),
            ("gemini", "gemini-2.5-pro", 4096, 1),
            ("gemini", "gemini-2.5-flash", 1024, 1),
        ];
        for (provider, id, least, step) in cases {
            let Some(info) = catalogue.get(provider, id) else {
                continue;
            };
            let caching = CachePolicy::of(info);
            assert_eq!(
                (caching.min_tokens, caching.granularity),
                (least, step),
                "{provider}/{id}"
            );
            assert_ne!(caching.mode, CacheMode::Disabled, "{provider}/{id}");
        }
        let info = catalogue.get("anthropic", "claude-sonnet-4-6").unwrap();
        assert!(matches!(
            CachePolicy::of(info).mode,
            CacheMode::Breakpoints { most: 4, lookback: 20 }
        ));
        let mut plain = info.clone();
        plain.features.caching = false;
        assert_eq!(CachePolicy::of(&plain).mode, CacheMode::Disabled);
    }
}
