//! The fixture: a scripted model, small tools, and a front end that collects events.

use crate::memory_store::Memory;
use agent::{Approvals, Previews, SessionConfig, SessionHandle, SessionSetup, TurnLimits};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use model::*;
use policy::{Action, Mode, ModeSet, PathArea, Policy};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{
    Command, Delivery, Event, Item, PreviewState, PreviewUpdate, SessionId, Store as _, TextOp, Time, Totals, TurnEnd,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::{CallContext, CallPreview, NextStep, Output, Registry, Tool, ToolEffect, UsageReport, UsageReporter};

/// One answer of the scripted model.
pub(crate) enum Answer {
    /// The stream, chunk by chunk.
    Chunks(Vec<Chunk>),
    /// The stream, which then fails.
    Broken(Vec<Chunk>, Error),
    /// The stream, which then stays silent.
    Hanging(Vec<Chunk>),
    /// No stream at all.
    Fails(Error),
}

pub(crate) struct Scripted {
    info: Info,
    answers: Mutex<VecDeque<Answer>>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

impl Scripted {
    pub(crate) fn new(answers: Vec<Answer>) -> Arc<Self> {
        let features = Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: true,
            caching: true,
        };
        let tier = PriceTier {
            input: 1.0,
            output: 1.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        let info = Info {
            provider: "script".into(),
            id: "one".into(),
            wire: Wire::OpenaiChat,
            limits: model::TokenLimits {
                window: 100_000,
                output: 1_000,
            },
            parameters: 0,
            features,
            prices: Some(ModelPrices { base: tier, long: None }),
            deprecated_on: None,
            options: Default::default(),
        };
        Arc::new(Scripted {
            info,
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
        })
    }
}

impl Model for Scripted {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, Error>> {
        self.requests.lock().unwrap().push(request);
        let answer = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            .expect("the script has no more answers");
        let ok = |chunks: Vec<Chunk>| stream::iter(chunks.into_iter().map(Ok));
        async move {
            match answer {
                Answer::Chunks(chunks) => Ok(ok(chunks).boxed()),
                Answer::Broken(chunks, error) => Ok(ok(chunks).chain(stream::iter([Err(error)])).boxed()),
                Answer::Hanging(chunks) => Ok(ok(chunks).chain(stream::pending()).boxed()),
                Answer::Fails(error) => Err(error),
            }
        }
        .boxed()
    }
}

/// A text reply.
pub(crate) fn text_reply(text: &str) -> Answer {
    Answer::Chunks(vec![Chunk::Text(text.into()), usage(), Chunk::Stop(Stop::End)])
}

/// A reply with tool calls.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Answer {
    let mut chunks = call_chunks(calls);
    chunks.extend([usage(), Chunk::Stop(Stop::ToolUse)]);
    Answer::Chunks(chunks)
}

pub(crate) fn call_chunks(calls: &[(&str, &str, &str)]) -> Vec<Chunk> {
    calls
        .iter()
        .flat_map(|(id, name, input)| {
            let id = CallId::from(*id);
            [
                Chunk::ToolStart {
                    id: id.clone(),
                    name: (*name).into(),
                },
                Chunk::ToolInput {
                    id: id.clone(),
                    delta: (*input).into(),
                },
                Chunk::ToolEnd { id },
            ]
        })
        .collect()
}

fn usage() -> Chunk {
    Chunk::Usage(Usage {
        input: 100,
        output: 10,
        ..Usage::default()
    })
}

/// The text decides what happens.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EchoInput {
    text: String,
}

/// A read-only tool. It executes `fail`, `panic` and `wait`, also after `pay and`, which reports usage; other text is
/// echoed.
pub(crate) struct Look(Arc<Memory>, Arc<Semaphore>);

impl Tool for Look {
    const NAME: &'static str = "look";
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, input: &EchoInput) -> Vec<Action> {
        let place = if input.text == "outside" {
            PathArea::Outside
        } else {
            PathArea::Inside
        };
        vec![Action::Read {
            path: "/p".into(),
            place,
        }]
    }

    async fn run(&self, input: EchoInput, context: CallContext) -> Result<Output, tool::Error> {
        self.0.note(format!("look {}", input.text));
        let unpaid = input.text.strip_prefix("pay and ");
        let _bill = unpaid.map(|_| Bill(context.usage));
        match unpaid.unwrap_or(&input.text) {
            "fail" => Err(tool::Error::Failed("it failed".into())),
            "panic" => panic!("on purpose"),
            "the view" => Ok(Output::text(format!("view {}", context.view))),
            "wait" => {
                self.1.acquire().await.unwrap().forget();
                Ok(Output::text("waited"))
            }
            text => Ok(Output::text(text)),
        }
    }
}

/// Reports usage when it is dropped.
struct Bill(UsageReporter);

