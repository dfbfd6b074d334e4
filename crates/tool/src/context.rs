//! What a tool is told about the call it serves.

use crate::Spending;
use model::{CallId, Features};
use tokio::sync::mpsc;

/// What a tool is told about the call it serves. A call is cancelled by dropping the tool's future.
#[derive(Debug, Clone)]
pub struct Context {
    /// The call.
    pub call: CallId,
    /// What the model that called can take.
    pub features: Features,
    /// Where live output goes.
    pub progress: Progress,
    /// Where requests to models go that the tool makes itself.
    pub spending: Spending,
}

/// Live output for the person, such as what a command prints while it runs.
///
/// It is a convenience: when nobody reads fast enough, pieces are dropped rather than the tool slowed down.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    sender: Option<mpsc::Sender<(CallId, String)>>,
}

impl Progress {
    /// Progress that goes to this channel.
    pub fn new(sender: mpsc::Sender<(CallId, String)>) -> Self {
        Progress { sender: Some(sender) }
    }

    /// Progress that nobody watches.
    pub fn none() -> Self {
        Progress::default()
    }

    /// Shows a piece of output.
    pub fn show(&self, call: &CallId, text: impl Into<String>) {
        if let Some(sender) = &self.sender {
            // A full or closed channel only means that nobody is watching closely.
            drop(sender.try_send((call.clone(), text.into())));
        }
    }
}
