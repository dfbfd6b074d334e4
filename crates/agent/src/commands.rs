//! Processes the commands of the front end.

use crate::prompts::PendingPrompt;
use crate::scheduler::{QueuedCommand, Scheduler, TurnRequest};
use crate::session::Session;
use session::{Body, Command, Delivery, Event, ItemId, NoticeLevel, SessionId};

/// The state of the session when a command arrives.
pub(crate) enum Activity<'a> {
    Idle(&'a mut Session),
    Turn,
    Compaction,
}

/// How the actor proceeds after a command.
pub(crate) enum Flow {
    Continue,
    /// Interrupt the turn or the compaction.
    Stop,
    /// Compact the conversation, with these instructions.
    Compact(Option<String>),
}

impl Scheduler {
    /// Processes a command.
    pub(crate) async fn handle(&mut self, command: Command, activity: Activity<'_>) -> Flow {
        match (command, activity) {
            (Command::Interrupt, Activity::Compaction) => return Flow::Stop,
            (Command::Prompt { message, .. }, Activity::Compaction) => {
                let prompt = PendingPrompt::queue(&self.env, message);
                self.deferred.push_back(QueuedCommand::Prompt(prompt));
            }
            (command, Activity::Compaction) => self.deferred.push_back(QueuedCommand::Command(command)),

            (Command::Close, _) => self.closing = true,
            (Command::Finish, _) => self.finishing = true,
            (Command::Continue, _) => self.queue.push_back(TurnRequest::Continue),
            (Command::Subtask { session, command }, _) => self.forward_to_subtask(session, *command).await,
            (Command::SetLevel { level }, _) => self.env.policy.set_level(level),
            (Command::SetEffort { effort }, _) => self.env.inbox.set_effort(effort),
            (Command::SetEditApproval { mode }, activity) => {
                self.env.policy.set_edit_approval(mode);
                if let Activity::Idle(session) = activity {
                    self.record_mode(session).await;
                }
            }
            (Command::Revoke { rule }, _) => self.revoke(&rule).await,
            (Command::Editor { view }, _) => self.env.inbox.set_editor(view),
            (Command::HoldPrompts { messages }, _) => self.held.set(&self.env, messages),
            (Command::Answer { question, answer }, _) => self.env.inbox.answer(question, answer),
            (Command::SetModel { name }, _) => match (self.env.config.models)(&name) {
                Ok(model) => self.env.inbox.set_model(model),
                Err(error) => self.warn(error.to_string()).await,
            },

            (Command::Prompt { message, delivery }, activity) => {
                let prompt = PendingPrompt::queue(&self.env, message);
                match (activity, delivery) {
                    (Activity::Turn, Delivery::Steer) => self.env.inbox.steer(prompt),
                    (Activity::Turn, Delivery::Interrupt) => {
                        self.queue.push_front(TurnRequest::Prompts(vec![prompt]));
                        return Flow::Stop;
                    }
                    (Activity::Turn | Activity::Idle(_) | Activity::Compaction, _) => {
                        self.queue.push_back(TurnRequest::Prompts(vec![prompt]));
                    }
                }
            }
            (Command::Interrupt, Activity::Turn) => {
                self.return_all_prompts().await;
                return Flow::Stop;
            }
            (Command::Interrupt, Activity::Idle(_)) => {
                // Nothing runs, but nothing must start without a prompt either.
                self.retry_at = None;
                self.autonomy.stop();
            }
            (Command::SetMode { name }, Activity::Turn) => self.env.inbox.set_mode(name),
            (Command::SetMode { name }, Activity::Idle(session)) => self.set_mode(session, &name).await,
            (Command::Compact { instructions }, Activity::Turn) => self.env.inbox.request_compaction(instructions),
            (Command::Compact { instructions }, Activity::Idle(_)) => return Flow::Compact(instructions),
            (Command::Record { body }, Activity::Idle(session)) => self.record(session, *body).await,
            (Command::Record { .. }, Activity::Turn) => {
                self.warn("changes cannot be recorded while a turn is running; interrupt it first")
                    .await;
            }
            (Command::Rewind { to }, Activity::Idle(session)) => self.rewind(session, to).await,
            (Command::Rewind { .. }, Activity::Turn) => {
                self.warn("the session cannot be rewound while a turn is running; interrupt it first")
                    .await;
            }
        }
        Flow::Continue
    }

    /// Processes a command that was deferred by a compaction.
    pub(crate) async fn handle_deferred(&mut self, command: QueuedCommand, session: &mut Session) -> Flow {
        match command {
            QueuedCommand::Command(command) => self.handle(command, Activity::Idle(session)).await,
            QueuedCommand::Prompt(prompt) => {
                self.queue.push_back(TurnRequest::Prompts(vec![prompt]));
                Flow::Continue
            }
        }
    }

    async fn warn(&self, text: impl Into<String>) {
        self.env.notice(NoticeLevel::Warning, text).await;
    }

    async fn forward_to_subtask(&self, session: SessionId, command: Command) {
        if !self.env.subtasks.forward(session, command) {
            self.warn(format!("the subtask {session} is not running")).await;
        }
    }

    /// Revokes a grant; an invalid rule was never granted.
    async fn revoke(&self, rule: &str) {
        if let Ok(parsed) = rule.parse() {
            self.env.policy.revoke(&parsed);
            self.env
                .notice(NoticeLevel::Info, format!("revoked {rule} for this session"))
                .await;
        }
    }

    /// Switches the mode between turns. Replaces a switch that came too late for a turn.
    pub(crate) async fn set_mode(&self, session: &mut Session, name: &str) {
        drop(self.env.inbox.take_mode());
        if let Err(error) = session.switch_mode(name).await {
            self.warn(error.to_string()).await;
        }
    }

    /// Records the mode between turns. A session without a prompt is not stored.
    pub(crate) async fn record_mode(&self, session: &mut Session) {
        if !session.conversation.items.is_empty()
            && let Err(error) = session.record_mode().await
        {
            self.warn(error.to_string()).await;
        }
    }

    /// Appends a review or a restoration. Front ends cannot append other items.
    async fn record(&self, session: &mut Session, body: Body) {
        let result = match body {
            Body::Review { .. } | Body::Restored { .. } => {
                let appended = session.conversation.append(&self.env, ItemId::new(), body).await;
                appended.map_err(|error| error.to_string())
            }
            _ => Err("only accepting or reverting a change can be recorded manually".into()),
        };
        if let Err(why) = result {
            self.warn(why).await;
        }
    }

    async fn rewind(&mut self, session: &mut Session, to: ItemId) {
        let Some(index) = session.conversation.items.iter().position(|item| item.id == to) else {
            self.warn(format!("this branch of the session has no item {to}")).await;
            return;
        };
        match self.env.config.store.rewind(self.env.session, to).await {
            Ok(()) => {
                self.retry_at = None;
                drop(self.env.inbox.take_mode());
                session.conversation.rewind(index + 1);
                self.env.events.send(Event::Rewound { head: to }).await;
                session.restore_mode().await;
            }
            Err(error) => self.warn(error.to_string()).await,
        }
    }
}
