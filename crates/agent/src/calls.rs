//! Runs tool calls: what only looks runs side by side, what changes something runs alone and in order.

use crate::desk::{Approved, Desk};
use crate::hooked;
use crate::inbox::Inbox;
use crate::state::{Started, State};
use futures::FutureExt as _;
use model::{Block, CallId, Outcome, Part};
use policy::{Action, Ruling};
use serde_json::Value;
use session::{Event, Happening, ItemId, ItemKind, Moment, Reaction};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::mpsc;
use tool::{Context, DynTool, Effect, Next, Output, Progress};

/// At most this many tools look around at the same time.
const READERS: usize = 8;
/// At most this many tools are named to a model that called one which is not there.
const MOST_NAMES: usize = 60;

/// The calls of one reply that have not started, in the model's order.
pub(crate) struct Queue {
    waiting: VecDeque<Call>,
    /// What the tools at work do: all of them the same.
    at_work: Effect,
    progress: mpsc::Sender<(CallId, String)>,
}

/// A call whose input is complete.
struct Call {
    id: CallId,
    /// The tool as the model named it.
    called: String,
    /// The tool that serves it.
    tool: String,
    input: Value,
    malformed: Option<String>,
    /// Whether it was made in the text of a reply.
    in_text: bool,
}

/// A call that has been served.
pub(crate) struct Finished {
    pub(crate) id: CallId,
    /// The tool as the model named it.
    pub(crate) called: String,
    /// The tool that served it.
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) input: Value,
    pub(crate) output: Output,
    pub(crate) outcome: Outcome,
    pub(crate) millis: u64,
    pub(crate) effect: Effect,
    /// The files and folders that it looked at or changed.
    pub(crate) touched: Vec<PathBuf>,
}

