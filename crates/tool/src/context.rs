//! What a tool is told about the call it serves.

use crate::{Changes, Desk, Error, Inquiry, Nobody, Report, Spending, Task, Todo};
use model::{CallId, Features};
use policy::{Action, Level};
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a tool is told about the call it serves. A call is cancelled by dropping the tool's future.
#[derive(Clone)]
pub struct Context {
    /// The call.
    pub call: CallId,
    /// The session that it belongs to.
    pub session: Arc<str>,
    /// Another number whenever the model loses sight of earlier results, as after a summary or a rewind.
    pub view: u64,
    /// What the person allows in general.
    pub level: Level,
    /// What the model that called can take.
    pub features: Features,
    /// Where live output goes.
    pub progress: Progress,
    /// The session's list of things to do.
    pub todos: Arc<[Todo]>,
    /// Where requests to models go that the tool makes itself.
    pub spending: Spending,
    /// Where changes of files go when the call is stopped before it can give them back.
    pub changes: Changes,
    /// Where the tool turns while it runs.
    pub desk: Arc<dyn Desk>,
}

impl Context {
    /// For a call that stands alone: nobody watches, counts or can be asked.
    pub fn alone(call: CallId, features: Features) -> Self {
        Context {
            call,
            session: "".into(),
            view: 0,
            level: Level::default(),
            features,
            progress: Progress::none(),
            todos: Arc::new([]),
            spending: Spending::none(),
            changes: Changes::none(),
            desk: Arc::new(Nobody),
        }
    }

    /// Asks whether something may happen that shows only while the tool runs.
    pub async fn permit(&self, action: Action) -> Result<(), Error> {
        self.desk.permit(action).await
    }

    /// Asks the person something.
    pub async fn ask(&self, inquiry: Inquiry) -> Result<String, Error> {
        self.desk.ask(inquiry).await
    }

    /// Hands a part of the work to a conversation of its own.
    pub async fn delegate(&self, task: Task) -> Result<Report, Error> {
        self.desk.delegate(task).await
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call", &self.call)
            .field("session", &self.session)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
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