impl Drop for Bill {
    fn drop(&mut self) {
        self.0.report(UsageReport {
            purpose: "edit",
            model: "script/two".into(),
            usage: Usage {
                input: 1_000,
                output: 7,
                ..Usage::default()
            },
            cost: Some(Cost::from_usd(0.25)),
            duration: Duration::from_millis(3),
            outcome: session::RequestEnd::Applied,
            request: None,
        });
    }
}

/// A mutating tool.
pub(crate) struct Change(Arc<Memory>, Arc<Semaphore>);

impl Tool for Change {
    const NAME: &'static str = "change";
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        vec![Action::Write {
            path: "/p".into(),
            place: PathArea::Inside,
        }]
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        Some(Box::new(Growing(0)))
    }

    async fn run(&self, input: EchoInput, _: CallContext) -> Result<Output, tool::Error> {
        self.0.note(format!("change {} begins", input.text));
        if input.text == "wait" {
            self.1.acquire().await.unwrap().forget();
        }
        tokio::task::yield_now().await;
        self.0.note(format!("change {} ends", input.text));
        let change = tool::UnsavedChange {
            path: "f".into(),
            before: None,
            after: Some(b"x".to_vec().into()),
        };
        Ok(Output::text("changed").with_change(change))
    }
}

/// Previews the number of received bytes.
struct Growing(usize);

impl CallPreview for Growing {
    fn push(&mut self, json: &str) -> Vec<PreviewUpdate> {
        self.0 += json.len();
        let state = PreviewState::Edited {
            first_line: 1,
            ops: vec![TextOp::Keep(self.0)],
        };
        vec![PreviewUpdate {
            edit: 1,
            path: None,
            state,
        }]
    }
}

/// A tool that ends the turn.
pub(crate) struct Finish;

impl Tool for Finish {
    const NAME: &'static str = "finish";
    /// Preceding calls must finish first.
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    type Input = EchoInput;

    fn title(&self, _: &EchoInput) -> String {
        String::new()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, _: CallContext) -> Result<Output, tool::Error> {
        Ok(Output {
            next: NextStep::EndTurn,
            ..Output::text(input.text)
        })
    }
}

/// Sets the todo list: one line each, completed if it begins with `x `.
pub(crate) struct List;

impl Tool for List {
    const NAME: &'static str = "list";
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    type Input = EchoInput;

    fn title(&self, _: &EchoInput) -> String {
        String::new()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, context: CallContext) -> Result<Output, tool::Error> {
        let todos = input.text.lines().map(|line| session::Todo {
            text: line.trim_start_matches("x ").into(),
            status: match line.starts_with("x ") {
                true => session::TodoStatus::Completed,
                false => session::TodoStatus::Pending,
            },
        });
        Ok(Output {
            todos: Some(todos.collect()),
            ..Output::text(format!("there were {}", context.todos.len()))
        })
    }
}

/// Delegates: `scout`, `background`, `resume` and `mode=NAME` before a colon are options.
pub(crate) struct Delegate(Arc<Memory>);

impl Tool for Delegate {
    const NAME: &'static str = "delegate";
    const EFFECT: ToolEffect = ToolEffect::Delegating;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, context: CallContext) -> Result<Output, tool::Error> {
        let (how, prompt) = input.text.split_once(':').unwrap_or(("", &input.text));
        let newest = || self.0.subtasks.lock().unwrap().keys().max().map(ToString::to_string);
        let report = context
            .delegate(tool::SubtaskRequest {
                title: "part".into(),
                prompt: prompt.into(),
                mode: how.split("mode=").nth(1).map(Into::into),
                model: match how.contains("scout") {
                    true => tool::SubtaskModel::Small,
                    false => tool::SubtaskModel::Current,
                },
                resume: how.contains("resume").then(newest).flatten(),
                wait: match how.contains("background") {
                    true => tool::SubtaskWait::Background,
                    false => tool::SubtaskWait::UntilDone,
                },
            })
            .await?;
        Ok(Output::text(report.text))
    }
}

/// Reads mentioned paths with the tool `read_file`.
struct ReadFileSource;

impl tool::ContextSource for ReadFileSource {
    fn read<'a>(
        &'a self,
        request: &'a tool::ContextRequest,
        runner: &'a dyn tool::ContextRunner,
    ) -> BoxFuture<'a, Result<tool::ContextFound, tool::ContextError>> {
        async move {
            let input = serde_json::json!({"path": request.name()});
            let found = runner.run("read_file", input).await?;
            let texts = found.output.content.iter().map(|block| match block {
                Block::Text { text } => text.as_str(),
                Block::Media(_) => "media",
            });
            let content = tool::ContextContent::Text(texts.collect());
            Ok(tool::ContextFound::new(content, found.touched))
        }
        .boxed()
    }
}

pub(crate) struct World {
    pub(crate) handle: SessionHandle,
    pub(crate) model: Arc<Scripted>,
    pub(crate) store: Arc<Memory>,
    /// Releases waiting tools.
    pub(crate) gate: Arc<Semaphore>,
}

