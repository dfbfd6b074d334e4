//! Runs subtasks: sessions of their own for a part of the work, with a report at the end.

pub(crate) mod running;

use crate::actor;
use crate::inbox::Inbox;
use crate::modes::DEFAULT_MODE;
use crate::session::{Environment, SessionTree};
use crate::turn::approval::Approver;
use crate::{AutoCompaction, AutonomySettings, COMMAND_CAPACITY, CompactionSettings, EVENT_CAPACITY};
use crate::{SessionConfig, SessionSetup, SystemPromptSource, TurnLimits};
use futures::future::{BoxFuture, FutureExt as _};
use model::{CallId, Message, Model};
use policy::Mode;
use prompt::SubtaskKind;
use running::{RunningSubtask, RunningSubtasks, SubtaskUsage};
use session::{
    Body, Command, Delivery, Event, Item, Lease, NewSession, OpenSession, ParentCall, QueuedPrompt, ReplyEnd,
    SessionId, Totals, TurnEnd,
};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tool::{
    Error, NotificationSender, Registry, SubtaskModel, SubtaskReport, SubtaskRequest, SubtaskWait, ToolEffect,
    ToolNotification,
};

/// The maximum number of requests of a subtask with the small model.
const SMALL_MODEL_STEPS: u32 = 30;
/// The maximum length of a report.
const REPORT_CHARS: usize = 30_000;
/// The provider name of external agents.
const AGENT_MODEL_PREFIX: &str = "acp/";

/// Starts the subtasks of a call.
pub(crate) struct SubtaskSpawner {
    pub(crate) env: Arc<Environment>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) mode: Mode,
}

/// The session of a subtask, new or resumed.
struct SubtaskSession {
    id: SessionId,
    items: Vec<Arc<Item>>,
    totals: Totals,
    queued: Vec<QueuedPrompt>,
    lease: Lease,
    /// The external agent that runs the subtask.
    agent: Option<Arc<dyn Model>>,
}

/// The end of a subtask.
struct SubtaskOutcome {
    end: TurnEnd,
    answer: String,
}

