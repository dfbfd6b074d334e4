//! The running turn: start time and activity.

use session::{Event, ItemDelta, ItemStart};
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
}

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
    pub(crate) fn start() -> Self {
        RunningTurn {
            started: Instant::now(),
            activity: TurnActivity::Waiting,
            retrying: None,
            interrupted: false,
        }
    }

    /// Applies a session event.
    pub(crate) fn handle_event(&mut self, event: &Event) {
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
            | Event::Subtask { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
