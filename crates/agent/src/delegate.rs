//! Hands a part of the work to a session of its own and reports what came of it.

use crate::actor::{self, Family};
use crate::children::{Child, Children, Counted};
use crate::desk::{Desk, Rules};
use crate::inbox::Inbox;
use crate::surroundings::Surroundings;
use crate::tally::Tally;
use crate::{Approvals, Automatic, COMMANDS, Compaction, EVENTS, Limits, ModelSource, Previews, Setup, System};
use futures::future::{BoxFuture, FutureExt as _};
use model::{CallId, Message, Model};
use policy::{Mode, Modes};
use session::{
    Body, Command, Delivery, End, Ending, Event, Hooks, Item, Lease, New, Parent, SessionId, Store, Time, Totals,
};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tool::{Effect, Error, Notice, Notices, Registry, Report, Task, Waiting, Worker};

/// As many requests as a scout may make.
const SCOUT_STEPS: u32 = 30;
/// More of a report is cut.
const REPORT_CHARS: usize = 30_000;
/// Tools of a session that are not for its subtasks: what they start outlives them, or ends the wrong turn.
const NOT_FOR_CHILDREN: [&str; 2] = ["watch", "remind"];

/// What a session has to hand on with a part of its work.
pub(crate) struct Delegate {
    pub(crate) session: SessionId,
    pub(crate) root: PathBuf,
    pub(crate) depth: u32,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) small: Option<Arc<dyn Model>>,
    pub(crate) models: ModelSource,
    pub(crate) modes: Modes,
    pub(crate) tools: Registry,
    pub(crate) rules: Rules,
    pub(crate) mode: Mode,
    pub(crate) approvals: Approvals,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) system: System,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    pub(crate) limits: Limits,
    pub(crate) compaction: Compaction,
    pub(crate) call: prompt::Call,
    pub(crate) previews: Previews,
    pub(crate) backoff: Duration,
    pub(crate) clock: fn() -> Time,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) children: Arc<Children>,
    pub(crate) notices: Notices,
}

/// A session for a subtask, new or to go on with.
struct Opened {
    id: SessionId,
    items: Vec<Arc<Item>>,
    totals: Totals,
    waiting: Vec<session::Waiting>,
    lease: Lease,
    /// Another agent that does it.
    helper: Option<Arc<dyn Model>>,
}

/// What the model of a session is called whose work another agent does.
const HELPER: &str = "acp/";

/// How a subtask ended.
struct Outcome {
    ending: Ending,
    answer: String,
}

