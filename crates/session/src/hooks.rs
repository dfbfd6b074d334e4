//! What a person's own programs may say around what a session does.

use crate::SessionId;
use futures::future::{BoxFuture, FutureExt as _};
use model::CallId;
use policy::Ruling;
use serde_json::Value;

/// Told of what happens, and may object. An implementation never waits for ever: what takes too long counts as silence.
pub trait Hooks: Send + Sync {
    /// Whether anybody wants to hear of this. Asked first, so that nothing is spent where nobody does.
    fn hears(&self, moment: Moment) -> bool;

    /// Tells of something and waits for what is said to it.
    fn call(&self, session: SessionId, happening: Happening) -> BoxFuture<'static, Reaction>;
}

/// When hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// A session begins or goes on.
    SessionStart,
    /// The person said something.
    UserPromptSubmit,
    /// A call is about to be decided about.
    PreToolUse,
    /// A call has been served.
    PostToolUse,
    /// The person is asked something.
    Notification,
    /// The model has nothing more to do.
    Stop,
    /// The conversation is about to be summed up.
    PreCompact,
    /// The session ends.
    SessionEnd,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A session begins, or goes on where it stopped.
    SessionStart {
        /// Whether it existed before.
        resumed: bool,
    },
    /// The person said something; the model has not seen it yet.
    UserPromptSubmit {
        /// What was said.
        prompt: String,
    },
    /// A call is about to be decided about.
    PreToolUse {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// Its whole input.
        input: Value,
    },
    /// A call has been served.
    PostToolUse {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The input that it ran with.
        input: Value,
        /// What the model will see of its result, cut where it is long.
        output: String,
        /// Whether it did what it was asked.
        ok: bool,
    },
    /// The person is asked something.
    Notification {
        /// What they are asked, in one line.
        text: String,
    },
    /// The model has nothing more to do.
    Stop {
        /// What it said last.
        answer: String,
        /// Whether a hook has made it go on in this turn already.
        again: bool,
    },
    /// The conversation is about to be summed up.
    PreCompact {
        /// Whether the person asked for it.
        manual: bool,
    },
    /// The session ends.
    SessionEnd,
}

impl Happening {
    /// When this happens.
    pub fn moment(&self) -> Moment {
        match self {
            Happening::SessionStart { .. } => Moment::SessionStart,
            Happening::UserPromptSubmit { .. } => Moment::UserPromptSubmit,
            Happening::PreToolUse { .. } => Moment::PreToolUse,
            Happening::PostToolUse { .. } => Moment::PostToolUse,
            Happening::Notification { .. } => Moment::Notification,
            Happening::Stop { .. } => Moment::Stop,
            Happening::PreCompact { .. } => Moment::PreCompact,
            Happening::SessionEnd => Moment::SessionEnd,
        }
    }
}

/// What hooks say to something.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// Whether it may happen. What the rules deny, no hook allows.
    pub ruling: Ruling,
    /// The input that a call shall run with instead of the model's.
    pub input: Option<Value>,
    /// What the model shall know besides, bounded.
    pub context: Option<String>,
    /// What went wrong with the hooks themselves, for the person.
    pub notices: Vec<String>,
}

impl Default for Reaction {
    fn default() -> Self {
        Reaction {
            ruling: Ruling::Silent,
            input: None,
            context: None,
            notices: Vec::new(),
        }
    }
}

/// No hooks at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn hears(&self, _: Moment) -> bool {
        false
    }

    fn call(&self, _: SessionId, _: Happening) -> BoxFuture<'static, Reaction> {
        async { Reaction::default() }.boxed()
    }
}
