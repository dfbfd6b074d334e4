//! How providers cache prompts, as data: what they keep, from which size on, in which steps, and for how long.

use crate::{Info, Wire};

/// How the provider of a model caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// What decides about a prefix being kept.
    pub by: CachedBy,
    /// Shorter prefixes are not kept, in tokens.
    pub least: u64,
    /// Hits are whole multiples of this many tokens.
    pub step: u64,
    /// Seconds for which a prefix is kept after its last use; about, where the provider does not promise one.
    pub seconds: u64,
}

/// What decides about a prefix being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedBy {
    /// Nothing is kept, or nobody knows.
    Nothing,
    /// Every prefix is kept.
    Prefix,
    /// Prefixes that end at a mark are kept.
    Marks {
        /// How many marks count; the last ones do.
        most: usize,
        /// How many blocks before a mark an earlier one is found.
        lookback: usize,
    },
}

/// Anthropic counts four marks and looks back twenty blocks.
const MARKS: CachedBy = CachedBy::Marks { most: 4, lookback: 20 };

/// Providers and models that differ from the rest of their wire: provider, part of the id, least, step, seconds.
const ROWS: &[(Family, &str, &str, u64, u64, u64)] = &[
    (Family::Anthropic, "", "opus-4-5", 4096, 1, 300),
    (Family::Anthropic, "", "opus-4-6", 4096, 1, 300),
    (Family::Anthropic, "", "haiku-4-5", 4096, 1, 300),
    (Family::Anthropic, "", "opus-4-7", 2048, 1, 300),
    (Family::Anthropic, "", "haiku", 2048, 1, 300),
    (Family::Anthropic, "", "", 1024, 1, 300),
    (Family::Openai, "deepseek", "", 64, 64, 3600),
    (Family::Openai, "", "", 1024, 128, 600),
    (Family::Gemini, "", "pro", 4096, 1, 300),
    (Family::Gemini, "", "", 1024, 1, 300),
];

/// Wires whose caches work alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Anthropic,
    Openai,
    Gemini,
}

impl Caching {
    /// How this model's provider caches prompts.
    pub fn of(info: &Info) -> Caching {
        let family = match info.wire {
            Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => Family::Anthropic,
            Wire::OpenaiChat | Wire::OpenaiResponses => Family::Openai,
            Wire::Gemini => Family::Gemini,
        };
        let by = match family {
            _ if !info.features.caching => CachedBy::Nothing,
            Family::Anthropic => MARKS,
            Family::Openai | Family::Gemini => CachedBy::Prefix,
        };
        let row = ROWS.iter().find(|(of, provider, id, ..)| {
            *of == family && info.provider.starts_with(provider) && info.id.contains(id)
        });
        let (least, step, seconds) = row.map_or((1024, 1, 300), |row| (row.3, row.4, row.5));
        Caching {
            by,
            least,
            step,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{CachedBy, Caching, Catalogue};

    #[test]
    fn known_models_have_the_figures_that_their_providers_document() {
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
            let caching = Caching::of(info);
            assert_eq!((caching.least, caching.step), (least, step), "{provider}/{id}");
            assert_ne!(caching.by, CachedBy::Nothing, "{provider}/{id}");
        }
        let info = catalogue.get("anthropic", "claude-sonnet-4-6").unwrap();
        assert!(matches!(
            Caching::of(info).by,
            CachedBy::Marks { most: 4, lookback: 20 }
        ));
        let mut plain = info.clone();
        plain.features.caching = false;
        assert_eq!(Caching::of(&plain).by, CachedBy::Nothing);
    }
}
