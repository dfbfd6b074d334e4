//! Context of a tool call.

use crate::{
    ChangeReporter, DetachedHost, Error, EscalationGrant, SubtaskReport, SubtaskRequest, ToolHost, UsageReporter,
    UserQuestion,
};
use model::{CallId, Features, Request};
use policy::{AccessLevel, Action};
use session::Todo;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Context of a tool call. Dropping the tool's future cancels the call.
#[derive(Clone)]
pub struct CallContext {
    /// The call's id.
    pub call: CallId,
    /// The session's id.
    pub session: Arc<str>,
    /// Changes whenever earlier results leave the model's context, as after compaction or a rewind.
    pub view: u64,
    /// The permission level of the session.
    pub level: AccessLevel,
    /// Features of the calling model.
    pub features: Features,
    /// Sends live output.
    pub progress: ProgressSender,
    /// The request whose reply made the call, for tools that ask a model about the conversation.
    pub request: Option<Arc<Request>>,
    /// The session's todo list.
    pub todos: Arc<[Todo]>,
    /// Reports model requests that the tool makes itself.
    pub usage: UsageReporter,
    /// Reports file changes if the call is cancelled before it returns them.
    pub changes: ChangeReporter,
    /// Requests to the session while the tool runs.
    pub host: Arc<dyn ToolHost>,
}

impl CallContext {
    /// Context for a call outside a session: no output, no accounting, no approvals.
    pub fn detached(call: CallId, features: Features) -> Self {
        CallContext {
            call,
            session: "".into(),
            view: 0,
            level: AccessLevel::default(),
            features,
            progress: ProgressSender::none(),
            request: None,
            todos: Arc::new([]),
            usage: UsageReporter::none(),
            changes: ChangeReporter::none(),
            host: Arc::new(DetachedHost),
        }
    }

    /// Requests approval for an action that becomes known only while the tool runs.
    pub async fn permit(&self, action: Action) -> Result<(), Error> {
        self.host.permit(action).await
    }

    /// Requests approval to run a command again that the sandbox blocked.
    pub async fn permit_escalation(&self, action: Action, evidence: Vec<String>) -> Result<EscalationGrant, Error> {
        self.host.permit_escalation(action, evidence).await
    }

    /// Asks the user a question.
    pub async fn ask(&self, inquiry: UserQuestion) -> Result<String, Error> {
        self.host.ask(inquiry).await
    }

    /// Shows a warning to the user.
    pub async fn warn(&self, text: String) {
        self.host.warn(text).await;
    }

    /// Runs a subtask in its own session.
    pub async fn delegate(&self, task: SubtaskRequest) -> Result<SubtaskReport, Error> {
        self.host.delegate(task).await
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call", &self.call)
            .field("session", &self.session)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

/// Sends live output to the user, such as the output of a running command. If the receiver is too slow, output is
/// dropped and the tool is not delayed.
#[derive(Debug, Clone, Default)]
pub struct ProgressSender {
    sender: Option<mpsc::Sender<(CallId, String)>>,
}

impl ProgressSender {
    /// Sends progress to this channel.
    pub fn new(sender: mpsc::Sender<(CallId, String)>) -> Self {
        ProgressSender { sender: Some(sender) }
    }

    /// Discards progress.
    pub fn none() -> Self {
        ProgressSender::default()
    }

    /// Sends a piece of output.
    pub fn send(&self, call: &CallId, text: impl Into<String>) {
        if let Some(sender) = &self.sender {
            // Live output is optional: drop it if the channel is full or closed.
            drop(sender.try_send((call.clone(), text.into())));
        }
    }
}
