//! Runs tool calls: read-only calls in parallel, calls with side effects alone and in order.

use super::approval::{ApprovedCall, Approver};
use super::call_failure::CallFailure;
use super::loop_guard::{LoopGuard, RepeatVerdict};
use crate::changes::store_change;
use crate::conversation::PendingEffects;
use crate::hooks;
use crate::measurement::count_changes;
use crate::session::{Session, StartedCall};
use futures::FutureExt as _;
use model::{Block, CallId, Message, Part, Role, ToolOutcome};
use policy::{Action, Ruling};
use serde_json::{Value, json};
use session::{
    Body, CallEnd, CommandExit, Error, Event, HookEvent, HookKind, HookOutcome, ItemDelta, ItemId, ItemStart,
};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tool::{CallContext, CallInput, DynTool, NextStep, Output, ProgressSender, ToolEffect, ToolKind};

/// The maximum number of calls in parallel.
const MAX_PARALLEL_CALLS: usize = 8;
/// The maximum number of tool names listed to a model that called an unknown tool.
const MAX_TOOL_NAMES: usize = 60;
/// The maximum number of paths per call to look up rules for.
const MAX_TOUCHED_PATHS: usize = 50;
/// The maximum bytes of a failed call's output that are repeated when the end of a turn is refused.
const MAX_FAILURE_BYTES: usize = 600;
/// Capacity of the channel for live output; more is dropped.
const PROGRESS_CAPACITY: usize = 64;

/// The calls of one reply that have not been started, in the order of the model.
pub(crate) struct CallQueue {
    waiting: VecDeque<PendingCall>,
    /// The effect of the running calls; they all have the same.
    running_effect: ToolEffect,
    progress: mpsc::Sender<(CallId, String)>,
    output: mpsc::Receiver<(CallId, String)>,
}

/// A call with complete input.
struct PendingCall {
    id: CallId,
    /// The tool name that the model used.
    called: String,
    /// The tool that runs.
    tool: String,
    input: CallInput,
    malformed: Option<String>,
    /// Whether the call was written in the text of the reply.
    in_text: bool,
}

/// A finished call.
pub(crate) struct FinishedCall {
    pub(crate) id: CallId,
    /// The tool name that the model used.
    pub(crate) called: String,
    /// The tool that ran.
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) input: Value,
    pub(crate) output: Output,
    pub(crate) outcome: ToolOutcome,
    pub(crate) millis: u64,
    pub(crate) effect: ToolEffect,
    /// The paths that the call read or changed.
    pub(crate) touched: Vec<PathBuf>,
    /// Whether the tool edits files.
    pub(crate) is_edit: bool,
    /// Whether the call was stopped.
    pub(crate) is_stopped: bool,
}

/// How the calls of a step affect the turn.
#[derive(Default)]
pub(crate) struct CallResults {
    /// Whether a tool ended the turn.
    pub(crate) ends_turn: bool,
    /// A call that was repeated too often: the tool and the number of calls.
    pub(crate) repeated: Option<(String, u32)>,
    /// The failed calls so far, one line each.
    failures: Vec<String>,
}

impl CallResults {
    /// Whether no call of the step failed.
    pub(super) fn all_succeeded(&self) -> bool {
        self.failures.is_empty()
    }
}

impl CallQueue {
    pub(super) fn new() -> Self {
        let (progress, output) = mpsc::channel(PROGRESS_CAPACITY);
        CallQueue {
            waiting: VecDeque::new(),
            running_effect: ToolEffect::ReadOnly,
            progress,
            output,
        }
    }

    /// Queues a complete call; other parts are ignored.
    pub(super) fn push(&mut self, part: Part) {
        if let Part::ToolCall {
            id,
            name,
            input,
            malformed,
            replay,
            ..
        } = part
        {
            // A patch is also accepted as plain text, as in a custom tool.
            let patch = malformed.as_deref().and_then(plain_patch);
            let (input, malformed) = match patch {
                Some(patch) => (json!({"input": patch}), None),
                None => (input, malformed),
            };
            self.waiting.push_back(PendingCall {
                id,
                called: name.clone(),
                tool: name,
                input: input.into(),
                malformed,
                in_text: replay.is_some_and(|replay| replay.wire == prompt::CallProtocol::Xml.name()),
            });
        }
    }

