//! A prefix cache, simulated, so that usage figures are plausible and the same each time.

use std::collections::HashSet;

use crate::seal::hash;
use crate::seen::{Block, Seen};
use crate::wire::Wire;

/// How many blocks before a breakpoint an earlier entry is looked for.
const LOOKBACK: usize = 20;
/// Shorter prefixes are not cached.
const LEAST: u64 = 1024;
/// OpenAI's cache holds whole runs of this many tokens.
const RUN: u64 = 128;
const BREAKPOINTS: usize = 4;

/// Token counts of a prompt. `input` holds the cached ones too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) input: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
}

/// Prefixes seen so far.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    automatic: HashSet<u64>,
    explicit: HashSet<u64>,
}

/// Tokens that so many bytes are taken for.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

impl PrefixCache {
    /// Counts a request, and remembers its prefixes.
    pub(crate) fn count(&mut self, seen: &Seen) -> Counted {
        let prefixes = prefixes(&seen.model, &seen.blocks);
        let input = tokens(seen.prompt_bytes());
        match seen.wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => self.explicit(input, &prefixes, &seen.blocks),
            Wire::Chat | Wire::Responses => self.automatic(input, &prefixes, RUN),
            // Gemini documents no steps.
            Wire::Gemini => self.automatic(input, &prefixes, 1),
        }
    }

    fn automatic(&mut self, input: u64, prefixes: &[Prefix], run: u64) -> Counted {
        let known = prefixes
            .iter()
            .rev()
            .find(|prefix| self.automatic.contains(&prefix.hash));
        let read = known.map_or(0, |prefix| prefix.tokens / run * run);
        self.automatic.extend(prefixes.iter().map(|prefix| prefix.hash));
        Counted {
            input,
            read: if read < LEAST { 0 } else { read },
            write: 0,
        }
    }

    fn explicit(&mut self, input: u64, prefixes: &[Prefix], blocks: &[Block]) -> Counted {
        let marks: Vec<usize> = (0..blocks.len())
            .filter(|at| blocks[*at].marked)
            .rev()
            .take(BREAKPOINTS)
            .collect();
        let hit = |at: &usize| {
            let near = prefixes[at.saturating_sub(LOOKBACK - 1)..=*at].iter().rev();
            near.filter(|prefix| self.explicit.contains(&prefix.hash))
                .map(|prefix| prefix.tokens)
                .next()
        };
        let read = marks.iter().filter_map(hit).max().unwrap_or(0);
        let marked = marks
            .iter()
            .map(|at| &prefixes[*at])
            .filter(|prefix| prefix.tokens >= LEAST);
        let last = marked.clone().map(|prefix| prefix.tokens).max().unwrap_or(0);
        self.explicit.extend(marked.map(|prefix| prefix.hash));
        Counted {
            input,
            read,
            write: last.saturating_sub(read),
        }
    }
}

struct Prefix {
    hash: u64,
    tokens: u64,
}

fn prefixes(model: &str, blocks: &[Block]) -> Vec<Prefix> {
    let (mut chain, mut bytes) = (hash(model.as_bytes(), 0), 0);
    let longer = |block: &Block| {
        chain = hash(&block.hash.to_be_bytes(), chain);
        bytes += block.bytes;
        Prefix {
            hash: chain,
            tokens: tokens(bytes),
        }
    };
    blocks.iter().map(longer).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(wire: Wire, parts: &[(usize, bool)]) -> Seen {
        let mut seen = Seen::new(wire, "m".to_owned(), json!({}));
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
            Counted {
                input: 2100,
                read: 0,
                write: 2100
            }
        );
        let longer = seen(Wire::Anthropic, &[(8000, true), (400, false), (80, false), (400, true)]);
        assert_eq!(
            cache.count(&longer),
            Counted {
                input: 2220,
                read: 2100,
                write: 120
            }
        );
        let unmarked = seen(Wire::Anthropic, &[(8000, false), (400, false)]);
        assert_eq!(
            cache.count(&unmarked),
            Counted {
                input: 2100,
                read: 0,
                write: 0
            }
        );
    }

    #[test]
    fn automatic_caches_read_the_longest_known_prefix_in_whole_runs() {
        let mut cache = PrefixCache::default();
        assert_eq!(cache.count(&seen(Wire::Chat, &[(8000, false), (400, false)])).read, 0);
        let longer = seen(Wire::Chat, &[(8000, false), (400, false), (400, false)]);
        assert_eq!(
            cache.count(&longer),
            Counted {
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
}
