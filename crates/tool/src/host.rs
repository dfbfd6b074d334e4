//! Services that a tool can use while it runs: approvals, questions to the user, subtasks.

use crate::Error;
use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;

/// Services that a tool can use while it runs. Dropping the tool's future cancels pending requests.
pub trait ToolHost: Send + Sync {
    /// Requests approval, by the rules or by the user, for an action that becomes known only while the tool runs: a
    /// redirect to another host, a command that the sandbox blocked.
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>>;

    /// Requests approval to run a command again that the sandbox blocked; `evidence` are lines of its output that show it.
    fn permit_escalation(
        &self,
        action: Action,
        evidence: Vec<String>,
    ) -> BoxFuture<'static, Result<EscalationGrant, Error>> {
        drop(evidence);
        let permitted = self.permit(action);
        async move { permitted.await.map(|()| EscalationGrant::Unconfined) }.boxed()
    }

    /// Asks the user a question and returns the answer as text.
    fn ask(&self, inquiry: UserQuestion) -> BoxFuture<'static, Result<String, Error>>;

    /// Runs a subtask in its own session and returns its report.
    fn delegate(&self, task: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>>;

    /// Shows a warning to the user, also where live output is not shown.
    fn warn(&self, _: String) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Suggested answers. The user can always give another one.
    pub choices: Vec<AnswerChoice>,
    /// How many answers can be chosen.
    pub limit: ChoiceLimit,
}

/// A suggested answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerChoice {
    /// The answer.
    pub label: String,
    /// Explains the answer.
    pub description: Option<String>,
}

/// How many answers can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChoiceLimit {
    /// One.
    #[default]
    One,
    /// One or more.
    Several,
}

/// A subtask to run in its own session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskRequest {
    /// A short title for the user.
    pub title: String,
    /// The prompt.
    pub prompt: String,
    /// The mode; defaults to the mode of the parent session.
    pub mode: Option<String>,
    /// Which model runs it.
    pub model: SubtaskModel,
    /// The id of a session to continue.
    pub resume: Option<String>,
    /// Whether the caller waits for the result.
    pub wait: SubtaskWait,
}

/// Whether the caller of a subtask waits for its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubtaskWait {
    /// The report is returned when the subtask has finished.
    #[default]
    UntilDone,
    /// A report is returned immediately, and a notification follows when the subtask has finished.
    Background,
}

/// Which model runs a subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubtaskModel {
    /// The parent session's model, with all of its tools.
    #[default]
    Current,
    /// The small model, with read-only tools.
    Small,
}

/// The result of a subtask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskReport {
    /// The id of the subtask's session.
    pub session: String,
    /// The final reply.
    pub text: String,
}

/// How a command that the sandbox blocked may run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalationGrant {
    /// Outside the sandbox.
    Unconfined,
    /// In the sandbox, with network access.
    Network,
}

/// A host that rejects all requests: a tool may only do what was approved before it started.
#[derive(Debug, Clone, Copy, Default)]
pub struct DetachedHost;

impl ToolHost for DetachedHost {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), Error>> {
        async { Err(Error::Failed("approvals are not available here".into())) }.boxed()
    }

    fn ask(&self, _: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        async { Err(Error::Failed("questions are not available here".into())) }.boxed()
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        async { Err(Error::Failed("subtasks are not available here".into())) }.boxed()
    }
}