    /// Runs the calls to their end and appends their results.
    pub(super) async fn run(mut self, session: &mut Session, guard: &mut LoopGuard) -> Result<CallResults, Error> {
        let mut results = CallResults::default();
        loop {
            while let Some(call) = session.turn.finished.pop_front() {
                append_call_result(session, call, guard, &mut results).await?;
            }
            self.start(session).await;
            if session.turn.running.is_empty() && self.waiting.is_empty() {
                return Ok(results);
            }
            tokio::select! {
                Some(call) = session.turn.running.join_next() => self.finish(session, call).await,
                Some((call, text)) = self.output.recv() => session.send_output(call, text).await,
            }
        }
    }

    /// The next piece of live output.
    pub(super) async fn next_output(&mut self) -> Option<(CallId, String)> {
        self.output.recv().await
    }

    /// Takes in a finished call, after its remaining live output was sent. A stopped call has no result; `recovery` adds one.
    pub(super) async fn finish(&mut self, session: &mut Session, call: Result<FinishedCall, JoinError>) {
        while let Ok((call, text)) = self.output.try_recv() {
            session.send_output(call, text).await;
        }
        session.turn.finished.extend(call.ok());
    }

    /// Starts the calls that can start now.
    ///
    /// A call with side effects waits for all calls before it, and all calls after it wait for it, so that every tool sees
    /// the state that the model expects. Delegating calls run in parallel, since the model requests them together.
    pub(super) async fn start(&mut self, session: &mut Session) {
        while let Some(call) = self.waiting.front() {
            let tools = &session.env.config.tools;
            let resolved = tools.resolve_call_when_started(&call.tool, &call.input).await;
            let effect = resolved
                .as_ref()
                .map_or(ToolEffect::ReadOnly, |(tool, _)| tool.effect());
            let running = session.turn.running.len();
            let is_parallel = match effect {
                ToolEffect::ReadOnly | ToolEffect::Delegating => {
                    self.running_effect == effect && running < MAX_PARALLEL_CALLS
                }
                ToolEffect::Mutating => false,
            };
            if running > 0 && !is_parallel {
                return;
            }
            let Some(mut call) = self.waiting.pop_front() else {
                return;
            };
            self.running_effect = effect;
            let tool = resolved.map(|(tool, input)| {
                call.tool = tool.spec().name.clone();
                if let Some(input) = input {
                    call.input = input.into();
                }
                tool
            });
            self.spawn(call, tool, effect, session).await;
        }
    }

    async fn spawn(
        &self,
        call: PendingCall,
        tool: Option<Arc<dyn DynTool>>,
        effect: ToolEffect,
        session: &mut Session,
    ) {
        let item = ItemId::new();
        let title = call_title(tool.as_ref(), &call.input);
        // Rules use the tool's own name, not the name that the model used.
        let name = tool.as_ref().map_or(&call.tool, |tool| &tool.spec().name);
        let mut approver = session.approver(Some(call.id.clone()), name);
        let progress = Arc::clone(&approver.progress);
        let started = StartedCall {
            item,
            progress: Arc::clone(&progress),
        };
        session.turn.started.insert(call.id.clone(), started);
        let is_edit = tool.as_ref().is_some_and(|tool| tool.facts().kind == ToolKind::Edit);
        let kind = ItemStart::Result {
            call: call.id.clone(),
            tool: call.tool.clone(),
            title: title.clone(),
        };
        session.env.events.send(Event::ItemStarted { id: item, kind }).await;
        approver.subtasks = (effect == ToolEffect::Delegating).then(|| Arc::new(session.subtask_spawner()));
        let approver = Arc::new(approver);
        let context = self.context(&call, &approver, session);
        let names: Vec<_> = session.env.config.tools.names().take(MAX_TOOL_NAMES).collect();
        let hint = session.env.config.tools.hint_for(&call.tool);
        let names = hint.unwrap_or_else(|| format!("The available tools are: {}.", names.join(", ")));
        session.turn.running.spawn(async move {
            let begun = Instant::now();
            let (id, name, input) = (call.id.clone(), call.tool.clone(), Value::clone(&call.input));
            let called = call.called.clone();
            // A panic in a tool ends that tool, not the session.
            let result = AssertUnwindSafe(execute(&approver, call, tool, names, context))
                .catch_unwind()
                .await;
            let mut touched = Vec::new();
            let (output, outcome) = match result {
                Ok(Ok((output, actions))) => {
                    touched = touched_paths(actions);
                    (output, ToolOutcome::Ok)
                }
                Ok(Err(failure)) => (Output::text(failure.to_string()), ToolOutcome::Error),
                Err(_) => (
                    Output::text(format!("`{name}` crashed; this is a bug in hew.")),
                    ToolOutcome::Error,
                ),
            };
            // The time that the user takes to answer does not count.
            let waited = progress.waited.load(Ordering::Relaxed);
            FinishedCall {
                id,
                called,
                tool: name,
                title,
                input,
                output,
                outcome,
                millis: (begun.elapsed().as_millis() as u64).saturating_sub(waited),
                effect,
                touched,
                is_edit,
                is_stopped: false,
            }
        });
    }

