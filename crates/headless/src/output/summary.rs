//! The summary after a turn: how it ended, usage, follow-up commands.

use super::format::{dollars, duration, plural, tokens};
use super::json::TurnResult;
use crate::config::HumanDuration;
use model::{Cost, Usage};
use session::{Change, ChangeCount, Limit, TurnEnd};

/// Commands for the user to copy.
#[derive(Debug, Clone)]
pub struct FollowUpCommands {
    /// Continues the session.
    pub resume: String,
    /// Shows the files that it changed.
    pub review: String,
}

/// The work of this run so far.
#[derive(Debug, Default)]
pub struct RunSummary {
    /// Requests that the model answered.
    pub steps: u32,
    /// All tokens.
    pub usage: Usage,
    /// All money, as far as prices are known.
    pub cost: Cost,
    /// The changes made by tools, in order.
    changes: Vec<Change>,
}

impl RunSummary {
    /// A tool changed files.
    pub fn changed(&mut self, changes: &[Change]) {
        self.changes.extend_from_slice(changes);
    }

    /// Time, steps, tokens and money in one line.
    pub fn figures(&self, finish: &TurnResult<'_>) -> String {
        let mut parts = vec![duration(finish.run)];
        if self.steps > 0 {
            parts.push(plural(self.steps.into(), "step"));
        }
        let Usage { cache_read, output, .. } = self.usage;
        let prompt = self.usage.prompt_tokens();
        if prompt + output > 0 {
            parts.push(format!("{} tokens in, {} out", tokens(prompt), tokens(output)));
        }
        if cache_read > 0 {
            parts.push(format!("{}% cached", cache_read * 100 / prompt.max(1)));
        }
        if self.cost.nano_usd > 0 {
            parts.push(dollars(self.cost));
        }
        // A session that began earlier has cost more than this run.
        if finish.totals.cost.nano_usd > self.cost.nano_usd {
            parts.push(format!("session {}", dollars(finish.totals.cost)));
        }
        parts.join(" · ")
    }

    /// The number of changed files, and the command to review them.
    pub fn review(&self, commands: &FollowUpCommands) -> Option<String> {
        match ChangeCount::of(&self.changes) {
            ChangeCount { files: 0, folders: 0 } => None,
            // Folders are not reviewed.
            tally @ ChangeCount { files: 0, .. } => Some(format!("{tally} changed")),
            ChangeCount { files, .. } => {
                let tally = ChangeCount { files, folders: 0 };
                Some(format!("{tally} changed · {}", commands.review))
            }
        }
    }
}

/// The message and hint for a turn that did not complete.
pub fn explain(ending: &TurnEnd, resume: &str) -> Option<(String, String)> {
    let continue_hint = format!("`{resume}` continues");
    Some(match ending {
        TurnEnd::Completed => return None,
        TurnEnd::MaxTokens => (
            "the answer was truncated at the output limit".into(),
            format!("raise --max-output, or continue with `{resume}`"),
        ),
        TurnEnd::Refused { detail } => (
            match detail {
                Some(detail) => format!("the model refused: {detail}"),
                None => "the model refused".into(),
            },
            "rephrase the task, or choose another model".into(),
        ),
        TurnEnd::Interrupted => ("interrupted".into(), continue_hint),
        TurnEnd::Limit(limit) => (
            match limit {
                Limit::Steps(steps) => format!("stopped after {}", plural((*steps).into(), "step")),
                Limit::Cost(cost) => format!("stopped at the cost limit of {}", dollars(*cost)),
                Limit::Time(time) => format!("stopped at the time limit of {}", HumanDuration(*time)),
            },
            continue_hint,
        ),
        TurnEnd::Loop { tool, times } => (
            format!("stopped: the model called `{tool}` {times} times with the same input"),
            format!("continue with a different instruction: {resume} \"…\""),
        ),
        // A conversation that is too long stays too long: continuing would fail again.
        TurnEnd::Failed { error, hint } if *hint == too_long_hint() => (format!("error: {error}"), hint.clone()),
        TurnEnd::Failed { error, hint } => (format!("error: {error}"), format!("{hint}; then `{resume}` continues")),
    })
}

fn too_long_hint() -> &'static str {
    let (detail, window) = (String::new(), None);
    model::Error::ContextOverflow { detail, window }.hint()
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::{BlobId, FileVersion};

    #[test]
    fn a_resume_command_is_shown_only_for_a_session_that_can_be_resumed() {
        let hint = |hint: &str| {
            let ending = TurnEnd::Failed {
                error: "x".into(),
                hint: hint.into(),
            };
            explain(&ending, "hew resume 1").map(|(_, hint)| hint)
        };
        assert_eq!(hint(too_long_hint()).as_deref(), Some(too_long_hint()));
        assert_eq!(hint("wait").as_deref(), Some("wait; then `hew resume 1` continues"));
    }

    use session::Totals;
    use std::time::Duration;

    #[test]
    fn figures_are_those_of_the_run_and_the_session_total_is_separate() {
        let done = RunSummary {
            steps: 1,
            usage: Usage {
                input: 500,
                cache_read: 1_500,
                output: 20,
                ..Usage::default()
            },
            cost: Cost::from_usd(0.01),
            ..RunSummary::default()
        };
        for (session, expected) in [
            (0.01, "2.0s · 1 step · 2k tokens in, 20 out · 75% cached · $0.0100"),
            (
                0.12,
                "2.0s · 1 step · 2k tokens in, 20 out · 75% cached · $0.0100 · session $0.12",
            ),
        ] {
            let totals = Totals {
                cost: Cost::from_usd(session),
                ..Totals::default()
            };
            let finish = TurnResult {
                ending: &TurnEnd::Completed,
                answer: "",
                output: None,
                duration: Duration::from_secs(1),
                run: Duration::from_secs(2),
                totals: &totals,
                exit_code: 0,
            };
            assert_eq!(done.figures(&finish), expected);
        }
    }

    #[test]
    fn each_file_with_a_net_change_counts_once() {
        let commands = FollowUpCommands {
            resume: "hew resume 01".into(),
            review: "hew changes 01".into(),
        };
        let blob = |name: Option<&str>| name.map(|name| FileVersion::from(BlobId(name.into())));
        let (old, new) = (Some("old"), Some("new"));
        let change = |path: &str, before, after| Change {
            path: path.into(),
            before: blob(before),
            after: blob(after),
        };
        let mut done = RunSummary::default();
        assert_eq!(done.review(&commands), None);
        done.changed(&[change("a", old, new), change("b", None, new)]);
        done.changed(&[change("b", new, old)]);
        assert_eq!(
            done.review(&commands).as_deref(),
            Some("2 files changed · hew changes 01")
        );
        done.changed(&[change("b", old, None)]);
        assert_eq!(
            done.review(&commands).as_deref(),
            Some("1 file changed · hew changes 01")
        );
    }
}
