//! The paired comparison of two configurations.

use crate::results::{Attempt, AttemptKey, AttemptMetrics, AttemptOutcome};
use crate::statistics::{mcnemar_exact, mean, paired_bootstrap};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What changes from one configuration to another, on the tasks that both attempted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The reference.
    pub before: String,
    /// The other configuration.
    pub after: String,
    /// The number of tasks that both attempted.
    pub tasks: u64,
    /// Pairs of attempts that only the other one solved.
    pub gained: u64,
    /// Pairs of attempts that only the reference solved.
    pub lost: u64,
    /// The p-value of McNemar's exact test on these pairs.
    pub p_value: f64,
    /// The difference of the share of solved attempts, with the bounds of its 95 % bootstrap interval over tasks.
    pub solved: PairedDifference,
    /// The difference of tokens per attempt.
    pub tokens: PairedDifference,
    /// The difference of the price per attempt, in US dollars.
    pub cost_usd: PairedDifference,
    /// The difference of the time per attempt, in seconds.
    pub seconds: PairedDifference,
    /// The tasks with a different share of solved attempts.
    pub changes: Vec<TaskChange>,
}

/// A mean difference and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The mean.
    pub mean: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// A task that one configuration solves more often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskChange {
    /// The task.
    pub task: String,
    /// Solved and all attempts of the reference.
    pub before: (u64, u64),
    /// Solved and all attempts of the other configuration.
    pub after: (u64, u64),
    /// The sessions of the reference.
    pub sessions_before: Vec<String>,
    /// The sessions of the other configuration.
    pub sessions_after: Vec<String>,
}

impl Comparison {
    /// Compares two configurations; `None` if they have no task in common.
    pub fn new(before: &str, after: &str, attempts: &[Attempt]) -> Option<Self> {
        let (old, new) = (by_task(attempts, before), by_task(attempts, after));
        let tasks: Vec<&str> = old.keys().filter(|task| new.contains_key(*task)).copied().collect();
        if tasks.is_empty() {
            return None;
        }
        let difference = |value: &dyn Fn(&Attempt) -> f64| {
            let of = |attempts: &[&Attempt]| mean(&attempts.iter().map(|attempt| value(attempt)).collect::<Vec<f64>>());
            let differences: Vec<f64> = tasks
                .iter()
                .filter_map(|task| Some(of(&new[task])? - of(&old[task])?))
                .collect();
            let interval = paired_bootstrap(&differences);
            PairedDifference {
                mean: mean(&differences).unwrap_or_default(),
                low: interval.low,
                high: interval.high,
            }
        };
        let solved: BTreeSet<&AttemptKey> = attempts
            .iter()
            .filter(|one| is_solved(one))
            .map(|one| &one.key)
            .collect();
        let (mut gained, mut lost) = (0, 0);
        for attempt in tasks.iter().flat_map(|task| &old[task]) {
            let counterpart = new[attempt.key.task.as_str()]
                .iter()
                .find(|other| other.key.repetition == attempt.key.repetition);
            if let Some(counterpart) = counterpart {
                match (solved.contains(&attempt.key), solved.contains(&counterpart.key)) {
                    (false, true) => gained += 1,
                    (true, false) => lost += 1,
                    (true, true) | (false, false) => {}
                }
            }
        }
        let changes = tasks
            .iter()
            .filter_map(|task| task_change(task, &old[task], &new[task]));
        Some(Self {
            before: before.into(),
            after: after.into(),
            tasks: tasks.len() as u64,
            gained,
            lost,
            p_value: mcnemar_exact(gained, lost),
            solved: difference(&|attempt| if is_solved(attempt) { 1.0 } else { 0.0 }),
            tokens: difference(&|attempt| tokens(&attempt.metrics) as f64),
            cost_usd: difference(&|attempt| attempt.metrics.cost_usd.unwrap_or_default()),
            seconds: difference(&|attempt| attempt.metrics.duration_ms as f64 / 1000.0),
            changes: changes.collect(),
        })
    }
}

fn task_change(task: &str, old: &[&Attempt], new: &[&Attempt]) -> Option<TaskChange> {
    let count = |attempts: &[&Attempt]| {
        let solved = attempts.iter().filter(|attempt| is_solved(attempt)).count();
        (solved as u64, attempts.len() as u64)
    };
    let sessions = |attempts: &[&Attempt]| attempts.iter().filter_map(|attempt| attempt.session.clone()).collect();
    let (before, after) = (count(old), count(new));
    // Compared as fractions: the numbers of attempts may differ.
    (before.0 * after.1 != after.0 * before.1).then(|| TaskChange {
        task: task.into(),
        before,
        after,
        sessions_before: sessions(old),
        sessions_after: sessions(new),
    })
}

fn by_task<'a>(attempts: &'a [Attempt], configuration: &str) -> BTreeMap<&'a str, Vec<&'a Attempt>> {
    let mut tasks: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    for attempt in attempts
        .iter()
        .filter(|attempt| attempt.key.configuration == configuration)
    {
        tasks.entry(&attempt.key.task).or_default().push(attempt);
    }
    tasks
}

fn is_solved(attempt: &Attempt) -> bool {
    attempt.outcome == AttemptOutcome::Solved
}

/// All tokens of an attempt.
pub(crate) fn tokens(metrics: &AttemptMetrics) -> u64 {
    metrics.input_tokens + metrics.output_tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(task: usize, configuration: &str, solved: bool) -> Attempt {
        Attempt {
            key: AttemptKey {
                task: format!("t{task}"),
                configuration: configuration.into(),
                repetition: 1,
            },
            outcome: if solved {
                AttemptOutcome::Solved
            } else {
                AttemptOutcome::Unsolved
            },
            detail: None,
            session: Some(format!("{configuration}{task}")),
            metrics: AttemptMetrics {
                input_tokens: if configuration == "a" { 100 } else { 50 },
                ..AttemptMetrics::default()
            },
            ended: 0,
        }
    }

    #[test]
    fn paired_attempts_are_compared_by_task() {
        // b solves six tasks that a does not, and loses none.
        let attempts: Vec<Attempt> = (0..12)
            .flat_map(|task| [attempt(task, "a", task < 4), attempt(task, "b", task < 10)])
            .collect();
        let found = Comparison::new("a", "b", &attempts).unwrap();
        assert_eq!((found.tasks, found.gained, found.lost), (12, 6, 0));
        assert!((found.p_value - 0.03125).abs() < 1e-9);
        assert_eq!(found.solved.mean, 0.5);
        assert!(found.solved.low > 0.0 && found.solved.high < 1.0, "{:?}", found.solved);
        assert_eq!(
            found.tokens,
            PairedDifference {
                mean: -50.0,
                low: -50.0,
                high: -50.0
            }
        );
        assert_eq!(found.changes.len(), 6);
        assert_eq!(found.changes[0].sessions_after, ["b4"]);
        assert_eq!(Comparison::new("a", "c", &attempts), None);
    }
}