impl Delegate {
    /// Does a part of the work in a session of its own. Dropping the future stops it, in good order.
    pub(crate) fn run(
        self: Arc<Self>,
        desk: Desk,
        call: CallId,
        task: Task,
    ) -> BoxFuture<'static, Result<Report, Error>> {
        async move {
            if self.depth >= self.children.delegation.depth {
                return failed("work cannot be handed on any further from here; do it yourself");
            }
            let helper = self.named(&task).map(|name| self.helper(&name, &desk)).transpose()?;
            let mode = match helper {
                // It has a model of its own.
                Some(_) => Mode {
                    model: None,
                    ..self.mode.clone()
                },
                None => self.mode_for(&task)?,
            };
            let opened = self.open(&call, &task, helper, &desk).await?;
            let id = opened.id;
            let report = |text: String| Report {
                session: id.to_string(),
                text,
            };
            if task.prompt.trim().is_empty() {
                if opened.items.is_empty() {
                    return failed("the prompt is empty; say what is to be done");
                }
                if let Some(words) = last_words(&opened.items) {
                    return Ok(report(bounded(&words)));
                }
            }
            let (waiting, title) = (task.waiting, task.title.clone());
            let ended = self.start(call, task, mode, opened);
            match waiting {
                Waiting::NotAtAll => {
                    self.tell_later(id, title, ended);
                    Ok(report(
                        "It works in the background; you will be told when it is done.".into(),
                    ))
                }
                Waiting::UntilDone => {
                    let guard = StopOnDrop(Arc::clone(&self.children), id);
                    let outcome = ended.await;
                    drop(guard);
                    outcome_report(id, outcome.ok())
                }
            }
        }
        .boxed()
    }

    /// The agent that a task names in place of a mode.
    fn named(&self, task: &Task) -> Option<String> {
        let (name, agents) = (task.mode.as_deref()?, self.children.agents.as_ref()?);
        let known = self.modes.get(name).is_none() && agents.names().iter().any(|known| known == name);
        known.then(|| name.to_owned())
    }

    /// Another agent, whose questions come to the desk of the call that hands it work.
    fn helper(&self, name: &str, desk: &Desk) -> Result<Arc<dyn Model>, Error> {
        let Some(agents) = &self.children.agents else {
            return failed("no other agents are configured");
        };
        let level = desk.level();
        let desk = Desk {
            tool: name.to_owned(),
            ..desk.clone()
        };
        agents.open(name, Arc::new(desk), level).map_err(Error::Failed)
    }

    fn mode_for(&self, task: &Task) -> Result<Mode, Error> {
        let Some(name) = task.mode.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(self.mode.clone());
        };
        self.modes.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.modes.iter().map(|mode| mode.name.as_str()).collect();
            Error::Failed(format!(
                "there is no mode `{name}`; the modes are: {}",
                names.join(", ")
            ))
        })
    }

    async fn open(
        &self,
        call: &CallId,
        task: &Task,
        helper: Option<Arc<dyn Model>>,
        desk: &Desk,
    ) -> Result<Opened, Error> {
        let lost = |error: session::Error| Error::Failed(error.to_string());
        match task.resume.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            None => {
                let new = New {
                    id: SessionId::new(),
                    root: self.root.clone(),
                    model: helper.as_ref().unwrap_or(self.worker_model(task.worker)).info().name(),
                    at: (self.clock)(),
                    parent: Some(Parent {
                        session: self.session,
                        call: call.clone(),
                    }),
                };
                let id = new.id;
                let lease = self.store.create(new).await.map_err(lost)?;
                drop(self.store.title(id, task.title.clone()));
                Ok(Opened {
                    id,
                    items: Vec::new(),
                    totals: Totals::default(),
                    waiting: Vec::new(),
                    lease,
                    helper,
                })
            }
            Some(prefix) => {
                let id = self.store.find(prefix).await.map_err(lost)?;
                if self.children.is_at_work(id) {
                    return failed(&format!("the subtask {id} is still at work"));
                }
                let session::Opened { loaded, lease } = self.store.open(id).await.map_err(lost)?;
                if loaded.meta.parent.as_ref().map(|parent| parent.session) != Some(self.session) {
                    return failed(&format!("the session {id} is not a subtask of this one"));
                }
                // Whoever began it goes on with it.
                let began = loaded.meta.model.strip_prefix(HELPER);
                let helper = began.map(|name| self.helper(name, desk)).transpose()?;
                Ok(Opened {
                    id,
                    helper,
                    items: loaded.items,
                    totals: loaded.meta.totals,
                    waiting: loaded.waiting,
                    lease,
                })
            }
        }
    }

    fn worker_model(&self, worker: Worker) -> &Arc<dyn Model> {
        match worker {
            Worker::Main => &self.model,
            Worker::Scout => self.small.as_ref().unwrap_or(&self.model),
        }
    }

    /// Starts the subtask as soon as there is room for it; what came of it arrives at the other end.
    fn start(self: &Arc<Self>, call: CallId, task: Task, mode: Mode, opened: Opened) -> oneshot::Receiver<Outcome> {
        let (told, outcome) = oneshot::channel();
        let (commands, command_queue) = mpsc::channel(COMMANDS);
        let (ended, ending) = watch::channel(());
        let (grandchildren, requests) = Children::new(self.children.delegation, self.children.agents.clone());
        let inbox = Arc::<Inbox>::default();
        let stop = Arc::new(Notify::new());
        let id = opened.id;
        self.children.add(
            id,
            Child {
                commands: commands.clone(),
                inbox: Arc::clone(&inbox),
                children: Arc::clone(&grandchildren),
                stop: Arc::clone(&stop),
                waiting: task.waiting,
                ended: ending,
            },
        );
        let family = Family {
            depth: self.depth + 1,
            rules: Some(self.rules.clone()),
            tally: Arc::clone(&self.tally),
            steps: match task.worker {
                Worker::Main => None,
                Worker::Scout => Some(SCOUT_STEPS),
            },
            inbox,
            children: grandchildren,
            requests,
        };
        let command = match task.prompt.trim() {
            "" => Command::Continue,
            _ => Command::Prompt {
                message: Message::user(task.prompt.clone()),
                delivery: Delivery::Queue,
            },
        };
        let Opened {
            items,
            totals,
            waiting,
            lease,
            helper,
            ..
        } = opened;
        let setup = Setup {
            waiting,
            ..self.setup(id, (items, totals), &task, mode, helper)
        };
        let delegate = Arc::clone(self);
        tokio::spawn(async move {
            let slot = tokio::select! {
                slot = Arc::clone(&delegate.children.slots).acquire_owned() => slot.ok(),
                () = stop.notified() => None,
            };
            if slot.is_some() {
                let (event_queue, events) = mpsc::channel(EVENTS);
                // The queue is empty yet.
                drop(commands.try_send(command));
                let mut actor = JoinSet::new();
                actor.spawn(actor::run(setup, family, command_queue, event_queue));
                let outcome = delegate.follow(id, &call, events, &commands, &stop).await;
                while actor.join_next().await.is_some() {}
                if let Some(outcome) = outcome {
                    // Nobody may be waiting any more.
                    drop(told.send(outcome));
                }
            }
            drop(lease);
            delegate.children.remove(id);
            drop(ended);
        });
        outcome
    }

    fn setup(
        &self,
        id: SessionId,
        (items, totals): (Vec<Arc<Item>>, Totals),
        task: &Task,
        mode: Mode,
        helper: Option<Arc<dyn Model>>,
    ) -> Setup {
        let (tools, kind) = match task.worker {
            // It has tools of its own.
            _ if helper.is_some() => (Registry::default(), prompt::Subtask::Work),
            Worker::Main => (self.tools_for_children(), prompt::Subtask::Work),
            Worker::Scout => (
                self.tools.only(|tool| tool.effect() == Effect::Reads),
                prompt::Subtask::Look,
            ),
        };
        let above = Arc::clone(&self.system);
        let system: System = Arc::new(move |scene| {
            let mut rendered = above(scene);
            rendered.blocks.push(prompt::subtask(kind));
            rendered
        });
        Setup {
            session: id,
            root: self.root.clone(),
            items,
            totals,
            waiting: Vec::new(),
            title: Some(task.title.clone()),
            compaction: match helper {
                // It makes room by itself.
                Some(_) => Compaction {
                    automatic: Automatic::Off,
                    ..self.compaction.clone()
                },
                None => self.compaction.clone(),
            },
            model: helper.unwrap_or_else(|| Arc::clone(self.worker_model(task.worker))),
            small: self.small.clone(),
            models: Arc::clone(&self.models),
            tools,
            // The session above shares its own.
            policy: policy::Policy::default(),
            keeper: None,
            mode,
            modes: self.modes.clone(),
            hooks: Arc::clone(&self.hooks),
            approvals: self.approvals,
            store: Arc::clone(&self.store),
            system,
            surroundings: Arc::clone(&self.surroundings),
            limits: Limits {
                time: None,
                ..self.limits
            },
            panels: Arc::new(prompt::panel::NoPanels),
            call: prompt::Call {
                output_schema: None,
                ..self.call.clone()
            },
            previews: self.previews,
            backoff: self.backoff,
            clock: self.clock,
            delegation: self.children.delegation,
            agents: self.children.agents.clone(),
            autonomy: crate::Autonomy::default(),
            notices: Notices::channel(),
        }
    }

    /// The tools of a subtask. One that may not hand work on is not told that it could.
    fn tools_for_children(&self) -> Registry {
        let deepest = self.depth + 1 >= self.children.delegation.depth;
        self.tools.only(move |tool| {
            let delegates = tool.effect() == Effect::Delegates;
            let not_theirs = NOT_FOR_CHILDREN.contains(&tool.spec().name.as_str());
            !(not_theirs || deepest && delegates)
        })
    }

    /// Tells the front end what happens in a subtask until it is over.
    async fn follow(
        &self,
        id: SessionId,
        call: &CallId,
        mut events: mpsc::Receiver<Event>,
        commands: &mpsc::Sender<Command>,
        stop: &Notify,
    ) -> Option<Outcome> {
        let (mut outcome, mut orders) = (None, VecDeque::new());
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => {
                        if self.pass_on(id, call, event, &mut outcome).await {
                            // What was said to it late is still answered before it ends.
                            orders.push_back(Command::Close);
                        }
                    }
                    None => return outcome,
                },
                () = stop.notified() => orders.extend([Command::Interrupt, Command::Close]),
                Ok(room) = commands.reserve(), if !orders.is_empty() => orders.pop_front().map_or((), |order| room.send(order)),
            }
        }
    }

    /// Passes an event on, and says whether the turn is over.
    async fn pass_on(&self, id: SessionId, call: &CallId, event: Event, outcome: &mut Option<Outcome>) -> bool {
        let finished = match &event {
            Event::Usage {
                request, usage, cost, ..
            } => {
                let counted = Counted {
                    request: *request,
                    usage: *usage,
                    cost: *cost,
                };
                // The session above is there as long as this is.
                drop(self.children.counted.send(counted));
                false
            }
            Event::TurnFinished { ending, answer } => {
                *outcome = Some(Outcome {
                    ending: ending.clone(),
                    answer: answer.clone(),
                });
                true
            }
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::Titled { .. }
            | Event::Subtask { .. } => false,
        };
        let told = Event::Subtask {
            session: id,
            call: call.clone(),
            event: Box::new(event),
        };
        // A front end that is gone needs no events.
        drop(self.events.send(told).await);
        finished
    }

    /// Tells the news when a subtask is done that nobody waits for.
    fn tell_later(&self, id: SessionId, title: String, outcome: oneshot::Receiver<Outcome>) {
        let notices = self.notices.clone();
        let expected = notices.announce();
        tokio::spawn(async move {
            let text = match outcome_report(id, outcome.await.ok()) {
                Ok(report) => format!(
                    "The subtask \"{title}\" (session {id}) is done. It reports:\n{}",
                    report.text
                ),
                Err(error) => error.to_string(),
            };
            let source = format!("subtask {title}");
            notices.tell(Notice { source, text });
            drop(expected);
        });
    }
}

