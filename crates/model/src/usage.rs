//! Token counts and costs.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Token counts of one request. The fields do not overlap: `input` counts tokens neither read from nor written to a
/// cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens processed at the full price.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's short-lived cache (5 minutes at Anthropic).
    pub cache_write: u64,
    /// Prompt tokens written to the provider's one-hour cache.
    pub cache_write_1h: u64,
    /// Tokens of the reply, including reasoning.
    pub output: u64,
    /// The part of `output` spent on reasoning, if the provider reports it.
    pub thinking: u64,
    /// Whether hew estimated the counts.
    #[serde(default)]
    pub estimated: bool,
}

impl Usage {
    /// All tokens of the prompt, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write + self.cache_write_1h
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input: self.input + other.input,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            output: self.output + other.output,
            thinking: self.thinking + other.thinking,
            estimated: self.estimated || other.estimated,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(usages: I) -> Usage {
        usages.fold(Usage::default(), Add::add)
    }
}

/// An amount of money in billionths of a US dollar, so that sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost {
    /// Billionths of a dollar.
    pub nano_usd: i64,
}

impl Cost {
    /// Converts from dollars.
    pub fn from_usd(usd: f64) -> Self {
        Cost {
            nano_usd: (usd * 1e9).round() as i64,
        }
    }

    /// Converts to dollars.
    pub fn usd(self) -> f64 {
        self.nano_usd as f64 / 1e9
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Add::add)
    }
}
