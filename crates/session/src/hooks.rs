//! Hooks: the user's own programs that observe a session and may object.

use crate::SessionId;
use futures::future::{BoxFuture, FutureExt as _};
use model::CallId;
use policy::Ruling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Calls the user's hooks. Implementations have a timeout; a hook that exceeds it has no effect.
pub trait Hooks: Send + Sync {
    /// Whether a hook is registered for this kind. Checked first, to avoid building an event that is not needed.
    fn is_registered(&self, moment: HookKind) -> bool;

    /// Calls the hooks and waits for their outcome.
    fn call(&self, session: SessionId, event: HookEvent) -> BoxFuture<'static, HookOutcome>;
}

/// The points at which hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum HookKind {
    /// A session was started or resumed.
    SessionStart,
    /// The user submitted a prompt.
    UserPromptSubmit,
    /// A tool call is about to be checked against the policy.
    PreToolUse,
    /// A tool call has finished.
    PostToolUse,
    /// The user is asked a question.
    Notification,
    /// The model finished its turn.
    Stop,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The session ends.
    SessionEnd,
}

/// An event that hooks receive.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// A session was started or resumed.
    SessionStart {
        /// Whether the session was resumed.
        resumed: bool,
    },
    /// The user submitted a prompt; it has not been sent to the model yet.
    UserPromptSubmit {
        /// The prompt.
        prompt: String,
    },
    /// A tool call is about to be checked against the policy.
    PreToolUse {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// Its whole input.
        input: Value,
    },
    /// A tool call has finished.
    PostToolUse {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The input of the call.
        input: Value,
        /// The result for the model, truncated if long.
        output: String,
        /// Whether the call succeeded.
        ok: bool,
    },
    /// The user is asked a question.
    Notification {
        /// The question, in one line.
        text: String,
    },
    /// The model finished its turn.
    Stop {
        /// The last reply.
        answer: String,
        /// Whether a stop hook has already continued this turn.
        stop_hook_active: bool,
    },
    /// The conversation is about to be compacted.
    PreCompact {
        /// Whether the user requested it.
        manual: bool,
    },
    /// The session ends.
    SessionEnd,
}

impl HookEvent {
    /// The kind of the event.
    pub fn kind(&self) -> HookKind {
        match self {
            HookEvent::SessionStart { .. } => HookKind::SessionStart,
            HookEvent::UserPromptSubmit { .. } => HookKind::UserPromptSubmit,
            HookEvent::PreToolUse { .. } => HookKind::PreToolUse,
            HookEvent::PostToolUse { .. } => HookKind::PostToolUse,
            HookEvent::Notification { .. } => HookKind::Notification,
            HookEvent::Stop { .. } => HookKind::Stop,
            HookEvent::PreCompact { .. } => HookKind::PreCompact,
            HookEvent::SessionEnd => HookKind::SessionEnd,
        }
    }
}

/// The combined outcome of the hooks.
#[derive(Debug, Clone, PartialEq)]
pub struct HookOutcome {
    /// The decision. A hook cannot allow what the rules deny.
    pub ruling: Ruling,
    /// Replaces the input of the call.
    pub input: Option<Value>,
    /// Context for the model, bounded in size.
    pub context: Option<String>,
    /// Errors of the hooks themselves, for the user.
    pub notices: Vec<String>,
}

impl Default for HookOutcome {
    fn default() -> Self {
        HookOutcome {
            ruling: Ruling::Silent,
            input: None,
            context: None,
            notices: Vec::new(),
        }
    }
}

/// No hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn is_registered(&self, _: HookKind) -> bool {
        false
    }

    fn call(&self, _: SessionId, _: HookEvent) -> BoxFuture<'static, HookOutcome> {
        async { HookOutcome::default() }.boxed()
    }
}
