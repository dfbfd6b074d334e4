//! Whether an idle agent goes on by itself, and the guard rails on that.

use crate::Autonomy;
use model::Cost;
use session::{Body, Ending, Item, Todo, Totals};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest wait before a turn is tried again.
const LONGEST: Duration = Duration::from_secs(60);

/// What the agent has done by itself since the person last spoke.
#[derive(Debug)]
pub(crate) struct Wakes {
    autonomy: Autonomy,
    /// The person stopped the agent: it stays idle until they speak.
    stopped: bool,
    /// When the agent first went on by itself.
    since: Option<Instant>,
    messages: u32,
    /// How many turns in a row have failed.
    failures: u32,
    /// What the session had taken when the person last spoke.
    before: Totals,
    /// The open things of which the agent was last reminded.
    reminded: Vec<Todo>,
}

/// Why the agent does not go on by itself.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum Rail {
    #[error("going on by itself is not allowed")]
    Off,
    #[error("the person stopped it")]
    Stopped,
    #[error("the last notification was not answered")]
    Unanswered,
    #[error("it has gone on by itself {0} times since the last prompt")]
    Messages(u32),
    #[error("it has written {0} tokens since the last prompt")]
    Output(u64),
    #[error("it has spent {:.2} US dollars since the last prompt", .0.usd())]
    Cost(Cost),
    #[error("it has gone on by itself for {} s", .0.as_secs())]
    Time(Duration),
    #[error("{0} turns in a row have failed")]
    Retries(u32),
}

impl Wakes {
    pub(crate) fn new(autonomy: Autonomy, totals: Totals) -> Self {
        Wakes {
            autonomy,
            stopped: false,
            since: None,
            messages: 0,
            failures: 0,
            before: totals,
            reminded: Vec::new(),
        }
    }

    /// The person said something: everything begins anew.
    pub(crate) fn person_spoke(&mut self, totals: Totals) {
        let reminded = std::mem::take(&mut self.reminded);
        *self = Wakes {
            reminded,
            ..Wakes::new(self.autonomy, totals)
        };
    }

    /// The person wants quiet until they speak.
    pub(crate) fn person_stopped(&mut self) {
        self.stopped = true;
    }

    /// The agent goes on by itself.
    pub(crate) fn woken(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        self.messages += 1;
    }

    /// A turn has ended; says after how long it is tried again, if it is.
    pub(crate) fn turn_ended(&mut self, ending: &Ending, by_itself: bool) -> Option<Duration> {
        match ending {
            Ending::Failed { .. } => self.failures += 1,
            Ending::Interrupted => self.stopped = true,
            Ending::Completed | Ending::MaxTokens | Ending::Refused { .. } | Ending::Limit(_) | Ending::Loop { .. } => {
                self.failures = 0
            }
        }
        let again = by_itself && self.failures > 0 && !self.stopped && self.failures <= self.autonomy.retries;
        again.then(|| Duration::from_secs(1 << self.failures.min(6)).min(LONGEST))
    }

    /// Why the agent may not go on by itself, if it may not.
    pub(crate) fn rail(&self, items: &[Arc<Item>], totals: &Totals) -> Option<Rail> {
        let Autonomy {
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
            return Some(Rail::Off);
        }
        if self.stopped {
            return Some(Rail::Stopped);
        }
        if ends_unanswered(items) {
            return Some(Rail::Unanswered);
        }
        if self.failures > retries {
            return Some(Rail::Retries(self.failures));
        }
        messages
            .filter(|most| self.messages >= *most)
            .map(Rail::Messages)
            .or_else(|| output_tokens.filter(|most| output >= *most).map(Rail::Output))
            .or_else(|| cost.filter(|most| spent >= *most).map(Rail::Cost))
            .or_else(|| time.filter(|most| busy >= *most).map(Rail::Time))
    }

    /// What the agent is reminded of at the end of a turn: things still to do, once for each state of the list.
    pub(crate) fn reminder(&mut self, todos: &[Todo]) -> Option<String> {
        let open: Vec<Todo> = todos.iter().filter(|todo| todo.status.is_open()).cloned().collect();
        if !self.autonomy.todos || open.is_empty() || open == self.reminded {
            return None;
        }
        let lines: Vec<String> = open.iter().map(|todo| format!("- {}", todo.text)).collect();
        self.reminded = open;
        Some(format!(
            "these things are still open. Go on with them, or mark them as done or cancelled if they are:\n{}",
            lines.join("\n")
        ))
    }
}

