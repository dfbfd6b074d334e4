//! Runs tool calls: what only looks runs side by side, what changes something runs alone and in order.

use crate::Approvals;
use crate::inbox::Inbox;
use crate::state::{Started, State};
use futures::FutureExt as _;
use model::{Block, CallId, Features, Outcome, Part};
use policy::{Action, Decision, Mode, Policy};
use serde_json::Value;
use session::{Answer, Event, ItemId, ItemKind, Question, QuestionId, Store};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tool::{Context, DynTool, Effect, Next, Output, Progress, Spending};

/// At most this many tools look around at the same time.
const READERS: usize = 8;

/// The calls of one reply that have not started, in the model's order.
pub(crate) struct Queue {
    waiting: VecDeque<Call>,
    /// Whether a tool that changes something is at work.
    changing: bool,
    progress: mpsc::Sender<(CallId, String)>,
}

/// A call whose input is complete.
struct Call {
    id: CallId,
    tool: String,
    input: Value,
    malformed: Option<String>,
}

/// A call that has been served.
pub(crate) struct Finished {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) input: Value,
    pub(crate) output: Output,
    pub(crate) outcome: Outcome,
    pub(crate) millis: u64,
    pub(crate) effect: Effect,
}

impl Queue {
    pub(crate) fn new(progress: mpsc::Sender<(CallId, String)>) -> Self {
        Queue {
            waiting: VecDeque::new(),
            changing: false,
            progress,
        }
    }

