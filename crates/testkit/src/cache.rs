//! Simulates a prefix cache, so that usage figures are plausible and deterministic.

use std::collections::HashSet;

use crate::parsed_request::{ParsedRequest, PromptBlock};
use crate::plain_blocks;
use crate::script::TokenCounting;
use crate::signatures::hash;
use crate::wire::Wire;

/// How many blocks before a breakpoint an earlier entry is searched for.
const LOOKBACK: usize = 20;
/// Shorter prefixes are not cached.
const MIN_TOKENS: u64 = 1024;
/// OpenAI caches multiples of this many tokens.
const GRANULARITY: u64 = 128;
const BREAKPOINTS: usize = 4;

/// Token counts of a prompt. `input` includes the cached tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheCounts {
    pub(crate) input: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
}

/// Prefixes seen so far.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    counting: TokenCounting,
    automatic: HashSet<u64>,
    explicit: HashSet<u64>,
}

/// The token estimate for this many bytes.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

impl PrefixCache {
    pub(crate) fn new(counting: TokenCounting) -> Self {
        Self {
            counting,
            ..Self::default()
        }
    }

    /// Counts a request and records its prefixes.
    pub(crate) fn count(&mut self, seen: &ParsedRequest) -> CacheCounts {
        let plain = match self.counting {
            TokenCounting::Tokens => None,
            TokenCounting::Bytes => Some(plain_blocks::blocks(seen)),
        };
        let blocks = plain.as_deref().unwrap_or(&seen.blocks);
        let prefixes = prefixes(&seen.model, blocks);
        match (seen.wire, self.counting) {
            (Wire::Anthropic | Wire::Bedrock | Wire::Vertex, _) => self.explicit(&prefixes, blocks),
            (Wire::Chat | Wire::Responses, TokenCounting::Tokens) => self.automatic(&prefixes, GRANULARITY, MIN_TOKENS),
            // Gemini documents no granularity.
            (Wire::Gemini, TokenCounting::Tokens) => self.automatic(&prefixes, 1, MIN_TOKENS),
            (Wire::Chat | Wire::Responses | Wire::Gemini, TokenCounting::Bytes) => self.automatic(&prefixes, 1, 0),
        }
    }

    fn automatic(&mut self, prefixes: &[Prefix], run: u64, least: u64) -> CacheCounts {
        let known = prefixes
            .iter()
            .rev()
            .find(|prefix| self.automatic.contains(&prefix.hash));
        let read = known.map_or(0, |prefix| prefix.tokens() / run * run);
        self.automatic.extend(prefixes.iter().map(|prefix| prefix.hash));
        CacheCounts {
            input: tokens(all(prefixes)),
            read: if read < least { 0 } else { read },
            write: 0,
        }
    }

    fn explicit(&mut self, prefixes: &[Prefix], blocks: &[PromptBlock]) -> CacheCounts {
        let marks: Vec<usize> = (0..blocks.len())
            .filter(|at| blocks[*at].marked)
            .rev()
            .take(BREAKPOINTS)
            .collect();
        let hit = |at: &usize| {
            let near = prefixes[at.saturating_sub(LOOKBACK - 1)..=*at].iter().rev();
            near.filter(|prefix| self.explicit.contains(&prefix.hash))
                .map(|prefix| prefix.bytes)
                .next()
        };
        let read = marks.iter().filter_map(hit).max().unwrap_or(0);
        let marked = marks
            .iter()
            .map(|at| &prefixes[*at])
            .filter(|prefix| prefix.tokens() >= MIN_TOKENS);
        let last = marked.clone().map(|prefix| prefix.bytes).max().unwrap_or(0).max(read);
        self.explicit.extend(marked.map(|prefix| prefix.hash));
        let all = all(prefixes);
        match self.counting {
            TokenCounting::Tokens => CacheCounts {
                input: tokens(all),
                read: tokens(read),
                write: tokens(last) - tokens(read),
            },
            TokenCounting::Bytes => CacheCounts {
                input: tokens(read) + tokens(last - read) + tokens(all - last),
                read: tokens(read),
                write: tokens(last - read),
            },
        }
    }
}

