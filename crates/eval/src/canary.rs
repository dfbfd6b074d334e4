//! Decides whether recorded tasks are solved less often, or at another cost, than in earlier runs.
//!
//! New runs are compared with a baseline after growing numbers of rounds. Tasks are strata, because they differ in difficulty,
//! and the significance level is divided among the looks, so that looking repeatedly raises no false alarms.

use crate::comparison::tokens;
use crate::results::{Attempt, AttemptOutcome};
use crate::statistics::{RateStratum, ValueStratum, look_level, normal_tail, stratified_rate_z, stratified_ratio};
use serde::Serialize;
use std::collections::BTreeMap;

/// The probability of a false alarm for each quantity.
const ALPHA: f64 = 0.05;

/// What is monitored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryQuantity {
    /// The share of solved attempts.
    Success,
    /// Tokens per attempt.
    Tokens,
    /// Time per attempt.
    Time,
    /// Price per attempt.
    Price,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryDirection {
    /// The quantity is lower than in the baseline.
    Decreased,
    /// The quantity is higher than in the baseline.
    Increased,
}

/// The result for a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CanaryFinding {
    /// The quantity.
    pub quantity: CanaryQuantity,
    /// The mean of the baseline.
    pub before: f64,
    /// The mean of the new runs.
    pub after: f64,
    /// The confidence that it changed, after correction for repeated looks; `None` if there is too little data.
    pub confidence: Option<f64>,
    /// The established change.
    pub change: Option<CanaryDirection>,
}

/// The number of the look after this number of rounds, or `None` if there is none: looks are after 1, 2, 4, 8 … rounds.
pub fn look_after(round: u32) -> Option<u32> {
    round.is_power_of_two().then(|| round.trailing_zeros() + 1)
}

/// The number of looks up to this number of rounds, with one after the last.
pub fn looks_until(rounds: u32) -> u32 {
    let powers = u32::BITS - rounds.leading_zeros();
    powers + u32::from(!rounds.is_power_of_two())
}

/// Compares new attempts with those of the baseline, at one of several looks.
pub fn compare(baseline: &[Attempt], current: &[Attempt], look: u32) -> Vec<CanaryFinding> {
    let quantities = [
        CanaryQuantity::Success,
        CanaryQuantity::Tokens,
        CanaryQuantity::Time,
        CanaryQuantity::Price,
    ];
    quantities
        .iter()
        .filter_map(|quantity| finding(*quantity, baseline, current, look))
        .collect()
}

fn finding(quantity: CanaryQuantity, baseline: &[Attempt], current: &[Attempt], look: u32) -> Option<CanaryFinding> {
    let mut strata: BTreeMap<&str, ValueStratum> = BTreeMap::new();
    for attempt in baseline {
        strata
            .entry(&attempt.key.task)
            .or_default()
            .before
            .extend(value(quantity, attempt));
    }
    for attempt in current {
        strata
            .entry(&attempt.key.task)
            .or_default()
            .after
            .extend(value(quantity, attempt));
    }
    // Added and removed tasks cannot be compared.
    strata.retain(|_, stratum| !stratum.before.is_empty() && !stratum.after.is_empty());
    let strata: Vec<ValueStratum> = strata.into_values().collect();
    let mean = |side: &dyn Fn(&ValueStratum) -> &Vec<f64>| {
        let values: Vec<f64> = strata.iter().flat_map(|stratum| side(stratum).clone()).collect();
        crate::statistics::mean(&values)
    };
    let (before, after) = (mean(&|stratum| &stratum.before)?, mean(&|stratum| &stratum.after)?);
    let z = match quantity {
        CanaryQuantity::Success => {
            let count = |values: &[f64]| {
                (
                    values.iter().filter(|value| **value > 0.5).count() as u64,
                    values.len() as u64,
                )
            };
            let rates = strata.iter().map(|stratum| RateStratum {
                before: count(&stratum.before),
                after: count(&stratum.after),
            });
            stratified_rate_z(&rates.collect::<Vec<_>>())
        }
        CanaryQuantity::Tokens | CanaryQuantity::Time | CanaryQuantity::Price => {
            stratified_ratio(&strata).map(|estimate| estimate.z)
        }
    };
    let p_value = z.map(|z| (2.0 * normal_tail(z.abs())).min(1.0));
    let is_established = p_value.is_some_and(|p| p < look_level(ALPHA, look));
    let direction = if after < before {
        CanaryDirection::Decreased
    } else {
        CanaryDirection::Increased
    };
    Some(CanaryFinding {
        quantity,
        before,
        after,
        // The level of a look is a fraction of the total; the confidence is stated with respect to the total.
        confidence: p_value.map(|p| (1.0 - p * ALPHA / look_level(ALPHA, look)).max(0.0)),
        change: is_established.then_some(direction),
    })
}