pub(crate) fn world(answers: Vec<Answer>) -> World {
    world_with(answers, |_| {})
}

pub(crate) fn world_with(answers: Vec<Answer>, adjust: impl FnOnce(&mut SessionSetup)) -> World {
    let model = Scripted::new(answers);
    let store = Arc::new(Memory::default());
    let gate = Arc::new(Semaphore::new(0));
    let tools = Registry::default()
        .with(Look(Arc::clone(&store), Arc::clone(&gate)))
        .with(Change(Arc::clone(&store), Arc::clone(&gate)))
        .with(Finish)
        .with(List)
        .with(Delegate(Arc::clone(&store)));
    let config = SessionConfig {
        root: "/p".into(),
        small_model: None,
        title_requests: agent::TitleRequests::On,
        models: Arc::new(|name| Err(agent::ModelUnavailable(format!("no model {name}")))),
        tools,
        modes: ModeSet::default(),
        hooks: Arc::new(session::NoHooks),
        approvals: Approvals::Deny,
        store: Arc::clone(&store) as Arc<dyn session::Store>,
        system_prompt: Arc::new(|scene: &prompt::SystemPromptInput<'_>| prompt::SystemPrompt {
            blocks: vec!["be good".into(), scene.mode.name.as_str().into()],
            ..prompt::SystemPrompt::default()
        }),
        project_context: Arc::new(prompt::NoContext),
        context_source: Arc::new(ReadFileSource),
        limits: TurnLimits::default(),
        compaction: agent::CompactionSettings::default(),
        panels: Arc::new(prompt::panel::NoPanels),
        request_options: prompt::RequestOptions::default(),
        previews: Previews::Show,
        backoff: Duration::from_millis(1),
        clock: || Time(7),
        subtask_limits: Default::default(),
        external_agents: None,
    };
    let mut setup = SessionSetup {
        session: SessionId::new(),
        items: Vec::new(),
        totals: Totals::default(),
        queued_prompts: Vec::new(),
        title: Some("titled".into()),
        model: Arc::clone(&model) as Arc<dyn Model>,
        policy: Policy::default(),
        mode: Mode::code(),
        grant_store: None,
        autonomy: Default::default(),
        notifications: tool::NotificationSender::channel(),
        config,
    };
    adjust(&mut setup);
    for item in &setup.items {
        drop(store.append(setup.session, Arc::clone(item)));
    }
    World {
        handle: agent::start(setup),
        model,
        store,
        gate,
    }
}

impl World {
    pub(crate) async fn send(&self, command: Command) {
        self.handle.commands.send(command).await.unwrap();
    }

    pub(crate) async fn prompt(&self, text: &str, delivery: Delivery) {
        self.send(Command::Prompt {
            message: Message::user(text),
            delivery,
        })
        .await;
    }

    /// Sends a prompt and collects the events of its turn.
    pub(crate) async fn turn(&mut self, text: &str) -> (TurnEnd, Vec<Event>) {
        self.prompt(text, Delivery::Queue).await;
        self.turn_end().await
    }

    /// Collects the events until the turn ends.
    pub(crate) async fn turn_end(&mut self) -> (TurnEnd, Vec<Event>) {
        let mut events = Vec::new();
        loop {
            match self.handle.events.recv().await.expect("the session ended too early") {
                Event::TurnFinished { ending, .. } => return (ending, events),
                event => events.push(event),
            }
        }
    }

    /// Reads events until one matches.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.handle.events.recv().await.expect("the session ended too early");
            if fits(&event) {
                return event;
            }
        }
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.store.log.lock().unwrap().clone()
    }

    pub(crate) fn items(&self) -> Vec<Arc<Item>> {
        self.store.items.lock().unwrap().clone()
    }

    /// The conversation as readable lines.
    pub(crate) fn transcript(&self) -> Vec<String> {
        self.items()
            .iter()
            .filter_map(|item| item.message().cloned())
            .flat_map(|message| message_lines(&message))
            .collect()
    }

    /// The last request, in the same form.
    pub(crate) fn last_request(&self) -> Vec<String> {
        let requests = self.model.requests.lock().unwrap();
        requests
            .last()
            .unwrap()
            .messages
            .iter()
            .flat_map(|message| message_lines(message))
            .collect()
    }
}

pub(crate) fn message_lines(message: &Message) -> Vec<String> {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } => format!("{who}: {text}"),
            Part::Thinking { text, .. } => format!("{who} thinks: {text}"),
            Part::ToolCall { id, name, .. } => format!("{who} calls {name} ({id})"),
            Part::ToolResult {
                id, content, outcome, ..
            } => {
                let text: Vec<&str> = content
                    .iter()
                    .map(|block| match block {
                        Block::Text { text } => text.as_str(),
                        Block::Media(_) => "media",
                    })
                    .collect();
                format!("{outcome:?} ({id}): {}", text.join(" | "))
            }
            Part::Media(_) => format!("{who}: media"),
        })
        .collect()
}