struct Prefix {
    hash: u64,
    bytes: u64,
}

impl Prefix {
    fn tokens(&self) -> u64 {
        tokens(self.bytes)
    }
}

fn all(prefixes: &[Prefix]) -> u64 {
    prefixes.last().map_or(0, |prefix| prefix.bytes)
}

fn prefixes(model: &str, blocks: &[PromptBlock]) -> Vec<Prefix> {
    let (mut chain, mut bytes) = (hash(model.as_bytes(), 0), 0);
    let longer = |block: &PromptBlock| {
        chain = hash(&block.hash.to_be_bytes(), chain);
        bytes += block.bytes;
        Prefix { hash: chain, bytes }
    };
    blocks.iter().map(longer).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(wire: Wire, parts: &[(usize, bool)]) -> ParsedRequest {
        let mut seen = ParsedRequest::new(wire, "m".to_owned(), json!({}));
        for (n, (bytes, marked)) in parts.iter().enumerate() {
            seen.block(&json!(format!("{n}{}", "x".repeat(bytes - 3))), *marked);
        }
        seen
    }

    #[test]
    fn breakpoints_are_written_once_and_read_afterwards() {
        let mut cache = PrefixCache::default();
        let first = seen(Wire::Anthropic, &[(8000, true), (400, true)]);
        assert_eq!(
            cache.count(&first),
            CacheCounts {
                input: 2100,
                read: 0,
                write: 2100
            }
        );
        let longer = seen(Wire::Anthropic, &[(8000, true), (400, false), (80, false), (400, true)]);
        assert_eq!(
            cache.count(&longer),
            CacheCounts {
                input: 2220,
                read: 2100,
                write: 120
            }
        );
        let unmarked = seen(Wire::Anthropic, &[(8000, false), (400, false)]);
        assert_eq!(
            cache.count(&unmarked),
            CacheCounts {
                input: 2100,
                read: 0,
                write: 0
            }
        );
    }

    #[test]
    fn automatic_caches_read_the_longest_known_prefix_in_multiples() {
        let mut cache = PrefixCache::default();
        assert_eq!(cache.count(&seen(Wire::Chat, &[(8000, false), (400, false)])).read, 0);
        let longer = seen(Wire::Chat, &[(8000, false), (400, false), (400, false)]);
        assert_eq!(
            cache.count(&longer),
            CacheCounts {
                input: 2200,
                read: 2048,
                write: 0
            }
        );
        assert_eq!(
            cache.count(&seen(Wire::Chat, &[(400, false)])).read,
            0,
            "a short prefix is not cached"
        );
    }

    #[test]
    fn a_server_that_counts_bytes_rounds_read_and_written_tokens_separately() {
        let mut cache = PrefixCache::new(TokenCounting::Bytes);
        let byte_request = |texts: &[&str]| {
            let part = |text: &&str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
            let content: Vec<_> = texts.iter().map(part).collect();
            ParsedRequest::new(
                Wire::Anthropic,
                "m".to_owned(),
                json!({"messages": [{"role": "user", "content": content}]}),
            )
        };
        // A part has 31 bytes besides its text, so each part has one byte more than 1,250 tokens.
        let long = "x".repeat(4_970);
        let first = cache.count(&byte_request(&[&long]));
        assert_eq!((first.read, first.write, first.input), (0, 1251, 1251));
        let second = cache.count(&byte_request(&[&long, "yy"]));
        assert_eq!((second.read, second.write, second.input), (1251, 9, 1260));
        let third = cache.count(&byte_request(&[&long, "yy", "zz"]));
        assert_eq!(third.read, 1259, "not what was read and written before: {second:?}");
    }
}