    fn context(&self, call: &PendingCall, approver: &Arc<Approver>, session: &Session) -> CallContext {
        CallContext {
            call: call.id.clone(),
            session: session.turn.frame.affinity.clone().unwrap_or_default(),
            view: session.conversation.view,
            level: session.env.policy.level(),
            features: session.turn.model.info().features,
            progress: ProgressSender::new(self.progress.clone()),
            request: session.turn.request.clone(),
            todos: session.conversation.todos.as_slice().into(),
            usage: session.env.usage.clone(),
            changes: session.env.changes.clone(),
            host: Arc::clone(approver) as Arc<dyn tool::ToolHost>,
        }
    }
}

/// Validates, approves and runs a call.
async fn execute(
    approver: &Approver,
    call: PendingCall,
    tool: Option<Arc<dyn DynTool>>,
    names: String,
    context: CallContext,
) -> Result<(Output, Vec<Action>), CallFailure> {
    if let Some(raw) = &call.malformed {
        approver.progress.set_issue(CallEnd::InvalidInput);
        return Err(CallFailure::Malformed(malformed_message(raw, call.in_text)));
    }
    let Some(tool) = tool else {
        approver.progress.set_issue(CallEnd::UnknownTool);
        return Err(CallFailure::UnknownTool {
            tool: call.tool,
            available: names,
        });
    };
    let ApprovedCall { input, notes, actions } = approver.approve(tool.as_ref(), call.input).await?;
    if tool.effect() != ToolEffect::ReadOnly {
        // The call must be durable before it has an effect, so that a crash never causes it to run twice.
        let stored = approver.env.config.store.flush().await;
        stored.map_err(CallFailure::NotStored)?;
    }
    // Paths may have changed since: only the approved actions are performed.
    if tool.actions(&input).map_err(CallFailure::InvalidInput)? != actions {
        return Err(CallFailure::ActionsChanged);
    }
    let hook_input = approver
        .env
        .has_hooks(HookKind::PostToolUse)
        .then(|| Value::clone(&input));
    approver.progress.begun.store(true, Ordering::Relaxed);
    let result = tool.run(input, context).await;
    let added = match hook_input {
        Some(input) => run_post_hooks(approver, input, &result).await,
        None => Vec::new(),
    };
    match result {
        Ok(mut output) => {
            output.content.splice(0..0, notes.into_iter().map(Block::text));
            output.content.extend(added.into_iter().map(Block::text));
            Ok((output, actions))
        }
        Err(error) => Err(CallFailure::Tool { error, notes: added }),
    }
}

/// The patch, if the whole input of a call is one, also as a JSON string.
fn plain_patch(raw: &str) -> Option<String> {
    let text = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
    (text.trim_start().starts_with("*** Begin Patch") && text.contains("*** End Patch")).then_some(text)
}

fn malformed_message(raw: &str, in_text: bool) -> String {
    if raw.ends_with(prompt::AMBIGUOUS_CALL) {
        return "This call can be read in several ways, because the text of a parameter contains closing tags of the call. Nothing was done. Send only one call, with the parameter that contains tags last and `path` first; or make the change in parts, so that no part contains the closing tag of its own parameter.".into();
    }
    if in_text {
        return "This call was cut off before its end. Nothing was done. Write the whole call again; if it was too long, split it into smaller calls.".into();
    }
    let why = model::json::parse_object(raw).err();
    let why = why.map(|error| error.to_string()).unwrap_or_default();
    format!(
        "The input of this call is not valid JSON: {why}. Nothing was done. Send the whole call again; if it was too long, split it into smaller calls."
    )
}

