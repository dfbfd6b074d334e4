//! Decides whether an idle agent continues without a prompt, and enforces the limits on that.

use crate::AutonomySettings;
use model::Cost;
use session::{Body, Item, Todo, Totals, TurnEnd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest delay before a failed turn is retried.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Counts what the agent has done without a prompt since the last prompt.
#[derive(Debug)]
pub(crate) struct AutonomyTracker {
    autonomy: AutonomySettings,
    /// The user interrupted the agent; it stays idle until the next prompt.
    stopped: bool,
    /// When the agent first continued without a prompt.
    since: Option<Instant>,
    messages: u32,
    /// The number of consecutive failed turns.
    failures: u32,
    /// The totals of the session at the last prompt.
    before: Totals,
    /// The open todos of the last reminder.
    reminded: Vec<Todo>,
}

/// The reason why the agent does not continue without a prompt.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum AutonomyLimit {
    #[error("continuing without a prompt is disabled")]
    Off,
    #[error("the user interrupted it")]
    Stopped,
    #[error("the last notification has no reply")]
    Unanswered,
    #[error("it has continued by itself {0} times since the last prompt")]
    Messages(u32),
    #[error("it has written {0} tokens since the last prompt")]
    Output(u64),
    #[error("it has spent {:.2} US dollars since the last prompt", .0.usd())]
    Cost(Cost),
    #[error("it has continued by itself for {} s", .0.as_secs())]
    Time(Duration),
    #[error("{0} turns in a row have failed")]
    Retries(u32),
}

impl AutonomyTracker {
    pub(crate) fn new(autonomy: AutonomySettings, totals: Totals) -> Self {
        AutonomyTracker {
            autonomy,
            stopped: false,
            since: None,
            messages: 0,
            failures: 0,
            before: totals,
            reminded: Vec::new(),
        }
    }

    /// Resets all counters after a prompt.
    pub(crate) fn reset(&mut self, totals: Totals) {
        let reminded = std::mem::take(&mut self.reminded);
        *self = AutonomyTracker {
            reminded,
            ..AutonomyTracker::new(self.autonomy, totals)
        };
    }

    /// Keeps the agent idle until the next prompt.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Counts a turn without a prompt.
    pub(crate) fn continued(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        self.messages += 1;
    }

    /// Updates the counters after a turn. Returns the delay before the turn is retried, if it is retried.
    pub(crate) fn turn_ended(&mut self, ending: &TurnEnd, by_itself: bool) -> Option<Duration> {
        match ending {
            TurnEnd::Failed { .. } => self.failures += 1,
            TurnEnd::Interrupted => self.stopped = true,
            TurnEnd::Completed
            | TurnEnd::MaxTokens
            | TurnEnd::Refused { .. }
            | TurnEnd::Limit(_)
            | TurnEnd::Loop { .. } => self.failures = 0,
        }
        let again = by_itself && self.failures > 0 && !self.stopped && self.failures <= self.autonomy.retries;
        again.then(|| Duration::from_secs(1 << self.failures.min(6)).min(MAX_RETRY_DELAY))
    }

    /// The limit that prevents the agent from continuing, if any.
    pub(crate) fn limit_reached(&self, items: &[Arc<Item>], totals: &Totals) -> Option<AutonomyLimit> {
        let AutonomySettings {
            allowed,
            output_tokens,
            cost,
            time,
            messages,
            retries,
            todos: _,
        } = self.autonomy;
        let output = totals.usage.output.saturating_sub(self.before.usage.output);
        let spent = Cost {
            nano_usd: totals.cost.nano_usd - self.before.cost.nano_usd,
        };
        let busy = self.since.map(|since| since.elapsed()).unwrap_or_default();
        if !allowed {
            return Some(AutonomyLimit::Off);
        }
        if self.stopped {
            return Some(AutonomyLimit::Stopped);
        }
        if ends_unanswered(items) {
            return Some(AutonomyLimit::Unanswered);
        }
        if self.failures > retries {
            return Some(AutonomyLimit::Retries(self.failures));
        }
        messages
            .filter(|most| self.messages >= *most)
            .map(AutonomyLimit::Messages)
            .or_else(|| output_tokens.filter(|most| output >= *most).map(AutonomyLimit::Output))
            .or_else(|| cost.filter(|most| spent >= *most).map(AutonomyLimit::Cost))
            .or_else(|| time.filter(|most| busy >= *most).map(AutonomyLimit::Time))
    }

    /// A reminder of the open todos at the end of a turn; `None` if the list has not changed since the last reminder.
    pub(crate) fn reminder(&mut self, todos: &[Todo]) -> Option<String> {
        let open: Vec<Todo> = todos.iter().filter(|todo| todo.status.is_open()).cloned().collect();
        if !self.autonomy.todos || open.is_empty() || open == self.reminded {
            return None;
        }
        let lines: Vec<String> = open.iter().map(|todo| format!("- {}", todo.text)).collect();
        self.reminded = open;
        Some(format!(
            "these todos are still open. Continue with them, or mark them as completed or cancelled:\n{}",
            lines.join("\n")
        ))
    }
}