fn value(quantity: CanaryQuantity, attempt: &Attempt) -> Option<f64> {
    let is_solved = attempt.outcome == AttemptOutcome::Solved;
    match quantity {
        // Whether an agent without a connection would have solved the task is unknown.
        CanaryQuantity::Success => (attempt.outcome != AttemptOutcome::Error).then_some(f64::from(u8::from(is_solved))),
        CanaryQuantity::Tokens => Some(tokens(&attempt.metrics) as f64).filter(|tokens| *tokens > 0.0),
        CanaryQuantity::Time => Some(attempt.metrics.duration_ms as f64 / 1000.0).filter(|time| *time > 0.0),
        CanaryQuantity::Price => attempt.metrics.cost_usd.filter(|cost| *cost > 0.0),
    }
}

/// The findings in sentences, one per line.
pub fn findings_text(findings: &[CanaryFinding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let (name, show): (&str, fn(f64) -> String) = match finding.quantity {
            CanaryQuantity::Success => ("success", |value| format!("{:.1} %", value * 100.0)),
            CanaryQuantity::Tokens => ("tokens", |value| format!("{value:.0}")),
            CanaryQuantity::Time => ("time", |value| format!("{value:.1} s")),
            CanaryQuantity::Price => ("price", |value| format!("${value:.4}")),
        };
        let verdict = match (finding.change, finding.confidence) {
            (Some(CanaryDirection::Decreased), _) => "decreased",
            (Some(CanaryDirection::Increased), _) => "increased",
            (None, Some(_)) => "no change established",
            (None, None) => "too little data",
        };
        let confidence = finding
            .confidence
            .map_or(String::new(), |share| format!(", confidence {:.1} %", share * 100.0));
        text.push_str(&format!(
            "{name:<8} {} -> {}: {verdict}{confidence}\n",
            show(finding.before),
            show(finding.after)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AttemptKey, AttemptMetrics};
    use crate::statistics::SplitMix;

    /// Attempts of 20 tasks of different difficulty; `drop` is subtracted from the success rate of each.
    fn attempts(rounds: u32, drop: f64, random: &mut SplitMix) -> Vec<Attempt> {
        let mut all = Vec::new();
        for repetition in 1..=rounds {
            for task in 0..20 {
                let rate = 0.6 + 0.02 * f64::from(task) - drop;
                let outcome = match random.unit() < rate {
                    true => AttemptOutcome::Solved,
                    false => AttemptOutcome::Unsolved,
                };
                let spread = 0.8 + 0.4 * random.unit();
                all.push(Attempt {
                    key: AttemptKey {
                        task: format!("t{task}"),
                        configuration: "m".into(),
                        repetition,
                    },
                    outcome,
                    detail: None,
                    session: None,
                    metrics: AttemptMetrics {
                        input_tokens: (1000.0 * spread) as u64,
                        duration_ms: (5000.0 * spread) as u64,
                        ..AttemptMetrics::default()
                    },
                    ended: 0,
                });
            }
        }
        all
    }

    /// Looks after 1, 2, 4 … rounds until a change of the success rate is established.
    fn monitor(rounds: u32, drop: f64, seed: u64) -> Option<CanaryDirection> {
        let mut random = SplitMix(seed);
        let baseline = attempts(rounds, 0.0, &mut random);
        let current = attempts(rounds, drop, &mut random);
        (1..=rounds)
            .filter_map(|round| Some((round, look_after(round)?)))
            .find_map(|(round, look)| {
                let seen: Vec<Attempt> = current
                    .iter()
                    .filter(|one| one.key.repetition <= round)
                    .cloned()
                    .collect();
                compare(&baseline, &seen, look)[0].change
            })
    }

    #[test]
    fn a_drop_of_ten_points_is_detected_and_no_drop_raises_no_alarm() {
        let detected = (0..100)
            .filter(|seed| monitor(64, 0.10, *seed) == Some(CanaryDirection::Decreased))
            .count();
        assert!(detected >= 95, "detected in {detected} of 100 runs");
        let alarms = (0..200).filter(|seed| monitor(64, 0.0, *seed).is_some()).count();
        assert!(alarms <= 10, "{alarms} false alarms in 200 runs");
    }

    #[test]
    fn each_quantity_has_its_own_finding() {
        let mut random = SplitMix(7);
        let baseline = attempts(8, 0.0, &mut random);
        let mut current = attempts(8, 0.0, &mut random);
        for attempt in &mut current {
            attempt.metrics.input_tokens = attempt.metrics.input_tokens * 13 / 10;
        }
        let found = compare(&baseline, &current, 1);
        let changes: Vec<_> = found.iter().map(|finding| (finding.quantity, finding.change)).collect();
        assert_eq!(
            changes,
            [
                (CanaryQuantity::Success, None),
                (CanaryQuantity::Tokens, Some(CanaryDirection::Increased)),
                (CanaryQuantity::Time, None)
            ]
        );
        let text = findings_text(&found);
        assert!(
            text.contains("tokens") && text.contains("increased, confidence 100.0 %"),
            "{text}"
        );
        assert!(compare(&baseline, &[], 1).is_empty());
    }

    #[test]
    fn looks_are_after_powers_of_two_and_at_the_end() {
        assert_eq!(
            [1, 2, 3, 4, 8].map(look_after),
            [Some(1), Some(2), None, Some(3), Some(4)]
        );
        assert_eq!([1, 2, 3, 4, 6, 8].map(looks_until), [1, 2, 3, 3, 4, 4]);
    }
}
