//! The running turn: start time and activity.

use crate::format::{dollars, duration, tokens};
use model::Cost;
use session::{Event, ItemDelta, ItemStart, Totals};
use std::time::{Duration, Instant};

/// The running turn.
#[derive(Debug, Clone)]
pub(crate) struct RunningTurn {
    pub(crate) started: Instant,
    pub(crate) activity: TurnActivity,
    /// The pending retry: error, attempt and time.
    pub(crate) retrying: Option<(String, u32, Instant)>,
    /// Whether the user interrupted it with Ctrl-C.
    pub(crate) interrupted: bool,
    /// Time of the last event.
    last_event: Instant,
    /// Totals of the session at the start.
    before: Totals,
}

/// Without data from the model for this time after the first, the stream counts as stalled.
const STALL_TIME: Duration = Duration::from_secs(5);
/// The same before the first data.
const FIRST_DATA_TIME: Duration = Duration::from_secs(20);

/// What the model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnActivity {
    /// Waiting for the first output.
    Waiting,
    /// Thinking.
    Thinking,
    /// Writing text.
    Writing,
    /// Writing a tool call.
    Calling,
    /// Running tools.
    Working,
}

impl RunningTurn {
    /// Starts a turn.
    pub(crate) fn start(before: Totals) -> Self {
        RunningTurn {
            last_event: Instant::now(),
            before,
            started: Instant::now(),
            activity: TurnActivity::Waiting,
            retrying: None,
            interrupted: false,
        }
    }

    /// Applies a session event.
    pub(crate) fn handle_event(&mut self, event: &Event) {
        self.last_event = Instant::now();
        match event {
            Event::Retrying { error, attempt, delay } => {
                let when = Instant::now().checked_add(*delay).unwrap_or_else(Instant::now);
                self.retrying = Some((error.clone(), *attempt, when));
            }
            Event::ItemStarted { kind, .. } => {
                self.activity = match kind {
                    ItemStart::Reply => TurnActivity::Waiting,
                    ItemStart::Result { .. } => TurnActivity::Working,
                };
            }
            Event::ItemDelta { delta, .. } => {
                self.retrying = None;
                self.activity = match delta {
                    ItemDelta::Text(_) => TurnActivity::Writing,
                    ItemDelta::Thinking(_) => TurnActivity::Thinking,
                    ItemDelta::Call { .. } | ItemDelta::Input { .. } | ItemDelta::Preview { .. } => {
                        TurnActivity::Calling
                    }
                    ItemDelta::Output(_) => TurnActivity::Working,
                };
            }
            Event::TurnStarted
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::Usage { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. }
            | Event::Subtask { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the model has sent nothing, if it should have.
    pub(crate) fn stalled(&self) -> Option<Duration> {
        let limit = match self.activity {
            TurnActivity::Waiting => FIRST_DATA_TIME,
            TurnActivity::Thinking | TurnActivity::Writing | TurnActivity::Calling => STALL_TIME,
            TurnActivity::Working => return None,
        };
        Some(self.last_event.elapsed()).filter(|silent| *silent >= limit)
    }

    /// `12s · 14.2k tokens · $0.0123`; `None` if the turn sent no request.
    pub(crate) fn summary(&self, totals: &Totals) -> Option<String> {
        let count = |totals: &Totals| totals.usage.prompt_tokens() + totals.usage.output;
        let used = count(totals).saturating_sub(count(&self.before));
        if used == 0 {
            return None;
        }
        let mut parts = vec![duration(self.elapsed()), format!("{} tokens", tokens(used))];
        let cost = Cost {
            nano_usd: totals.cost.nano_usd - self.before.cost.nano_usd,
        };
        if cost.nano_usd > 0 {
            parts.push(dollars(cost));
        }
        Some(parts.join(" · "))
    }
}