/// The paths that actions read or write.
pub(crate) fn touched_paths(actions: Vec<Action>) -> Vec<PathBuf> {
    let paths = actions.into_iter().filter_map(|action| match action {
        Action::Read { path, .. } | Action::Write { path, .. } => Some(path),
        Action::Run { .. }
        | Action::Escalate { .. }
        | Action::Fetch { .. }
        | Action::Mcp { .. }
        | Action::SwitchMode { .. }
        | Action::Subtask { .. } => None,
    });
    paths.take(MAX_TOUCHED_PATHS).collect()
}

/// Runs the post-tool hooks and returns their texts for the model.
async fn run_post_hooks(approver: &Approver, input: Value, result: &Result<Output, tool::Error>) -> Vec<String> {
    let (output, ok) = match result {
        Ok(output) => (hooks::output_text(&output.content), true),
        Err(error) => (error.to_string(), false),
    };
    let Some(call) = approver.call.clone() else {
        return Vec::new();
    };
    let event = HookEvent::PostToolUse {
        call,
        tool: approver.tool.clone(),
        input,
        output,
        ok,
    };
    let HookOutcome { ruling, context, .. } = approver.env.run_hooks(event).await;
    let objection = match ruling {
        Ruling::Deny(why) | Ruling::Ask(why) => Some(format!("A hook rejects this call, which has already run: {why}")),
        Ruling::Allow | Ruling::Silent => None,
    };
    objection.into_iter().chain(context).collect()
}

/// The title of a call. A panic in a tool's title must not end the session.
pub(crate) fn call_title(tool: Option<&Arc<dyn DynTool>>, input: &CallInput) -> String {
    let title = AssertUnwindSafe(|| tool.map(|tool| tool.title(input)));
    catch_unwind(title).ok().flatten().unwrap_or_default()
}

/// The result of a call that was stopped.
pub(crate) fn stopped_call(id: CallId, tool: String, title: String, why: &str) -> FinishedCall {
    FinishedCall {
        id,
        called: tool.clone(),
        tool,
        title,
        input: Value::Null,
        output: Output {
            content: vec![Block::text(why)],
            next: NextStep::Continue,
            ..Output::default()
        },
        outcome: ToolOutcome::Error,
        millis: 0,
        effect: ToolEffect::ReadOnly,
        touched: Vec::new(),
        is_edit: false,
        is_stopped: true,
    }
}

async fn append_call_result(
    session: &mut Session,
    mut call: FinishedCall,
    guard: &mut LoopGuard,
    results: &mut CallResults,
) -> Result<(), Error> {
    match guard.observe_call(&call) {
        RepeatVerdict::Fine => {}
        RepeatVerdict::Warn(text) => call.output.content.push(Block::text(text)),
        RepeatVerdict::Stop(times) => results.repeated = Some((call.tool.clone(), times)),
    }
    match call.effect {
        ToolEffect::Mutating | ToolEffect::Delegating => session.conversation.panels.mark_stale(),
        ToolEffect::ReadOnly => {}
    }
    if call.output.next == NextStep::EndTurn {
        refuse_early_end(session, &mut call, results);
    } else if is_failure(&call) {
        results.failures.push(failure_line(&call));
    }
    results.ends_turn |= call.output.next == NextStep::EndTurn;
    let notes = session.notes_after(std::mem::take(&mut call.touched)).await;
    call.output.content.extend(notes.into_iter().map(Block::text));
    session.append_result(call).await
}

