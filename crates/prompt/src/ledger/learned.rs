//! What a provider's reports say that nobody knew of it, or that it does otherwise than is documented.

use super::cache::Prefix;
use super::{CachedBy, Caching, Certainty, Report};
use model::Usage;

/// What the reports of a model say.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Learned {
    /// It keeps prefixes although that is not known of the model.
    keeps: bool,
    /// It counts hits to the token, however short they are.
    is_plain: bool,
    /// What it read and wrote is not quite what it reads the next time: it rounds them apart.
    rounds: bool,
    /// The shortest prefix that was kept although the provider's figure says otherwise.
    least: Option<u64>,
    unit: Unit,
}

/// What a server counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Nothing was reported yet of which the length is known.
    #[default]
    Unknown,
    /// Bytes: so far every prompt had a token for each four of them, to the token.
    Bytes,
    /// Tokens.
    Tokens,
}

/// Servers that do not know a model's tokenizer take so many bytes for a token, as vendors advise.
const BYTES_A_TOKEN: u64 = 4;

/// Counts that differ by so many tokens were rounded apart.
const ROUNDED: u64 = 2;

impl Learned {
    /// How the provider caches, as far as is known by now.
    pub(super) fn correct(self, caching: &Caching) -> Caching {
        let is_unknown = caching.by == CachedBy::Nothing && self.keeps;
        let by = if is_unknown { CachedBy::Prefix } else { caching.by };
        match self.is_plain || is_unknown || self.unit == Unit::Bytes {
            true => Caching {
                by,
                least: 0,
                step: 1,
                ..*caching
            },
            false => Caching { by, ..*caching },
        }
    }

    /// How many tokens the provider will say that a prefix has.
    pub(super) fn tokens(self, prefix: &Prefix) -> (u64, Certainty) {
        match (self.unit, prefix.bytes) {
            (Unit::Bytes, Some(bytes)) => (bytes.div_ceil(BYTES_A_TOKEN), Certainty::Counted),
            _ if prefix.is_counted && !self.rounds => (prefix.tokens, Certainty::Counted),
            _ => (prefix.tokens, Certainty::Estimated),
        }
    }

    /// Takes note of what a prompt was counted at. One that is not what its bytes say shows that tokens are counted.
    pub(super) fn count(&mut self, caching: &Caching, report: &Report<'_>) {
        let Some(sent) = report.sent.filter(|_| !report.usage.estimated) else {
            return;
        };
        let whole = sent.all().div_ceil(BYTES_A_TOKEN);
        let more = report.usage.prompt().checked_sub(whole);
        let is_so = more.is_some_and(|more| more <= slack(caching, report.usage));
        self.unit = match self.unit {
            Unit::Unknown | Unit::Bytes if is_so => Unit::Bytes,
            Unit::Unknown | Unit::Bytes | Unit::Tokens => Unit::Tokens,
        };
    }

    /// Takes note of so many tokens being kept; the fewest so far.
    pub(super) fn kept(&mut self, tokens: u64) -> u64 {
        if tokens > 0 {
            self.least = Some(self.least.map_or(tokens, |least| least.min(tokens)));
        }
        self.least.unwrap_or(u64::MAX)
    }

    /// Takes in what was read where this much was expected.
    pub(super) fn learn(&mut self, caching: &Caching, expected: Option<Prefix>, read: u64) {
        self.keeps |= read > 0;
        let Some(prefix) = expected.filter(|prefix| prefix.is_counted && read > 0) else {
            return;
        };
        match caching.by {
            CachedBy::Marks { .. } => {
                let off = prefix.tokens.abs_diff(read);
                self.rounds |= off > 0 && off <= ROUNDED;
            }
            CachedBy::Prefix | CachedBy::Nothing => {
                let is_rough = read.is_multiple_of(caching.step.max(1)) && read >= caching.least;
                self.is_plain |= prefix.tokens == read && !is_rough;
            }
        }
    }
}

/// By how many tokens figures that are rounded up apart may exceed the whole, rounded up.
fn slack(caching: &Caching, usage: &Usage) -> u64 {
    let figures = match caching.by {
        CachedBy::Marks { .. } => [usage.input, usage.cache_read, usage.cache_write + usage.cache_write_1h],
        // The whole is one figure there, and what was read is a part of it.
        CachedBy::Prefix | CachedBy::Nothing => [usage.prompt(), 0, 0],
    };
    let told = figures.iter().filter(|figure| **figure > 0).count() as u64;
    told.saturating_sub(1)
}