/// Returns whether the last message is a notification without a reply.
fn ends_unanswered(items: &[Arc<Item>]) -> bool {
    let last = items.iter().rev().find(|item| item.message().is_some());
    matches!(last.map(|item| &item.body), Some(Body::Notification { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;
    use session::TodoStatus;

    fn unlimited() -> AutonomySettings {
        AutonomySettings {
            allowed: true,
            ..AutonomySettings::default()
        }
    }

    fn totals(output: u64, usd: f64) -> Totals {
        Totals {
            usage: Usage {
                output,
                ..Usage::default()
            },
            cost: Cost::from_usd(usd),
            requests: 1,
        }
    }

    #[test]
    fn each_limit_holds_until_the_next_prompt() {
        let one = Some(1);
        let cases = [
            (AutonomySettings::default(), AutonomyLimit::Off),
            (
                AutonomySettings {
                    messages: one,
                    ..unlimited()
                },
                AutonomyLimit::Messages(1),
            ),
            (
                AutonomySettings {
                    output_tokens: Some(50),
                    ..unlimited()
                },
                AutonomyLimit::Output(50),
            ),
            (
                AutonomySettings {
                    cost: Some(Cost::from_usd(0.5)),
                    ..unlimited()
                },
                AutonomyLimit::Cost(Cost::from_usd(0.5)),
            ),
            (
                AutonomySettings {
                    time: Some(Duration::ZERO),
                    ..unlimited()
                },
                AutonomyLimit::Time(Duration::ZERO),
            ),
        ];
        for (autonomy, limit) in cases {
            let mut tracker = AutonomyTracker::new(autonomy, totals(100, 1.0));
            tracker.continued();
            assert_eq!(tracker.limit_reached(&[], &totals(150, 1.5)), Some(limit));
            tracker.reset(totals(150, 1.5));
            let lifted = tracker.limit_reached(&[], &totals(150, 1.5));
            match limit {
                AutonomyLimit::Off => assert_eq!(lifted, Some(AutonomyLimit::Off)),
                AutonomyLimit::Time(_) => assert_eq!(lifted, Some(limit), "a limit of zero is always reached"),
                _ => assert_eq!(lifted, None, "{limit:?}"),
            }
        }
        assert_eq!(
            AutonomyTracker::new(unlimited(), totals(0, 0.0)).limit_reached(&[], &totals(49, 9.0)),
            None
        );
    }

    #[test]
    fn an_interruption_holds_and_failures_are_retried_with_growing_delays() {
        let failed = TurnEnd::Failed {
            error: "no".into(),
            hint: String::new(),
        };
        let mut tracker = AutonomyTracker::new(
            AutonomySettings {
                retries: 2,
                ..unlimited()
            },
            Totals::default(),
        );
        assert_eq!(
            tracker.turn_ended(&failed, false),
            None,
            "a turn of the user is not retried"
        );
        tracker.reset(Totals::default());
        let waits: Vec<Option<u64>> = (0..3)
            .map(|_| tracker.turn_ended(&failed, true).map(|wait| wait.as_secs()))
            .collect();
        assert_eq!(waits, [Some(2), Some(4), None]);
        assert_eq!(
            tracker.limit_reached(&[], &Totals::default()),
            Some(AutonomyLimit::Retries(3))
        );
        assert_eq!(tracker.turn_ended(&TurnEnd::Completed, true), None);
        assert_eq!(tracker.limit_reached(&[], &Totals::default()), None);
        assert_eq!(tracker.turn_ended(&TurnEnd::Interrupted, true), None);
        assert_eq!(
            tracker.limit_reached(&[], &Totals::default()),
            Some(AutonomyLimit::Stopped)
        );
    }

    #[test]
    fn open_todos_are_reported_once_for_each_state_of_the_list() {
        let todo = |text: &str, status| Todo {
            text: text.into(),
            status,
        };
        let mut tracker = AutonomyTracker::new(
            AutonomySettings {
                todos: true,
                ..unlimited()
            },
            Totals::default(),
        );
        let mut list = vec![todo("a", TodoStatus::Completed), todo("b", TodoStatus::Pending)];
        assert!(tracker.reminder(&list).is_some_and(|text| text.ends_with("\n- b")));
        assert_eq!(tracker.reminder(&list), None);
        list[1].status = TodoStatus::InProgress;
        assert!(tracker.reminder(&list).is_some());
        list[1].status = TodoStatus::Cancelled;
        assert_eq!(tracker.reminder(&list), None);
    }
}
