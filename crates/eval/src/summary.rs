//! Figures of each configuration.

use crate::results::{Attempt, AttemptMetrics, AttemptOutcome};
use crate::statistics::{ConfidenceInterval, mean, pass_at_k, wilson};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of all configurations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The configurations, in the given order.
    pub configurations: Vec<ConfigurationSummary>,
}

/// The figures of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigurationSummary {
    /// The configuration.
    pub name: String,
    /// The number of tasks.
    pub tasks: u64,
    /// The number of attempts.
    pub attempts: u64,
    /// The number of solved attempts.
    pub solved: u64,
    /// The number of attempts that ended with an error of the agent.
    pub errors: u64,
    /// The bounds of the 95 % Wilson interval of the share of solved attempts.
    pub interval: [f64; 2],
    /// The mean probability, over tasks, that at least one of k attempts solves it, by k from 1.
    pub pass_at: Vec<f64>,
    /// Sums over all attempts.
    pub totals: AttemptMetrics,
}

impl Summary {
    /// The figures of these configurations.
    pub fn new(configurations: &[String], attempts: &[Attempt]) -> Self {
        let summarise = |name: &String| {
            let own: Vec<&Attempt> = attempts
                .iter()
                .filter(|attempt| attempt.key.configuration == *name)
                .collect();
            ConfigurationSummary::new(name, &own)
        };
        Self {
            configurations: configurations.iter().map(summarise).collect(),
        }
    }
}

impl ConfigurationSummary {
    fn new(name: &str, attempts: &[&Attempt]) -> Self {
        let by_task = solved_by_task(attempts.iter().copied());
        let count =
            |outcome: AttemptOutcome| attempts.iter().filter(|attempt| attempt.outcome == outcome).count() as u64;
        let (solved, trials) = (count(AttemptOutcome::Solved), attempts.len() as u64);
        let least = by_task.values().map(|(_, trials)| *trials).min().unwrap_or_default();
        let pass_at = (1..=least).filter_map(|k| {
            let shares: Vec<f64> = by_task
                .values()
                .filter_map(|(solved, trials)| pass_at_k(*trials, *solved, k))
                .collect();
            mean(&shares)
        });
        let ConfidenceInterval { low, high } = wilson(solved, trials);
        Self {
            name: name.into(),
            tasks: by_task.len() as u64,
            attempts: trials,
            solved,
            errors: count(AttemptOutcome::Error),
            interval: [low, high],
            pass_at: pass_at.collect(),
            totals: attempts
                .iter()
                .fold(AttemptMetrics::default(), |sum, attempt| sum.plus(&attempt.metrics)),
        }
    }

    /// The share of solved attempts.
    pub fn rate(&self) -> f64 {
        self.solved as f64 / (self.attempts.max(1)) as f64
    }

    /// The mean of a sum per attempt.
    pub fn per_attempt(&self, sum: u64) -> f64 {
        sum as f64 / (self.attempts.max(1)) as f64
    }
}

impl AttemptMetrics {
    fn plus(self, other: &Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            input_tokens: self.input_tokens + other.input_tokens,
            cached_tokens: self.cached_tokens + other.cached_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            },
            duration_ms: self.duration_ms + other.duration_ms,
            tool_calls: self.tool_calls + other.tool_calls,
            tool_errors: self.tool_errors + other.tool_errors,
            refused_edits: self.refused_edits + other.refused_edits,
        }
    }
}

/// Solved and all attempts of each task.
pub(crate) fn solved_by_task<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> BTreeMap<&'a str, (u64, u64)> {
    let mut tasks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for attempt in attempts {
        let (solved, trials) = tasks.entry(&attempt.key.task).or_default();
        *solved += u64::from(attempt.outcome == AttemptOutcome::Solved);
        *trials += 1;
    }
    tasks
}
