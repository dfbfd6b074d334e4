//! The actor of a session: runs one turn at a time and processes commands meanwhile.

use crate::autonomy::AutonomyLimit;
use crate::commands::{Activity, Flow};
use crate::compaction::{self, CompactionResult};
use crate::events::EventSender;
use crate::measurement::TurnProgress;
use crate::scheduler::{Scheduler, TODO_LIST, TurnRequest};
use crate::session::{Environment, Session, SessionTree};
use crate::turn::approval::SharedPolicy;
use crate::{SessionSetup, hooks, prompts, recovery, turn};
use session::{Body, Command, Event, ItemId, Limit, NoticeLevel, Totals, TurnEnd, TurnIntent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tool::{ChangeReporter, ToolNotification, UsageReporter};

/// How long the end of a session waits for a requested title.
const TITLE_TIMEOUT: Duration = Duration::from_secs(1);
/// The poll interval of a finishing session for pending background work.
const FINISH_POLL: Duration = Duration::from_millis(200);

/// A session and the scheduler of its turns.
struct Actor {
    session: Session,
    scheduler: Scheduler,
}

/// Runs a session until it is closed.
pub(crate) async fn run(
    setup: SessionSetup,
    tree: SessionTree,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let (notification_sender, notifications) = setup.notifications;
    let env = Arc::new(Environment {
        session: setup.session,
        policy: tree
            .policy
            .unwrap_or_else(|| SharedPolicy::new(setup.policy, setup.grant_store)),
        config: setup.config,
        events: EventSender::new(events),
        inbox: tree.inbox,
        budget: tree.budget,
        subtasks: tree.subtasks,
        depth: tree.depth,
        max_steps: tree.max_steps,
        notifications: notification_sender,
        usage: UsageReporter::new(),
        changes: ChangeReporter::new(),
    });
    let scheduler = Scheduler::new(Arc::clone(&env), commands, notifications, setup.autonomy, setup.totals);
    let session = Session::new(env, setup.items, setup.totals, setup.title, setup.model, setup.mode);
    let mut actor = Actor { session, scheduler };
    actor.open(setup.queued_prompts).await;
    while let Some(request) = actor.next().await {
        actor.run_turn(request).await;
    }
    actor.close().await;
}

impl Actor {
    /// Completes the session after a crash, applies its mode and runs the start hooks.
    async fn open(&mut self, queued: Vec<session::QueuedPrompt>) {
        let session = &mut self.session;
        if let Err(error) = recovery::after_crash(session).await {
            session.env.notice(NoticeLevel::Warning, error.to_string()).await;
        }
        if session.turn.mode.model.is_some() {
            let mode = session.turn.mode.clone();
            session.apply_mode(mode).await;
        }
        hooks::run_start_hooks(session).await;
        prompts::report_queued(&session.env, &queued).await;
        for prompt in queued {
            session.env.inbox.steer(prompt.into());
        }
    }

    /// Stops background work and stores the rest.
    async fn close(&mut self) {
        let session = &mut self.session;
        let stopped = match session.env.subtasks.count() {
            0 => None,
            1 => Some("1 subtask was".to_owned()),
            count => Some(format!("{count} subtasks were")),
        };
        if let Some(subject) = stopped {
            let text = format!("{subject} stopped, because the session ended");
            session.env.notice(NoticeLevel::Warning, text).await;
        }
        session.env.subtasks.stop_all().await;
        session.record_usage().await;
        let title = &mut session.conversation.title;
        if title.is_requested()
            && let Ok(Some(title)) = tokio::time::timeout(TITLE_TIMEOUT, title.requested()).await
        {
            session.apply_title(title).await;
        }
        session.conversation.compaction.close().await;
        session.record_usage().await;
        hooks::run_end_hooks(&session.env).await;
        if let Err(error) = session.env.config.store.flush().await {
            session.env.notice(NoticeLevel::Warning, error.to_string()).await;
        }
    }

    /// The next turn to run; `None` when the session is over.
    async fn next(&mut self) -> Option<TurnRequest> {
        loop {
            if let Some(request) = self.scheduler.queue.pop_front() {
                return Some(request);
            }
            if self.scheduler.closing {
                return None;
            }
            if let Some(command) = self.scheduler.deferred.pop_front() {
                match self.scheduler.handle_deferred(command, &mut self.session).await {
                    Flow::Compact(instructions) => self.compact(instructions).await,
                    Flow::Continue | Flow::Stop => {}
                }
                continue;
            }
            if self.continues_without_prompt().await {
                return Some(TurnRequest::Autonomous);
            }
            let Actor { session, scheduler } = self;
            if scheduler.finishing && !scheduler.expects_work(session) {
                return None;
            }
            let command = tokio::select! {
                command = scheduler.commands.recv() => command,
                Some(notification) = scheduler.notifications.recv() => {
                    session.env.inbox.push_notification(notification);
                    continue;
                }
                () = sleep_until(scheduler.retry_at) => {
                    scheduler.retry_at = None;
                    scheduler.autonomy.continued();
                    return Some(TurnRequest::Autonomous);
                }
                // Pending work can end without a notification.
                () = tokio::time::sleep(FINISH_POLL), if scheduler.finishing => continue,
                title = session.conversation.title.requested() => {
                    if let Some(title) = title {
                        session.apply_title(title).await;
                    }
                    continue;
                }
            };
            let flow = match command {
                Some(command) => scheduler.handle(command, Activity::Idle(session)).await,
                None => {
                    scheduler.closing = true;
                    Flow::Continue
                }
            };
            match flow {
                Flow::Compact(instructions) => self.compact(instructions).await,
                Flow::Continue | Flow::Stop => {}
            }
        }
    }

    /// Returns whether notifications make the agent continue. Otherwise they are kept for the next prompt.
    async fn continues_without_prompt(&mut self) -> bool {
        let Actor { session, scheduler } = self;
        let inbox = Arc::clone(&session.env.inbox);
        while let Ok(notification) = scheduler.notifications.try_recv() {
            inbox.push_notification(notification);
        }
        if !inbox.has_unseen_notifications() {
            return false;
        }
        session.record_usage().await;
        let limit = scheduler.autonomy_limit(session);
        let unseen = inbox.mark_notifications_seen();
        let Some(limit) = limit else {
            scheduler.autonomy.continued();
            return true;
        };
        let why = match limit {
            AutonomyLimit::Off | AutonomyLimit::Stopped => String::new(),
            limit => format!(" (the agent does not continue by itself: {limit})"),
        };
        for ToolNotification { source, text } in unseen {
            let text = match text.split_once('\n') {
                // The first line is an instruction for the model.
                Some((_, list)) if source == TODO_LIST => format!("not done yet{why}:\n{list}"),
                // The text names its source.
                Some(_) | None if text.to_lowercase().starts_with(&source) => format!("{text}{why}"),
                Some(_) | None => format!("{source}: {text}{why}"),
            };
            session.env.notice(NoticeLevel::Info, text).await;
        }
        false
    }

    /// Runs one turn and processes commands meanwhile.
    async fn run_turn(&mut self, request: TurnRequest) {
        let Actor { session, scheduler } = self;
        session.env.events.send(Event::TurnStarted).await;
        let first = session.conversation.items.len();
        session.turn.final_answer = None;
        if session.env.depth == 0 {
            session.env.budget.begin_turn();
        }
        let is_autonomous = matches!(request, TurnRequest::Autonomous);
        let has_prompts = matches!(request, TurnRequest::Prompts(_));
        let intent = match &request {
            _ if session.env.depth > 0 => TurnIntent::Subtask,
            TurnRequest::Prompts(_) => TurnIntent::Prompt,
            TurnRequest::Continue => TurnIntent::Continue,
            TurnRequest::Autonomous => TurnIntent::Autonomous,
        };
        let progress = TurnProgress::begin(&session.conversation.items, intent, session.env.now());
        session.turn.progress = Some(progress);
        session.record_usage().await;
        if !is_autonomous {
            session.accounting.since_confirmation = Totals::default();
        }
        if let TurnRequest::Prompts(prompts) = request {
            scheduler.retry_at = None;
            scheduler.autonomy.reset(session.accounting.totals);
            // The turn appends them: hooks and mentions may take a while, and the turn can be interrupted.
            for prompt in prompts {
                session.env.inbox.steer(prompt);
            }
        }
        let mut end = execute(session, scheduler).await;
        if let Some(model) = session.turn.overridden_model.take() {
            session.turn.model = model;
        }
        if let Err(error) = recovery::after_interruption(session).await {
            end = error.into();
        }
        let inbox = Arc::clone(&session.env.inbox);
        inbox.cancel_questions();
        let is_unchanged = session.conversation.items.len() == first;
        if let Some(name) = inbox.take_mode() {
            scheduler.set_mode(session, &name).await;
        }
        scheduler.record_mode(session).await;
        if has_prompts && is_unchanged && matches!(end, TurnEnd::Failed { .. } | TurnEnd::Limit(_)) {
            // Another turn would fail in the same way.
            scheduler.return_steering().await;
        } else {
            scheduler.requeue_steering();
            append_end(session, &end).await;
        }
        session.record_usage().await;
        scheduler.schedule_follow_up(session, &end, is_autonomous);
        session.record_turn(&end);
        let answer = answer(session, first);
        session
            .env
            .events
            .send(Event::TurnFinished { ending: end, answer })
            .await;
    }

    /// Compacts the conversation between turns, unless the user interrupts it.
    async fn compact(&mut self, instructions: Option<String>) {
        let Actor { session, scheduler } = self;
        let env = Arc::clone(&session.env);
        match execute_compaction(session, scheduler, instructions).await {
            Some(Ok(CompactionResult::Compacted)) => {}
            Some(Ok(CompactionResult::Unchanged)) => {
                env.notice(NoticeLevel::Info, "there is nothing to summarise yet").await;
            }
            Some(Err(error)) => env.notice(NoticeLevel::Warning, error.to_string()).await,
            None => {
                session.conversation.compaction.close().await;
                // The summary may have been written partially.
                let recovered = recovery::after_interruption(session).await;
                let text = "the conversation was not summarised, because you interrupted it";
                env.notice(NoticeLevel::Info, text).await;
                if let Err(error) = recovered {
                    env.notice(NoticeLevel::Warning, error.to_string()).await;
                }
            }
        }
    }
}

/// Runs the turn until it ends, is interrupted or reaches the time limit.
async fn execute(session: &mut Session, scheduler: &mut Scheduler) -> TurnEnd {
    let env = Arc::clone(&session.env);
    let mut is_connected = true;
    let turn = turn::run(session);
    let timeout = timeout(env.config.limits.time);
    tokio::pin!(turn, timeout);
    loop {
        tokio::select! {
            end = &mut turn => return end,
            limit = &mut timeout => return TurnEnd::Limit(Limit::Time(limit)),
            Some(notification) = scheduler.notifications.recv() => env.inbox.push_notification(notification),
            command = scheduler.commands.recv(), if is_connected => match command {
                Some(command) => match scheduler.handle(command, Activity::Turn).await {
                    Flow::Stop => return TurnEnd::Interrupted,
                    Flow::Continue | Flow::Compact(_) => {}
                },
                // No front end is left to interrupt the turn: the session ends after it.
                None => {
                    (is_connected, scheduler.closing) = (false, true);
                    env.inbox.disconnect();
                    env.subtasks.disconnect();
                }
            },
        }
    }
}

/// Runs the compaction until it ends; `None` if the user interrupts it. Other commands are deferred.
async fn execute_compaction(
    session: &mut Session,
    scheduler: &mut Scheduler,
    instructions: Option<String>,
) -> Option<Result<CompactionResult, session::Error>> {
    let compaction = compaction::on_request(session, instructions);
    tokio::pin!(compaction);
    let mut is_connected = true;
    loop {
        tokio::select! {
            result = &mut compaction => return Some(result),
            command = scheduler.commands.recv(), if is_connected => match command {
                Some(command) => match scheduler.handle(command, Activity::Compaction).await {
                    Flow::Stop => return None,
                    Flow::Continue | Flow::Compact(_) => {}
                },
                None => is_connected = false,
            },
        }
    }
}

/// Completes after the time limit, with the limit; never without one.
async fn timeout(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

async fn sleep_until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Appends a notice about the end of the turn, unless it is apparent from the items.
async fn append_end(session: &mut Session, end: &TurnEnd) {
    let text = match end {
        TurnEnd::Completed => return,
        TurnEnd::Interrupted => "The user interrupted the turn.".to_string(),
        TurnEnd::MaxTokens => "The model's reply was cut off by its output limit.".to_string(),
        TurnEnd::Refused { detail: Some(detail) } => format!("The model declined: {detail}"),
        TurnEnd::Refused { detail: None } => "The model declined.".to_string(),
        TurnEnd::Limit(limit) => format!("The turn reached a limit: {limit}."),
        TurnEnd::Loop { tool, times } => format!("The model called `{tool}` {times} times with the same result."),
        TurnEnd::Failed { error, .. } => format!("The turn failed: {error}."),
    };
    let Session { env, conversation, .. } = session;
    if let Err(error) = conversation.append(env, ItemId::new(), Body::Notice { text }).await {
        env.notice(NoticeLevel::Warning, error.to_string()).await;
    }
}

/// The final answer of a turn that began with the item at index `first`.
fn answer(session: &mut Session, first: usize) -> String {
    if let Some(answer) = session.turn.final_answer.take() {
        return answer;
    }
    let items = session.conversation.items.get(first..).unwrap_or_default();
    let reply = items.iter().rev().find_map(|item| item.reply_text());
    reply.unwrap_or_default()
}
