//! A small world for turns: a model that plays a script, tools that do little, and a front end that collects events.

use crate::memory::Memory;
use agent::{Approvals, Handle, Limits, Previews, Setup};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use model::*;
use policy::{Action, Mode, Modes, Place, Policy};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{Command, Delivery, Ending, Event, Item, SessionId, Store as _, Time, Totals};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::{Context, Effect, Glimpse, Next, Op, Output, Preview, Registry, Sight, Spending, Spent, Tool};

/// One answer of the scripted model.
pub(crate) enum Answer {
    /// The stream, chunk by chunk.
    Chunks(Vec<Chunk>),
    /// The stream, which then breaks.
    Broken(Vec<Chunk>, Error),
    /// The stream, which then says nothing more.
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
        let tier = Tier {
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
            limits: model::Limits {
                window: 100_000,
                output: 1_000,
            },
            features,
            prices: Some(Prices { base: tier, long: None }),
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

/// Plain text and the end.
pub(crate) fn says(text: &str) -> Answer {
    Answer::Chunks(vec![Chunk::Text(text.into()), usage(), Chunk::Stop(Stop::End)])
}

/// Tool calls and the wait for their results.
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

/// Says something; the words decide what happens.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EchoInput {
    text: String,
}

/// A tool that only looks. `fail`, `panic` and `wait` do what they say, after `pay and` they cost something too; anything else
/// is echoed.
pub(crate) struct Look(Arc<Memory>, Arc<Semaphore>);

impl Tool for Look {
    const NAME: &'static str = "look";
    const EFFECT: Effect = Effect::Reads;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, input: &EchoInput) -> Vec<Action> {
        let place = if input.text == "outside" {
            Place::Outside
        } else {
            Place::Inside
        };
        vec![Action::Read {
            path: "/p".into(),
            place,
        }]
    }

    async fn run(&self, input: EchoInput, context: Context) -> Result<Output, tool::Error> {
        self.0.note(format!("look {}", input.text));
        let unpaid = input.text.strip_prefix("pay and ");
        let _bill = unpaid.map(|_| Bill(context.spending));
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

/// A request that is reported when it is over, however it ends.
struct Bill(Spending);

impl Drop for Bill {
    fn drop(&mut self) {
        self.0.add(Spent {
            purpose: "edit",
            model: "script/two".into(),
            usage: Usage {
                input: 1_000,
                output: 7,
                ..Usage::default()
            },
            cost: Some(Cost::from_usd(0.25)),
            took: Duration::from_millis(3),
            outcome: "paid".into(),
            request: None,
        });
    }
}

/// A tool that changes something.
pub(crate) struct Change(Arc<Memory>, Arc<Semaphore>);

impl Tool for Change {
    const NAME: &'static str = "change";
    const EFFECT: Effect = Effect::Changes;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        vec![Action::Write {
            path: "/p".into(),
            place: Place::Inside,
        }]
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        Some(Box::new(Growing(0)))
    }

    async fn run(&self, input: EchoInput, _: Context) -> Result<Output, tool::Error> {
        self.0.note(format!("change {} begins", input.text));
        if input.text == "wait" {
            self.1.acquire().await.unwrap().forget();
        }
        tokio::task::yield_now().await;
        self.0.note(format!("change {} ends", input.text));
        let change = tool::Change {
            path: "f".into(),
            before: None,
            after: Some(b"x".to_vec().into()),
        };
        Ok(Output::text("changed").changed(change))
    }
}

/// Shows how many bytes of input have arrived.
struct Growing(usize);

impl Preview for Growing {
    fn push(&mut self, json: &str) -> Vec<Glimpse> {
        self.0 += json.len();
        let sight = Sight::Edited {
            first_line: 1,
            ops: vec![Op::Keep(self.0)],
        };
        vec![Glimpse {
            edit: 1,
            path: None,
            sight,
        }]
    }
}

/// A tool that ends the turn.
pub(crate) struct Finish;

impl Tool for Finish {
    const NAME: &'static str = "finish";
    const EFFECT: Effect = Effect::Reads;
    type Input = EchoInput;

    fn title(&self, _: &EchoInput) -> String {
        String::new()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, _: Context) -> Result<Output, tool::Error> {
        Ok(Output {
            next: Next::EndTurn,
            ..Output::text(input.text)
        })
    }
}

/// Sets the list of things to do: one line each, done where it begins with `x `.
pub(crate) struct List;

impl Tool for List {
    const NAME: &'static str = "list";
    const EFFECT: Effect = Effect::Changes;
    type Input = EchoInput;