/// Turns the end of a turn into an error if the model wrote it without knowing the result of another call of the same
/// reply: one that failed, or one that follows.
fn refuse_early_end(session: &Session, call: &mut FinishedCall, results: &CallResults) {
    let mut items = session.conversation.items.iter().rev();
    let calls = items.find_map(|item| match &item.body {
        Body::Reply { message, .. } => Some(message.parts.iter().filter_map(call_id)),
        _ => None,
    });
    let later = calls
        .into_iter()
        .flatten()
        .skip_while(|id| **id != call.id)
        .skip(1)
        .count();
    let name = &call.called;
    let why = if !results.failures.is_empty() {
        let failures = results.failures.join("\n");
        format!("calls of the same reply failed:\n{failures}\nDeal with the failure, then call `{name}` again.")
    } else if later > 0 {
        format!("other calls follow it in the same reply. Check their results, then call `{name}` again, alone.")
    } else {
        return;
    };
    call.output = Output::text(format!("The turn was not ended, because {why}"));
    call.outcome = ToolOutcome::Error;
}

fn call_id(part: &Part) -> Option<&CallId> {
    match part {
        Part::ToolCall { id, .. } => Some(id),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    }
}

fn is_failure(call: &FinishedCall) -> bool {
    let exit = match call.output.exit {
        Some(CommandExit::Code(code)) => code != 0,
        Some(CommandExit::Signal | CommandExit::TimedOut) => true,
        Some(CommandExit::Unknown) | None => false,
    };
    exit || call.outcome == ToolOutcome::Error
}

/// The failed call and the end of its output, where errors usually are.
fn failure_line(call: &FinishedCall) -> String {
    let text = text_of(&call.output);
    let text = text.trim();
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_FAILURE_BYTES))..];
    format!(
        "- {} {}: {}",
        call.called,
        call.title.lines().next().unwrap_or_default(),
        end
    )
}

impl Session {
    /// Sends live output of a call to the front end.
    pub(super) async fn send_output(&self, call: CallId, text: String) {
        if let Some(started) = self.turn.started.get(&call) {
            let (id, delta) = (started.item, ItemDelta::Output(text));
            self.env.events.send(Event::ItemDelta { id, delta }).await;
        }
    }

    /// Appends the result of a call, with its changed files, and applies its effects.
    pub(crate) async fn append_result(&mut self, call: FinishedCall) -> Result<(), Error> {
        let started = self.turn.started.remove(&call.id);
        let id = started.as_ref().map(|started| started.item).unwrap_or_default();
        let mut record = self.measure_call(&call, started.as_ref(), id);
        if call.output.next == NextStep::EndTurn {
            self.turn.final_answer = Some(text_of(&call.output));
        }
        let message = Arc::new(result_message(&call));
        self.conversation.effects = PendingEffects {
            todos: call.output.todos,
            mode: match call.output.next {
                NextStep::SwitchMode(name) => Some(name),
                NextStep::Continue | NextStep::EndTurn => None,
            },
        };
        let mut changes = self.env.changes.take(&call.id);
        changes.extend(call.output.changes);
        count_changes(&mut record, &changes);
        let changes = changes
            .into_iter()
            .map(|change| store_change(self.env.config.store.as_ref(), change));
        let body = Body::Result {
            message,
            call: call.id,
            tool: call.tool,
            title: call.title,
            summary: call.output.summary,
            exit: call.output.exit,
            millis: call.millis,
            changes: changes.collect(),
        };
        let mut stored = self.conversation.append(&self.env, id, body).await;
        if stored.is_ok() {
            self.env.config.store.record_call(self.env.session, record);
            stored = self.apply_effects().await;
        }
        self.record_usage().await;
        stored
    }

    /// Applies the pending effects of the newest result.
    pub(crate) async fn apply_effects(&mut self) -> Result<(), Error> {
        let conversation = &mut self.conversation;
        if let Some(list) = conversation.effects.todos.take() {
            conversation.todos = list.clone();
            conversation
                .append(&self.env, ItemId::new(), Body::Todos { list })
                .await?;
        }
        if let Some(name) = self.conversation.effects.mode.clone() {
            self.switch_mode(&name).await?;
            self.conversation.effects.mode = None;
        }
        Ok(())
    }
}

/// The message of a result.
fn result_message(call: &FinishedCall) -> Message {
    let part = Part::ToolResult {
        id: call.id.clone(),
        name: call.called.clone(),
        content: call.output.content.clone(),
        outcome: call.outcome,
    };
    Message {
        role: Role::User,
        parts: vec![part],
    }
}

fn text_of(output: &Output) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