impl Queue {
    pub(crate) fn new(progress: mpsc::Sender<(CallId, String)>) -> Self {
        Queue {
            waiting: VecDeque::new(),
            at_work: Effect::Reads,
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
            replay,
            ..
        } = part
        {
            self.waiting.push_back(Call {
                id,
                called: name.clone(),
                tool: name,
                input,
                malformed,
                in_text: replay.is_some_and(|replay| replay.wire == prompt::Protocol::Xml.name()),
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Starts what may start now.
    ///
    /// A call that changes something waits for all calls before it, and all calls after it wait for it, so that every tool sees
    /// the world as the model meant it to be. Calls that hand work on may run beside each other, since the model knows that
    /// it makes them together.
    pub(crate) async fn start(&mut self, state: &mut State, inbox: &Arc<Inbox>) {
        while let Some(call) = self.waiting.front() {
            let serving = state.tools.serving(&call.tool, &call.input);
            let effect = serving.as_ref().map_or(Effect::Reads, |(tool, _)| tool.effect());
            let beside = match effect {
                Effect::Reads | Effect::Delegates => self.at_work == effect && state.running.len() < READERS,
                Effect::Changes => false,
            };
            let may_start = state.running.is_empty() || beside;
            if !may_start {
                return;
            }
            let Some(mut call) = self.waiting.pop_front() else {
                return;
            };
            self.at_work = effect;
            let tool = serving.map(|(tool, input)| {
                if let Some(input) = input {
                    call.tool = tool.spec().name.clone();
                    call.input = input;
                }
                tool
            });
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
        // Rules speak of a tool by its own name, whatever the model calls it.
        let name = tool.as_ref().map_or(&call.tool, |tool| &tool.spec().name);
        let mut desk = state.desk(inbox, Some(call.id.clone()), name);
        let course = Arc::clone(&desk.course);
        state.started.insert(
            call.id.clone(),
            Started {
                item,
                title: title.clone(),
                course: Arc::clone(&course),
            },
        );
        let kind = ItemKind::Result {
            call: call.id.clone(),
            tool: call.tool.clone(),
            title: title.clone(),
        };
        state.tell(Event::ItemStarted { id: item, kind }).await;
        desk.delegate = (effect == Effect::Delegates).then(|| Arc::new(state.delegate()));
        let desk = Arc::new(desk);
        let context = Context {
            call: call.id.clone(),
            session: state.frame.affinity.clone().unwrap_or_default(),
            view: state.view,
            level: desk.level(),
            features: state.model.info().features,
            progress: Progress::new(self.progress.clone()),
            todos: state.tool_todos(),
            spending: state.spending.clone(),
            changes: state.reported.sink(),
            desk: Arc::clone(&desk) as Arc<dyn tool::Desk>,
        };
        let names = state.tools.names().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
        state.running.spawn(async move {
            let begun = Instant::now();
            let (id, name, input) = (call.id.clone(), call.tool.clone(), call.input.clone());
            let called = call.called.clone();
            // A panic in a tool ends that tool, not the session.
            let served = AssertUnwindSafe(serve(&desk, call, tool, names, context))
                .catch_unwind()
                .await;
            let mut touched = Vec::new();
            let (output, outcome) = match served {
                Ok(Ok((output, actions))) => {
                    touched = paths(actions);
                    (output, Outcome::Ok)
                }
                Ok(Err(why)) => (Output::text(why), Outcome::Error),
                Err(_) => (
                    Output::text(format!("`{name}` crashed; this is a defect in hew.")),
                    Outcome::Error,
                ),
            };
            // What the person takes to answer is no time that the tool took.
            let millis = (begun.elapsed().as_millis() as u64).saturating_sub(course.waited.load(Ordering::Relaxed));
            Finished {
                id,
                called,
                tool: name,
                title,
                input,
                output,
                outcome,
                millis,
                effect,
                touched,
            }
        });
    }
}

/// Parse, decide, ask, run: the one way that every call goes. The error is a sentence for the model.
async fn serve(
    desk: &Desk,
    call: Call,
    tool: Option<Arc<dyn DynTool>>,
    names: String,
    context: Context,
) -> Result<(Output, Vec<Action>), String> {
    if call.malformed.is_some() && call.in_text {
        return Err("This call was cut off before its end. Nothing was done. Write the whole call again; if it was cut off for its length, make several smaller calls of it.".into());
    }
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
            "There is no tool named `{}`. The tools are: {names}.",
            call.tool
        ));
    };
    let Approved { input, notes, actions } = desk.approve(tool.as_ref(), call.input).await?;
    if tool.effect() != Effect::Reads {
        // What changes the world must be on record before it happens, so that a crash never makes it happen twice.
        desk.store
            .flush()
            .await
            .map_err(|error| format!("Not done, because it could not be recorded: {error}."))?;
    }
    // Paths may lead elsewhere by now: only what was decided about is done.
    if tool.actions(&input).map_err(|error| error.to_string())? != actions {
        return Err("Not done: what this call would do has changed since it was allowed. Look again, then repeat it if it is still right.".into());
    }
    let after = desk.hooked.hears(Moment::PostToolUse).then(|| input.clone());
    desk.course.begun.store(true, Ordering::Relaxed);
    let served = tool.run(input, context).await.map_err(|error| error.to_string());
    let said = match after {
        Some(input) => listen(desk, input, &served).await,
        None => Vec::new(),
    };
    match served {
        Ok(mut output) => {
            output.content.splice(0..0, notes.into_iter().map(Block::text));
            output.content.extend(said.into_iter().map(Block::text));
            Ok((output, actions))
        }
        Err(why) => Err([vec![why], said].concat().join("\n")),
    }
}

/// As many of the paths that one call touched as rules are looked up for.
const MOST_TOUCHED: usize = 50;

/// The files and folders that actions are about.
pub(crate) fn paths(actions: Vec<Action>) -> Vec<PathBuf> {
    let paths = actions.into_iter().filter_map(|action| match action {
        Action::Read { path, .. } | Action::Write { path, .. } => Some(path),
        Action::Run { .. }
        | Action::Escalate { .. }
        | Action::Fetch { .. }
        | Action::Mcp { .. }
        | Action::SwitchMode { .. }
        | Action::Subtask { .. } => None,
    });
    paths.take(MOST_TOUCHED).collect()
}

/// What hooks say to a call that has been served, for the model.
async fn listen(desk: &Desk, input: Value, served: &Result<Output, String>) -> Vec<String> {
    let (output, ok) = match served {
        Ok(output) => (hooked::text_of(&output.content), true),
        Err(why) => (why.clone(), false),
    };
    let Some(call) = desk.call.clone() else {
        return Vec::new();
    };
    let happening = Happening::PostToolUse {
        call,
        tool: desk.tool.clone(),
        input,
        output,
        ok,
    };
    let Reaction { ruling, context, .. } = desk.hooked.call(happening).await;
    let objection = match ruling {
        Ruling::Deny(why) | Ruling::Ask(why) => Some(format!("A hook objects to this, though it is done: {why}")),
        Ruling::Allow | Ruling::Silent => None,
    };
    objection.into_iter().chain(context).collect()
}

/// What the model is told when a call was stopped.
pub(crate) fn stopped(id: CallId, tool: String, title: String, why: &str) -> Finished {
    Finished {
        id,
        called: tool.clone(),
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
        touched: Vec::new(),
    }
}