    fn title(&self, _: &EchoInput) -> String {
        String::new()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, context: Context) -> Result<Output, tool::Error> {
        let todos = input.text.lines().map(|line| tool::Todo {
            text: line.trim_start_matches("x ").into(),
            status: match line.starts_with("x ") {
                true => tool::Status::Completed,
                false => tool::Status::Pending,
            },
        });
        Ok(Output {
            todos: Some(todos.collect()),
            ..Output::text(format!("there were {}", context.todos.len()))
        })
    }
}

/// Hands work on: `scout`, `background` and `resume` before a colon do what they say, `mode=NAME` chooses a mode.
pub(crate) struct Hand(Arc<Memory>);

impl Tool for Hand {
    const NAME: &'static str = "hand";
    const EFFECT: Effect = Effect::Delegates;
    type Input = EchoInput;

    fn title(&self, input: &EchoInput) -> String {
        input.text.clone()
    }

    fn actions(&self, _: &EchoInput) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: EchoInput, context: Context) -> Result<Output, tool::Error> {
        let (how, prompt) = input.text.split_once(':').unwrap_or(("", &input.text));
        let newest = || self.0.subtasks.lock().unwrap().keys().max().map(ToString::to_string);
        let report = context
            .delegate(tool::Task {
                title: "part".into(),
                prompt: prompt.into(),
                mode: how.split("mode=").nth(1).map(Into::into),
                worker: match how.contains("scout") {
                    true => tool::Worker::Scout,
                    false => tool::Worker::Main,
                },
                resume: how.contains("resume").then(newest).flatten(),
                waiting: match how.contains("background") {
                    true => tool::Waiting::NotAtAll,
                    false => tool::Waiting::UntilDone,
                },
            })
            .await?;
        Ok(Output::text(report.text))
    }
}

pub(crate) struct World {
    pub(crate) handle: Handle,
    pub(crate) model: Arc<Scripted>,
    pub(crate) store: Arc<Memory>,
    /// Lets tools that wait go on.
    pub(crate) gate: Arc<Semaphore>,
}

pub(crate) fn world(answers: Vec<Answer>) -> World {
    world_with(answers, |_| {})
}

pub(crate) fn world_with(answers: Vec<Answer>, adjust: impl FnOnce(&mut Setup)) -> World {
    let model = Scripted::new(answers);
    let store = Arc::new(Memory::default());
    let gate = Arc::new(Semaphore::new(0));
    let tools = Registry::default()
        .with(Look(Arc::clone(&store), Arc::clone(&gate)))
        .with(Change(Arc::clone(&store), Arc::clone(&gate)))
        .with(Finish)
        .with(List)
        .with(Hand(Arc::clone(&store)));
    let mut setup = Setup {
        session: SessionId::new(),
        root: "/p".into(),
        items: Vec::new(),
        totals: Totals::default(),
        waiting: Vec::new(),
        title: Some("titled".into()),
        model: Arc::clone(&model) as Arc<dyn Model>,
        small: None,
        models: Arc::new(|name| Err(format!("no model {name}"))),
        tools,
        policy: Policy::default(),
        mode: Mode::code(),
        modes: Modes::default(),
        keeper: None,
        hooks: Arc::new(session::NoHooks),
        approvals: Approvals::Deny,
        store: Arc::clone(&store) as Arc<dyn session::Store>,
        system: Arc::new(|scene: &prompt::Scene<'_>| prompt::Rendered {
            blocks: vec!["be good".into(), scene.mode.name.as_str().into()],
            ..prompt::Rendered::default()
        }),
        surroundings: Arc::new(agent::Nowhere),
        limits: Limits::default(),
        compaction: agent::Compaction::default(),
        panels: Arc::new(prompt::panel::NoPanels),
        call: prompt::Call::default(),
        previews: Previews::Show,
        backoff: Duration::from_millis(1),
        clock: || Time(7),
        delegation: Default::default(),
        agents: None,
        autonomy: Default::default(),
        notices: tool::Notices::channel(),
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

    /// Sends a prompt and collects what happens until the turn ends.
    pub(crate) async fn turn(&mut self, text: &str) -> (Ending, Vec<Event>) {
        self.prompt(text, Delivery::Queue).await;
        self.ending().await
    }

    /// Collects what happens until the turn ends.
    pub(crate) async fn ending(&mut self) -> (Ending, Vec<Event>) {
        let mut events = Vec::new();
        loop {
            match self.handle.events.recv().await.expect("the session ended too early") {
                Event::TurnFinished { ending, .. } => return (ending, events),
                event => events.push(event),
            }
        }
    }

    /// Reads events until one fits.
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

    /// The conversation as a person would note it down.
    pub(crate) fn story(&self) -> Vec<String> {
        self.items()
            .iter()
            .filter_map(|item| item.message().cloned())
            .flat_map(|message| tell(&message))
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
            .flat_map(|message| tell(message))
            .collect()
    }
}

pub(crate) fn tell(message: &Message) -> Vec<String> {
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