    /// Takes in a call whose input is complete; other parts are none of its business.
    pub(crate) fn push(&mut self, part: Part) {
        if let Part::ToolCall {
            id,
            name,
            input,
            malformed,
            ..
        } = part
        {
            self.waiting.push_back(Call {
                id,
                tool: name,
                input,
                malformed,
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes note that a call has been served.
    pub(crate) fn done(&mut self, finished: &Finished) {
        if finished.effect == Effect::Changes {
            self.changing = false;
        }
    }

    /// Starts what may start now.
    ///
    /// A call that changes something waits for all calls before it, and all calls after it wait for it, so that every tool sees
    /// the world as the model meant it to be.
    pub(crate) async fn start(&mut self, state: &mut State, inbox: &Arc<Inbox>) {
        if state.running.is_empty() {
            self.changing = false;
        }
        while let Some(call) = self.waiting.front() {
            let tool = state.tools.get(&call.tool).cloned();
            let effect = tool.as_ref().map_or(Effect::Reads, |tool| tool.effect());
            let may_start = match effect {
                Effect::Reads => !self.changing && state.running.len() < READERS,
                Effect::Changes => state.running.is_empty(),
            };
            if !may_start {
                return;
            }
            let Some(call) = self.waiting.pop_front() else { return };
            self.changing = effect == Effect::Changes;
            self.spawn(call, tool, effect, state, inbox).await;
        }
    }

    async fn spawn(
        &self,
        call: Call,
        tool: Option<Arc<dyn DynTool>>,
        effect: Effect,
        state: &mut State,
        inbox: &Arc<Inbox>,
    ) {
        let item = ItemId::new();
        // What a tool says about itself must not end the session either.
        let say = AssertUnwindSafe(|| tool.as_ref().map(|tool| tool.title(&call.input)));
        let title = catch_unwind(say).ok().flatten().unwrap_or_default();
        state.started.insert(
            call.id.clone(),
            Started {
                item,
                title: title.clone(),
            },
        );
        let kind = ItemKind::Result {
            call: call.id.clone(),
            tool: call.tool.clone(),
            title: title.clone(),
        };
        state.tell(Event::ItemStarted { id: item, kind }).await;
        let desk = Desk {
            policy: state.policy,
            mode: state.mode.clone(),
            approvals: state.approvals,
            store: Arc::clone(&state.store),
            events: state.events.clone(),
            inbox: Arc::clone(inbox),
            features: state.model.info().features,
            progress: Progress::new(self.progress.clone()),
            spending: state.spending.clone(),
            names: state.tools.names().collect::<Vec<_>>().join(", "),
        };
        state.running.spawn(async move {
            let begun = Instant::now();
            let (id, name, input) = (call.id.clone(), call.tool.clone(), call.input.clone());
            // A panic in a tool ends that tool, not the session.
            let served = AssertUnwindSafe(desk.serve(call, tool, effect)).catch_unwind().await;
            let (output, outcome) = match served {
                Ok(Ok(output)) => (output, Outcome::Ok),
                Ok(Err(why)) => (Output::text(why), Outcome::Error),
                Err(_) => (
                    Output::text(format!("`{name}` crashed; this is a defect in hew.")),
                    Outcome::Error,
                ),
            };
            let millis = begun.elapsed().as_millis() as u64;
            Finished {
                id,
                tool: name,
                title,
                input,
                output,
                outcome,
                millis,
                effect,
            }
        });
    }
}

/// What serving a call needs.
struct Desk {
    policy: Policy,
    mode: Mode,
    approvals: Approvals,
    store: Arc<dyn Store>,
    events: mpsc::Sender<Event>,
    inbox: Arc<Inbox>,
    features: Features,
    progress: Progress,
    spending: Spending,
    names: String,
}

impl Desk {
    /// Parse, decide, ask, run: the one way that every call goes. The error is a sentence for the model.
    async fn serve(self, call: Call, tool: Option<Arc<dyn DynTool>>, effect: Effect) -> Result<Output, String> {
        if let Some(raw) = &call.malformed {
            let why = model::json::object(raw)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            return Err(format!(
                "The input of this call is not valid JSON: {why}. Nothing was done. Send the whole call again; if it was cut off for its length, make several smaller calls of it."
            ));
        }
        let Some(tool) = tool else {
            return Err(format!(
                "There is no tool named `{}`. The tools are: {}.",
                call.tool, self.names
            ));
        };
        let actions = tool.actions(&call.input).map_err(|error| error.to_string())?;
        for action in actions {
            self.permit(&call, action).await?;
        }
        if effect == Effect::Changes {
            // What changes the world must be on record before it happens, so that a crash never makes it happen twice.
            self.store
                .flush()
                .await
                .map_err(|error| format!("Not done, because it could not be recorded: {error}."))?;
        }
        let context = Context {
            call: call.id,
            features: self.features,
            progress: self.progress,
            spending: self.spending,
        };
        tool.run(call.input, context).await.map_err(|error| error.to_string())
    }

    async fn permit(&self, call: &Call, action: Action) -> Result<(), String> {
        match self.policy.decide(&self.mode, &action) {
            Decision::Allow => Ok(()),
            Decision::Deny { why } => Err(format!("Not allowed: {why}.")),
            Decision::Ask { why } => match self.approvals {
                Approvals::Deny => Err(format!("Not allowed: {why}, and nobody is there to be asked.")),
                Approvals::Ask => self.ask(call, action, why).await,
            },
        }
    }

    async fn ask(&self, call: &Call, action: Action, why: String) -> Result<(), String> {
        let id = QuestionId::new();
        let answer = self.inbox.listen(id);
        let question = Question {
            id,
            call: call.id.clone(),
            tool: call.tool.clone(),
            action,
            why,
        };
        drop(self.events.send(Event::Asked { question }).await);
        let answer = answer.await;
        drop(self.events.send(Event::Answered { question: id }).await);
        match answer {
            Ok(Answer::Approve) => Ok(()),
            Ok(Answer::Reject { reason: Some(reason) }) => Err(format!("The person said no: {reason}")),
            Ok(Answer::Reject { reason: None }) => Err("The person said no.".into()),
            Err(_) => Err("Nobody answered the question whether this is allowed.".into()),
        }
    }
}

/// What the model is told when a call was stopped.
pub(crate) fn stopped(id: CallId, tool: String, title: String, why: &str) -> Finished {
    Finished {
        id,
        tool,
        title,
        input: Value::Null,
        output: Output {
            content: vec![Block::text(why)],
            next: Next::GoOn,
            ..Output::default()
        },
        outcome: Outcome::Error,
        millis: 0,
        effect: Effect::Reads,
    }
}