/// Stops a subtask when nobody waits for it any more.
struct StopOnDrop(Arc<Children>, SessionId);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop(self.1);
    }
}

fn outcome_report(id: SessionId, outcome: Option<Outcome>) -> Result<Report, Error> {
    let Some(Outcome { ending, answer }) = outcome else {
        return failed(&format!("The subtask {id} was stopped before it began."));
    };
    let why = match ending {
        Ending::Completed | Ending::MaxTokens if answer.trim().is_empty() => "it said nothing at its end".to_string(),
        Ending::Completed => {
            return Ok(Report {
                session: id.to_string(),
                text: bounded(&answer),
            });
        }
        Ending::MaxTokens => "its last reply was cut off by the output limit".into(),
        Ending::Refused { detail } => format!(
            "the model declined{}",
            detail.map_or(String::new(), |it| format!(": {it}"))
        ),
        Ending::Interrupted => "it was stopped".into(),
        Ending::Limit(limit) => format!("a limit was reached ({limit:?})"),
        Ending::Loop { tool, times } => format!("it called `{tool}` {times} times with the same result"),
        Ending::Failed { error, .. } => error,
    };
    let said = match answer.trim() {
        "" => String::new(),
        words => format!("\nIt said last: {}", bounded(words)),
    };
    failed(&format!(
        "The subtask did not finish: {why}. To go on with it: new_task with resume \"{id}\".{said}"
    ))
}

/// What a subtask said when it was done, if it was.
fn last_words(items: &[Arc<Item>]) -> Option<String> {
    let spoken = items.iter().rev().find(|item| item.message().is_some())?;
    match &spoken.body {
        Body::Reply {
            message,
            end: End::Finished(model::Stop::End),
            ..
        } => Some(message.text()).filter(|text| !text.trim().is_empty()),
        Body::Reply { .. }
        | Body::Prompt { .. }
        | Body::Result { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Restored { .. }
        | Body::Review { .. } => None,
    }
}

/// The beginning and the end of a long report.
fn bounded(text: &str) -> String {
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

fn failed<T>(why: &str) -> Result<T, Error> {
    Err(Error::Failed(why.into()))
}
