//! The turn that runs: since when, and what it is doing.

use session::{Delta, Event, ItemKind};
use std::time::{Duration, Instant};

/// The turn that runs.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    /// When it began.
    pub(crate) began: Instant,
    /// What the model does.
    pub(crate) doing: Doing,
    /// A request failed and is sent again: what happened, which attempt comes, and when.
    pub(crate) retrying: Option<(String, u32, Instant)>,
    /// Whether the person has asked with Ctrl-C that it be stopped.
    pub(crate) stops: bool,
}

/// What the model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing has come yet.
    Waiting,
    /// It thinks.
    Thinking,
    /// It writes.
    Writing,
    /// It writes a tool call.
    Calling,
    /// Tools work.
    Working,
}

impl Turn {
    /// A turn that begins now.
    pub(crate) fn begin() -> Self {
        Turn {
            began: Instant::now(),
            doing: Doing::Waiting,
            retrying: None,
            stops: false,
        }
    }

    /// Something happened in it.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::Retrying { error, attempt, delay } => {
                let when = Instant::now().checked_add(*delay).unwrap_or_else(Instant::now);
                self.retrying = Some((error.clone(), *attempt, when));
            }
            Event::ItemStarted { kind, .. } => {
                self.doing = match kind {
                    ItemKind::Reply => Doing::Waiting,
                    ItemKind::Result { .. } => Doing::Working,
                };
            }
            Event::ItemDelta { delta, .. } => {
                self.retrying = None;
                self.doing = match delta {
                    Delta::Text(_) => Doing::Writing,
                    Delta::Thinking(_) => Doing::Thinking,
                    Delta::Call { .. } | Delta::Input { .. } | Delta::Preview { .. } => Doing::Calling,
                    Delta::Output(_) => Doing::Working,
                };
            }
            Event::TurnStarted
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Usage { .. }
            | Event::Notice { .. }
            | Event::Titled { .. }
            | Event::Subtask { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    /// For how long it has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}