/// Whether the newest thing said is a notification that the model has not answered.
fn ends_unanswered(items: &[Arc<Item>]) -> bool {
    let spoken = items.iter().rev().find(|item| item.message().is_some());
    matches!(spoken.map(|item| &item.body), Some(Body::Wake { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;
    use session::Status;

    fn free() -> Autonomy {
        Autonomy {
            allowed: true,
            ..Autonomy::default()
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
    fn each_guard_rail_holds_and_the_next_prompt_lifts_it() {
        let one = Some(1);
        let cases = [
            (Autonomy::default(), Rail::Off),
            (
                Autonomy {
                    messages: one,
                    ..free()
                },
                Rail::Messages(1),
            ),
            (
                Autonomy {
                    output_tokens: Some(50),
                    ..free()
                },
                Rail::Output(50),
            ),
            (
                Autonomy {
                    cost: Some(Cost::from_usd(0.5)),
                    ..free()
                },
                Rail::Cost(Cost::from_usd(0.5)),
            ),
            (
                Autonomy {
                    time: Some(Duration::ZERO),
                    ..free()
                },
                Rail::Time(Duration::ZERO),
            ),
        ];
        for (autonomy, rail) in cases {
            let mut wakes = Wakes::new(autonomy, totals(100, 1.0));
            wakes.woken();
            assert_eq!(wakes.rail(&[], &totals(150, 1.5)), Some(rail));
            wakes.person_spoke(totals(150, 1.5));
            let lifted = wakes.rail(&[], &totals(150, 1.5));
            match rail {
                Rail::Off => assert_eq!(lifted, Some(Rail::Off)),
                Rail::Time(_) => assert_eq!(lifted, Some(rail), "no time at all is never enough"),
                _ => assert_eq!(lifted, None, "{rail:?}"),
            }
        }
        assert_eq!(Wakes::new(free(), totals(0, 0.0)).rail(&[], &totals(49, 9.0)), None);
    }

    #[test]
    fn who_was_stopped_stays_so_and_failures_are_tried_again_ever_later_but_not_for_ever() {
        let failed = Ending::Failed {
            error: "no".into(),
            hint: String::new(),
        };
        let mut wakes = Wakes::new(Autonomy { retries: 2, ..free() }, Totals::default());
        assert_eq!(
            wakes.turn_ended(&failed, false),
            None,
            "the person's own turn is theirs to repeat"
        );
        wakes.person_spoke(Totals::default());
        let waits: Vec<Option<u64>> = (0..3)
            .map(|_| wakes.turn_ended(&failed, true).map(|wait| wait.as_secs()))
            .collect();
        assert_eq!(waits, [Some(2), Some(4), None]);
        assert_eq!(wakes.rail(&[], &Totals::default()), Some(Rail::Retries(3)));
        assert_eq!(wakes.turn_ended(&Ending::Completed, true), None);
        assert_eq!(wakes.rail(&[], &Totals::default()), None);
        assert_eq!(wakes.turn_ended(&Ending::Interrupted, true), None);
        assert_eq!(wakes.rail(&[], &Totals::default()), Some(Rail::Stopped));
    }

    #[test]
    fn open_things_are_brought_up_once_for_each_state_of_the_list() {
        let todo = |text: &str, status| Todo {
            text: text.into(),
            status,
        };
        let mut wakes = Wakes::new(Autonomy { todos: true, ..free() }, Totals::default());
        let mut list = vec![todo("a", Status::Completed), todo("b", Status::Pending)];
        assert!(wakes.reminder(&list).is_some_and(|text| text.ends_with("\n- b")));
        assert_eq!(wakes.reminder(&list), None);
        list[1].status = Status::InProgress;
        assert!(wakes.reminder(&list).is_some());
        list[1].status = Status::Cancelled;
        assert_eq!(wakes.reminder(&list), None);
    }
}