impl SubtaskSpawner {
    /// Runs a subtask in its own session. Dropping the future stops it.
    pub(crate) fn run(
        self: Arc<Self>,
        approver: Approver,
        call: CallId,
        request: SubtaskRequest,
    ) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        async move {
            if self.env.depth >= self.env.config.subtask_limits.depth {
                return failed("subtasks cannot be nested any deeper; do the work yourself");
            }
            let agent = self.external_agent(&request);
            let agent = agent.map(|name| self.open_agent(&name, &approver)).transpose()?;
            let mode = match agent {
                // The agent has its own model.
                Some(_) => Mode {
                    model: None,
                    ..self.mode.clone()
                },
                None => self.mode_for(&request)?,
            };
            let opened = self.open(&call, &request, agent, &approver).await?;
            let id = opened.id;
            let report = |text: String| SubtaskReport {
                session: id.to_string(),
                text,
            };
            if request.prompt.trim().is_empty() {
                if opened.items.is_empty() {
                    return failed("the prompt is empty; describe the task");
                }
                if let Some(answer) = final_answer(&opened.items) {
                    return Ok(report(truncate_report(&answer)));
                }
            }
            let (wait, title) = (request.wait, request.title.clone());
            let outcome = self.start(call, request, mode, opened);
            match wait {
                SubtaskWait::Background => {
                    self.notify_when_done(id, title, outcome);
                    let text = "The subtask runs in the background; you will be notified when it is done.";
                    Ok(report(text.into()))
                }
                SubtaskWait::UntilDone => {
                    let guard = StopSubtaskOnDrop(Arc::clone(&self.env.subtasks), id);
                    let outcome = outcome.await;
                    drop(guard);
                    outcome_report(id, outcome.ok())
                }
            }
        }
        .boxed()
    }

    /// The external agent that a request names in place of a mode.
    fn external_agent(&self, request: &SubtaskRequest) -> Option<String> {
        let config = &self.env.config;
        let (name, agents) = (request.mode.as_deref()?, config.external_agents.as_ref()?);
        let is_known = config.modes.get(name).is_none() && agents.names().iter().any(|known| known == name);
        is_known.then(|| name.to_owned())
    }

    /// Opens an external agent, whose questions are answered by the approver of the delegating call.
    fn open_agent(&self, name: &str, approver: &Approver) -> Result<Arc<dyn Model>, Error> {
        let Some(agents) = &self.env.config.external_agents else {
            return failed("no external agents are configured");
        };
        let host = Approver {
            tool: name.to_owned(),
            ..approver.clone()
        };
        let opened = agents.open(name, Arc::new(host), self.env.policy.level());
        opened.map_err(|error| Error::Failed(error.to_string()))
    }

    fn mode_for(&self, request: &SubtaskRequest) -> Result<Mode, Error> {
        let modes = &self.env.config.modes;
        let Some(name) = request.mode.as_deref().filter(|name| !name.is_empty()) else {
            // A subtask of an orchestrator does the work itself.
            let worker = modes.get(DEFAULT_MODE).filter(|_| self.mode.is_orchestrator());
            return Ok(worker.unwrap_or(&self.mode).clone());
        };
        modes.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = modes.iter().map(|mode| mode.name.as_str()).collect();
            Error::Failed(format!(
                "there is no mode `{name}`; the modes are: {}",
                names.join(", ")
            ))
        })
    }

    /// Creates or opens the session of a subtask.
    async fn open(
        &self,
        call: &CallId,
        request: &SubtaskRequest,
        agent: Option<Arc<dyn Model>>,
        approver: &Approver,
    ) -> Result<SubtaskSession, Error> {
        match request.resume.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            None => self.create(call, request, agent).await,
            Some(prefix) => self.resume(prefix, approver).await,
        }
    }

    async fn create(
        &self,
        call: &CallId,
        request: &SubtaskRequest,
        agent: Option<Arc<dyn Model>>,
    ) -> Result<SubtaskSession, Error> {
        let (id, store) = (SessionId::new(), &self.env.config.store);
        let new = NewSession {
            id,
            root: self.env.config.root.clone(),
            model: agent.as_ref().unwrap_or(self.model_for(request.model)).info().name(),
            at: self.env.now(),
            parent: Some(ParentCall {
                session: self.env.session,
                call: call.clone(),
            }),
        };
        let lease = store.create(new).await.map_err(store_error)?;
        drop(store.set_title(id, request.title.clone()));
        Ok(SubtaskSession {
            id,
            items: Vec::new(),
            totals: Totals::default(),
            queued: Vec::new(),
            lease,
            agent,
        })
    }

    async fn resume(&self, prefix: &str, approver: &Approver) -> Result<SubtaskSession, Error> {
        let store = &self.env.config.store;
        let id = store.find(prefix).await.map_err(store_error)?;
        if self.env.subtasks.is_running(id) {
            return failed(&format!("the subtask {id} is still running"));
        }
        let OpenSession { loaded, lease } = store.open(id).await.map_err(store_error)?;
        if loaded.meta.parent.as_ref().map(|parent| parent.session) != Some(self.env.session) {
            return failed(&format!("the session {id} is not a subtask of this one"));
        }
        // A subtask of an external agent is resumed by the same agent.
        let agent = loaded.meta.model.strip_prefix(AGENT_MODEL_PREFIX);
        let agent = agent.map(|name| self.open_agent(name, approver)).transpose()?;
        Ok(SubtaskSession {
            id,
            items: loaded.items,
            totals: loaded.meta.totals,
            queued: loaded.queued,
            lease,
            agent,
        })
    }

    fn model_for(&self, model: SubtaskModel) -> &Arc<dyn Model> {
        match model {
            SubtaskModel::Current => &self.model,
            SubtaskModel::Small => self.env.config.small_model.as_ref().unwrap_or(&self.model),
        }
    }

    /// Starts the subtask as soon as a slot is free; the receiver gets its outcome.
    fn start(
        self: &Arc<Self>,
        call: CallId,
        request: SubtaskRequest,
        mode: Mode,
        opened: SubtaskSession,
    ) -> oneshot::Receiver<SubtaskOutcome> {
        let (outcome_sender, outcome) = oneshot::channel();
        let (commands, command_queue) = mpsc::channel(COMMAND_CAPACITY);
        let (ended, ending) = watch::channel(());
        let subtasks = Arc::new(RunningSubtasks::new(self.env.config.subtask_limits.parallel));
        let inbox = Arc::<Inbox>::default();
        let stop = Arc::new(Notify::new());
        let id = opened.id;
        let running = RunningSubtask {
            commands: commands.clone(),
            inbox: Arc::clone(&inbox),
            subtasks: Arc::clone(&subtasks),
            stop: Arc::clone(&stop),
            wait: request.wait,
            ended: ending,
        };
        self.env.subtasks.add(id, running);
        let tree = SessionTree {
            depth: self.env.depth + 1,
            policy: Some(self.env.policy.clone()),
            budget: Arc::clone(&self.env.budget),
            max_steps: match request.model {
                SubtaskModel::Current => None,
                SubtaskModel::Small => Some(SMALL_MODEL_STEPS),
            },
            inbox,
            subtasks,
        };
        let command = match request.prompt.trim() {
            "" => Command::Continue,
            _ => Command::Prompt {
                message: Message::user(request.prompt.clone()),
                delivery: Delivery::Queue,
            },
        };
        let (setup, lease) = self.setup(opened, &request, mode);
        let spawner = Arc::clone(self);
        tokio::spawn(async move {
            let slot = tokio::select! {
                slot = Arc::clone(&spawner.env.subtasks.slots).acquire_owned() => slot.ok(),
                () = stop.notified() => None,
            };
            if slot.is_some() {
                let (event_queue, events) = mpsc::channel(EVENT_CAPACITY);
                // The channel is empty, so this cannot fail.
                drop(commands.try_send(command));
                let mut actor = JoinSet::new();
                actor.spawn(actor::run(setup, tree, command_queue, event_queue));
                let outcome = spawner.forward_events(id, &call, events, &commands, &stop).await;
                while actor.join_next().await.is_some() {}
                if let Some(outcome) = outcome {
                    // The receiver was dropped if the turn was interrupted.
                    drop(outcome_sender.send(outcome));
                }
            }
            drop(lease);
            spawner.env.subtasks.remove(id);
            drop(ended);
        });
        outcome
    }

    fn setup(&self, opened: SubtaskSession, request: &SubtaskRequest, mode: Mode) -> (SessionSetup, Lease) {
        let SubtaskSession {
            id,
            items,
            totals,
            queued,
            lease,
            agent,
        } = opened;
        let config = self.config(agent.is_some(), request.model);
        let setup = SessionSetup {
            session: id,
            items,
            totals,
            queued_prompts: queued,
            title: Some(request.title.clone()),
            model: agent.unwrap_or_else(|| Arc::clone(self.model_for(request.model))),
            mode,
            // Replaced by the policy of the parent session.
            policy: policy::Policy::default(),
            grant_store: None,
            autonomy: AutonomySettings::default(),
            notifications: NotificationSender::channel(),
            config,
        };
        (setup, lease)
    }

    /// The configuration of this session, adapted to a subtask.
    fn config(&self, is_agent: bool, model: SubtaskModel) -> SessionConfig {
        let config = self.env.config.clone();
        let (tools, kind) = match model {
            // The agent has its own tools.
            _ if is_agent => (Registry::default(), SubtaskKind::Work),
            SubtaskModel::Current => (self.subtask_tools(), SubtaskKind::Work),
            SubtaskModel::Small => (
                config.tools.filtered(|tool| tool.effect() == ToolEffect::ReadOnly),
                SubtaskKind::Research,
            ),
        };
        let parent = Arc::clone(&config.system_prompt);
        let system_prompt: SystemPromptSource = Arc::new(move |input| {
            let mut rendered = parent(input);
            rendered.blocks.push(prompt::subtask_section(kind));
            rendered
        });
        SessionConfig {
            tools,
            system_prompt,
            compaction: CompactionSettings {
                // The agent compacts its conversation itself.
                automatic: if is_agent {
                    AutoCompaction::Off
                } else {
                    config.compaction.automatic
                },
                ..config.compaction
            },
            limits: TurnLimits {
                time: None,
                ..config.limits
            },
            panels: Arc::new(prompt::panel::NoPanels),
            request_options: prompt::RequestOptions {
                output_schema: None,
                ..config.request_options
            },
            ..config
        }
    }

    /// The tools of a subtask; delegating tools only if it may start subtasks itself.
    fn subtask_tools(&self) -> Registry {
        let is_deepest = self.env.depth + 1 >= self.env.config.subtask_limits.depth;
        self.env.config.tools.filtered(move |tool| {
            let is_main_only = tool.facts().sets.contains(&tool::ToolSet::MainSession);
            !(is_main_only || is_deepest && tool.effect() == ToolEffect::Delegating)
        })
    }

    /// Forwards the events of a subtask to the front end until it ends.
    async fn forward_events(
        &self,
        id: SessionId,
        call: &CallId,
        mut events: mpsc::Receiver<Event>,
        commands: &mpsc::Sender<Command>,
        stop: &Notify,
    ) -> Option<SubtaskOutcome> {
        let (mut outcome, mut pending) = (None, VecDeque::new());
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => {
                        if self.forward_event(id, call, event, &mut outcome).await {
                            // Commands that are already queued, such as late prompts, come first.
                            pending.push_back(Command::Close);
                        }
                    }
                    None => return outcome,
                },
                () = stop.notified() => pending.extend([Command::Interrupt, Command::Close]),
                Ok(permit) = commands.reserve(), if !pending.is_empty() => {
                    if let Some(command) = pending.pop_front() {
                        permit.send(command);
                    }
                }
            }
        }
    }

    /// Forwards an event. Returns whether the turn has ended.
    async fn forward_event(
        &self,
        id: SessionId,
        call: &CallId,
        event: Event,
        outcome: &mut Option<SubtaskOutcome>,
    ) -> bool {
        let is_finished = match &event {
            Event::Usage {
                request, usage, cost, ..
            } => {
                self.env.subtasks.add_usage(SubtaskUsage {
                    request: *request,
                    usage: *usage,
                    cost: *cost,
                });
                false
            }
            Event::TurnFinished { ending, answer } => {
                *outcome = Some(SubtaskOutcome {
                    end: ending.clone(),
                    answer: answer.clone(),
                });
                true
            }
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. }
            | Event::Subtask { .. } => false,
        };
        let forwarded = Event::Subtask {
            session: id,
            call: call.clone(),
            event: Box::new(event),
        };
        self.env.events.send(forwarded).await;
        is_finished
    }

    /// Sends a notification when a background subtask is done.
    fn notify_when_done(&self, id: SessionId, title: String, outcome: oneshot::Receiver<SubtaskOutcome>) {
        let notifications = self.env.notifications.clone();
        let pending = notifications.expect();
        tokio::spawn(async move {
            let text = match outcome_report(id, outcome.await.ok()) {
                Ok(report) => format!(
                    "The subtask \"{title}\" (session {id}) is done. Its report:\n{}",
                    report.text
                ),
                Err(error) => error.to_string(),
            };
            let source = format!("subtask {title}");
            notifications.send(ToolNotification { source, text });
            drop(pending);
        });
    }
}

