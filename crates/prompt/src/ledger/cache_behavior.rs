//! Learns a provider's cache behaviour from its reports, where it is undocumented or differs from the documentation.

use super::prefix_index::CachedPrefix;
use super::{CacheMode, CachePolicy, CountBasis, RequestReport};
use model::Usage;

/// Observed cache behaviour of a model.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CacheBehavior {
    /// It caches prefixes although the catalogue does not list that.
    keeps: bool,
    /// It counts hits exactly, however short.
    is_plain: bool,
    /// Its read and write counts are rounded separately.
    rounds: bool,
    /// The shortest cached prefix below the documented minimum.
    least: Option<u64>,
    unit: CountUnit,
}

/// The unit that a server counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CountUnit {
    /// No report with a known request size yet.
    #[default]
    Unknown,
    /// Bytes: so far every prompt had exactly one token per four bytes.
    Bytes,
    /// Tokens.
    Tokens,
}

/// Bytes per token for servers that do not know a model's tokenizer, as vendors advise.
const BYTES_PER_TOKEN: u64 = 4;

/// Counts that differ by this many tokens were rounded separately.
const ROUNDED: u64 = 2;

impl CacheBehavior {
    /// Applies the observations to the documented behaviour.
    pub(super) fn corrected(self, caching: &CachePolicy) -> CachePolicy {
        let is_unknown = caching.mode == CacheMode::Disabled && self.keeps;
        let by = if is_unknown { CacheMode::Prefix } else { caching.mode };
        match self.is_plain || is_unknown || self.unit == CountUnit::Bytes {
            true => CachePolicy {
                mode: by,
                min_tokens: 0,
                granularity: 1,
                ..*caching
            },
            false => CachePolicy { mode: by, ..*caching },
        }
    }

    /// Predicts the provider's token count of a prefix.
    pub(super) fn tokens(self, prefix: &CachedPrefix) -> (u64, CountBasis) {
        match (self.unit, prefix.bytes) {
            (CountUnit::Bytes, Some(bytes)) => (bytes.div_ceil(BYTES_PER_TOKEN), CountBasis::Counted),
            _ if prefix.is_counted && !self.rounds => (prefix.tokens, CountBasis::Counted),
            _ => (prefix.tokens, CountBasis::Estimated),
        }
    }

    /// Records the count of a prompt. A count that does not match its bytes shows that tokens are counted.
    pub(super) fn count(&mut self, caching: &CachePolicy, report: &RequestReport<'_>) {
        let Some(sent) = report.sent.filter(|_| !report.usage.estimated) else {
            return;
        };
        let whole = sent.total().div_ceil(BYTES_PER_TOKEN);
        let more = report.usage.prompt_tokens().checked_sub(whole);
        let is_so = more.is_some_and(|more| more <= slack(caching, report.usage));
        self.unit = match self.unit {
            CountUnit::Unknown | CountUnit::Bytes if is_so => CountUnit::Bytes,
            CountUnit::Unknown | CountUnit::Bytes | CountUnit::Tokens => CountUnit::Tokens,
        };
    }

    /// Records a cached size; returns the smallest so far.
    pub(super) fn smallest_cached(&mut self, tokens: u64) -> u64 {
        if tokens > 0 {
            self.least = Some(self.least.map_or(tokens, |least| least.min(tokens)));
        }
        self.least.unwrap_or(u64::MAX)
    }

    /// Records the tokens read, given the expected prefix.
    pub(super) fn learn(&mut self, caching: &CachePolicy, expected: Option<CachedPrefix>, read: u64) {
        self.keeps |= read > 0;
        let Some(prefix) = expected.filter(|prefix| prefix.is_counted && read > 0) else {
            return;
        };
        match caching.mode {
            CacheMode::Breakpoints { .. } => {
                let off = prefix.tokens.abs_diff(read);
                self.rounds |= off > 0 && off <= ROUNDED;
            }
            CacheMode::Prefix | CacheMode::Disabled => {
                let is_rough = read.is_multiple_of(caching.granularity.max(1)) && read >= caching.min_tokens;
                self.is_plain |= prefix.tokens == read && !is_rough;
            }
        }
    }
}

/// By how many tokens separately rounded figures may exceed the rounded total.
fn slack(caching: &CachePolicy, usage: &Usage) -> u64 {
    let figures = match caching.mode {
        CacheMode::Breakpoints { .. } => [usage.input, usage.cache_read, usage.cache_write + usage.cache_write_1h],
        // The total is one figure there, and the tokens read are part of it.
        CacheMode::Prefix | CacheMode::Disabled => [usage.prompt_tokens(), 0, 0],
    };
    let reported = figures.iter().filter(|figure| **figure > 0).count() as u64;
    reported.saturating_sub(1)
}
