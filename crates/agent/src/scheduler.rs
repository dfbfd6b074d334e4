//! The queue of turns and deferred commands of a session.

use crate::AutonomySettings;
use crate::autonomy::{AutonomyLimit, AutonomyTracker};
use crate::prompts::{HeldPrompts, PendingPrompt};
use crate::session::{Environment, Session};
use session::{Command, NoticeLevel, Totals, TurnEnd};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tool::ToolNotification;

/// The source of notifications about open todos.
pub(crate) const TODO_LIST: &str = "todo list";

/// Decides which turn runs next. Separate from the session, so that commands can be processed while a turn runs.
pub(crate) struct Scheduler {
    pub(crate) env: Arc<Environment>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) notifications: mpsc::Receiver<ToolNotification>,
    pub(crate) queue: VecDeque<TurnRequest>,
    /// Commands that arrived during a compaction.
    pub(crate) deferred: VecDeque<QueuedCommand>,
    /// Prompts that the front end holds back.
    pub(crate) held: HeldPrompts,
    pub(crate) autonomy: AutonomyTracker,
    /// When a failed turn is retried.
    pub(crate) retry_at: Option<Instant>,
    pub(crate) closing: bool,
    /// Close as soon as no background work is pending.
    pub(crate) finishing: bool,
}

/// A turn to run.
pub(crate) enum TurnRequest {
    /// Usually one prompt.
    Prompts(Vec<PendingPrompt>),
    Continue,
    /// The agent continues without a prompt, because of notifications in the inbox or after a failure.
    Autonomous,
}

/// A command that arrived during a compaction.
pub(crate) enum QueuedCommand {
    Command(Command),
    Prompt(PendingPrompt),
}

impl Scheduler {
    pub(crate) fn new(
        env: Arc<Environment>,
        commands: mpsc::Receiver<Command>,
        notifications: mpsc::Receiver<ToolNotification>,
        autonomy: AutonomySettings,
        totals: Totals,
    ) -> Self {
        Scheduler {
            env,
            commands,
            notifications,
            queue: VecDeque::new(),
            deferred: VecDeque::new(),
            held: HeldPrompts::default(),
            autonomy: AutonomyTracker::new(autonomy, totals),
            retry_at: None,
            closing: false,
            finishing: false,
        }
    }

    /// The limit that prevents the agent from continuing without a prompt, if any.
    pub(crate) fn autonomy_limit(&self, session: &Session) -> Option<AutonomyLimit> {
        let (items, totals) = (&session.conversation.items, &session.accounting.totals);
        self.autonomy.limit_reached(items, totals)
    }

    /// Returns whether background work is pending that could make the agent continue.
    pub(crate) fn expects_work(&self, session: &Session) -> bool {
        let is_pending = self.env.notifications.has_pending() || !self.notifications.is_empty();
        self.retry_at.is_some() || (is_pending && self.autonomy_limit(session).is_none())
    }

    /// Schedules a retry of a failed turn, or a reminder of open todos.
    pub(crate) fn schedule_follow_up(&mut self, session: &Session, end: &TurnEnd, is_autonomous: bool) {
        let delay = self.autonomy.turn_ended(end, is_autonomous);
        self.retry_at = delay.map(|delay| Instant::now() + delay);
        if *end == TurnEnd::Completed
            && let Some(text) = self.autonomy.reminder(&session.conversation.todos)
        {
            let source = TODO_LIST.into();
            self.env.inbox.push_notification(ToolNotification { source, text });
        }
    }

    /// Prepends the steering prompts that came too late for a turn to the next one.
    pub(crate) fn requeue_steering(&mut self) {
        let late = self.env.inbox.take_steering();
        if late.is_empty() {
            return;
        }
        match self.queue.front_mut() {
            Some(TurnRequest::Prompts(prompts)) => {
                prompts.splice(0..0, late);
            }
            Some(TurnRequest::Continue | TurnRequest::Autonomous) | None => {
                self.queue.push_front(TurnRequest::Prompts(late));
            }
        }
    }

    /// Returns the steering prompts to the user.
    pub(crate) async fn return_steering(&mut self) {
        let prompts = self.env.inbox.take_steering();
        self.return_prompts(prompts).await;
    }

    /// Returns all waiting prompts to the user and clears the queue.
    pub(crate) async fn return_all_prompts(&mut self) {
        let mut prompts = self.env.inbox.take_steering();
        for request in self.queue.drain(..) {
            match request {
                TurnRequest::Prompts(queued) => prompts.extend(queued),
                TurnRequest::Continue | TurnRequest::Autonomous => {}
            }
        }
        self.return_prompts(prompts).await;
    }

    async fn return_prompts(&self, prompts: Vec<PendingPrompt>) {
        for prompt in prompts {
            let text = format!("not sent, because the turn was interrupted: {}", prompt.message.text());
            self.env.notice(NoticeLevel::Info, text).await;
            // The stored copy is removed only after the user has the text.
            prompt.discard(&self.env);
        }
    }
}