/// Stops a subtask when the call that waits for it is dropped.
struct StopSubtaskOnDrop(Arc<RunningSubtasks>, SessionId);

impl Drop for StopSubtaskOnDrop {
    fn drop(&mut self) {
        self.0.stop(self.1);
    }
}

fn outcome_report(id: SessionId, outcome: Option<SubtaskOutcome>) -> Result<SubtaskReport, Error> {
    let Some(SubtaskOutcome { end, answer }) = outcome else {
        return failed(&format!("The subtask {id} was stopped before it started."));
    };
    let why = match end {
        TurnEnd::Completed | TurnEnd::MaxTokens if answer.trim().is_empty() => "it ended without an answer".to_string(),
        TurnEnd::Completed => {
            return Ok(SubtaskReport {
                session: id.to_string(),
                text: truncate_report(&answer),
            });
        }
        TurnEnd::MaxTokens => "its last reply was cut off by the output limit".into(),
        TurnEnd::Refused { detail } => {
            let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
            format!("the model declined{detail}")
        }
        TurnEnd::Interrupted => "it was stopped".into(),
        TurnEnd::Limit(limit) => format!("a limit was reached ({limit})"),
        TurnEnd::Loop { tool, times } => format!("it called `{tool}` {times} times with the same result"),
        TurnEnd::Failed { error, .. } => error,
    };
    let last = match answer.trim() {
        "" => String::new(),
        text => format!("\nIts last text: {}", truncate_report(text)),
    };
    failed(&format!(
        "The subtask did not finish: {why}. To continue it, call new_task with resume \"{id}\".{last}"
    ))
}

/// The final answer of a completed subtask.
fn final_answer(items: &[Arc<Item>]) -> Option<String> {
    let last = items.iter().rev().find(|item| item.message().is_some())?;
    match &last.body {
        Body::Reply {
            message,
            end: ReplyEnd::Finished(model::Stop::End),
            ..
        } => Some(message.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    }
}

/// The beginning and the end of a long report.
fn truncate_report(text: &str) -> String {
    let text = text.trim();
    let count = text.chars().count();
    if count <= REPORT_CHARS {
        return text.into();
    }
    let half = REPORT_CHARS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n[{} characters left out]\n{tail}", count - 2 * half)
}

fn store_error(error: session::Error) -> Error {
    Error::Failed(error.to_string())
}

fn failed<T>(why: &str) -> Result<T, Error> {
    Err(Error::Failed(why.into()))
}
