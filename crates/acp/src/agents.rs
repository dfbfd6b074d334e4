//! The agents that the person has configured, each used as if it were the model of a subtask.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CancelNotification, ContentBlock, ImageContent, PromptRequest, PromptResponse, StopReason,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::FuturesUnordered;
use model::{
    Chunk, ChunkPart, Features, Info, Limits, Message, Model, Part, Replay, Request, Role, Stop, Stream, Wire,
};
use policy::Level;
use sandbox::{Confinement, Environment};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio::time::Instant;
use tool::Desk;
use workspace::Workspace;

use crate::agent::{About, Fault, Running, words};
use crate::answer::Answering;
use crate::told::Told;
use crate::wire::Incoming;

/// Marks what we keep about a session of another agent.
const WIRE: &str = "acp";
/// An agent that was told to stop gets so long to do it.
const GRACE: Duration = Duration::from_secs(10);
/// Pieces that may wait to be shown.
const WAITING: usize = 256;

/// An agent that the person has configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it is called here.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it sees besides the usual ones.
    pub env: BTreeMap<String, String>,
    /// Whether it reads and writes files through us, or by itself.
    pub files: Files,
    /// It is given up when it says nothing for so long.
    pub timeout: Duration,
}

/// How an agent reaches files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Files {
    /// Through us, where it can.
    #[default]
    Ours,
    /// By itself.
    Own,
}

/// Where agents work, and what they may reach through us.
#[derive(Clone)]
pub struct Place {
    /// The project's folder.
    pub root: PathBuf,
    /// The variables that they see.
    pub environment: Environment,
    /// The project, for files that they ask us for.
    pub workspace: Workspace,
    /// What commands may reach that they ask us to run.
    pub confinement: Option<Confinement>,
}

/// The agents that the person has configured. Cheap to clone; nothing is started before it is used.
#[derive(Clone)]
pub struct Agents {
    definitions: Arc<BTreeMap<String, Definition>>,
    place: Arc<Place>,
}

impl Agents {
    /// These agents, in this place.
    pub fn new(definitions: Vec<Definition>, place: Place) -> Self {
        let named = definitions
            .into_iter()
            .map(|definition| (definition.name.clone(), definition));
        Agents {
            definitions: Arc::new(named.collect()),
            place: Arc::new(place),
        }
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.definitions.keys().cloned().collect()
    }

    /// Starts an agent, hears what it says of itself, and ends it.
    pub async fn test(&self, name: &str) -> Result<About, Fault> {
        let (running, _incoming) = Running::start(self.find(name)?, &self.place).await?;
        Ok(running.about())
    }

    /// The agent as a model. Whatever it wants to do is asked of the desk, and commands run at this level.
    pub fn open(&self, name: &str, desk: Arc<dyn Desk>, level: Level) -> Result<Arc<dyn Model>, Fault> {
        let definition = self.find(name)?.clone();
        Ok(Arc::new(Helper {
            info: info(&definition),
            definition: Arc::new(definition),
            place: Arc::clone(&self.place),
            desk,
            level,
            session: Arc::default(),
        }))
    }

    fn find(&self, name: &str) -> Result<&Definition, Fault> {
        self.definitions
            .get(name)
            .ok_or_else(|| Fault::Unknown(name.to_owned()))
    }
}

/// An agent as a model: it is asked once in a turn, and does all the work itself.
struct Helper {
    info: Info,
    definition: Arc<Definition>,
    place: Arc<Place>,
    desk: Arc<dyn Desk>,
    level: Level,
    session: Arc<Mutex<Option<Session>>>,
}

/// A session of another agent.
struct Session {
    running: Running,
    incoming: mpsc::Receiver<Incoming>,
    id: String,
    answering: Arc<Answering>,
}

impl Model for Helper {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
        let (definition, place) = (Arc::clone(&self.definition), Arc::clone(&self.place));
        let (slot, desk, level) = (Arc::clone(&self.session), Arc::clone(&self.desk), self.level);
        async move {
            let failed = |fault: Fault| model::Error::Agent {
                name: definition.name.clone(),
                detail: fault.to_string(),
            };
            let mut slot = slot.lock_owned().await;
            if slot.as_ref().is_none_or(|session| !session.running.peer.is_there()) {
                let (running, mut incoming) = Running::start(&definition, &place).await.map_err(failed)?;
                let known = known(&request, &definition.name);
                let opening = opened(&running, &mut incoming, &place, known.as_deref());
                let id = match tokio::time::timeout(definition.timeout, opening).await {
                    Ok(opened) => opened.map_err(failed)?,
                    Err(_) => return Err(failed(Fault::Silent(definition.timeout, running.last_words()))),
                };
                let answering = Answering::new(&definition.name, Arc::clone(&place), desk, level);
                *slot = Some(Session {
                    running,
                    incoming,
                    id,
                    answering: Arc::new(answering),
                });
            }
            let (chunks, mut receiver) = mpsc::channel(WAITING);
            tokio::spawn(work(slot, prompt(&request), definition, chunks));
            let stream = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
            Ok(stream.boxed())
        }
        .boxed()
    }
}

/// Opens a session. What is told meanwhile is what was said before, which we know.
async fn opened(
    running: &Running,
    incoming: &mut mpsc::Receiver<Incoming>,
    place: &Place,
    known: Option<&str>,
) -> Result<String, Fault> {
    let mut opening = std::pin::pin!(running.open(&place.root, known));
    let opened = loop {
        tokio::select! {
            biased;
            message = incoming.recv() => match message {
                Some(Incoming::Request { id, method, .. }) => running.peer.answer(id, crate::answer::cancelled(&method)).await,
                Some(Incoming::Notification { .. }) => {}
                None => return Err(Fault::Died(running.last_words())),
            },
            opened = &mut opening => break opened?,
        }
    };
    while let Ok(Incoming::Notification { .. }) = incoming.try_recv() {}
    Ok(opened)
}

type Chunks = mpsc::Sender<Result<Chunk, model::Error>>;

/// Works on one prompt to its end, or until nobody listens any more.
async fn work(
    mut slot: OwnedMutexGuard<Option<Session>>,
    prompt: Vec<ContentBlock>,
    definition: Arc<Definition>,
    chunks: Chunks,
) {
    let ended = match slot.as_mut() {
        Some(session) => session.work(prompt, &definition, &chunks).await,
        None => return,
    };
    let last = match ended {
        Ok(stop) => Ok(Chunk::Stop(stop)),
        Err(fault) => {
            // Whatever state it is in, the next prompt begins with a fresh one.
            *slot = None;
            Err(model::Error::Agent {
                name: definition.name.clone(),
                detail: fault.to_string(),
            })
        }
    };
    // Nobody may be listening any more.
    drop(chunks.send(last).await);
}

impl Session {
    async fn work(
        &mut self,
        prompt: Vec<ContentBlock>,
        definition: &Definition,
        chunks: &Chunks,
    ) -> Result<Stop, Fault> {
        let peer = self.running.peer.clone();
        let can = &self.running.hello.agent_capabilities.prompt_capabilities;
        let prompt = prompt
            .into_iter()
            .filter(|block| can.image || !matches!(block, ContentBlock::Image(_)));
        let request = PromptRequest::new(self.id.clone(), prompt.collect());
        let mut asking = std::pin::pin!(peer.ask::<PromptResponse>("session/prompt", &request));
        let mut answers = FuturesUnordered::new();
        let mut told = Told::default();
        let mut heard = Instant::now();
        let answer = loop {
            // Whoever waits for the person is not silent.
            let (due, waits) = (heard + definition.timeout, answers.is_empty());
            tokio::select! {
                biased;
                () = chunks.closed() => return self.cancel(asking.as_mut()).await,
                message = self.incoming.recv() => match message {
                    Some(message) => {
                        heard = Instant::now();
                        self.hear(message, &mut told, &mut answers, chunks).await;
                    }
                    None => return Err(Fault::Died(self.running.last_words())),
                },
                Some(()) = answers.next() => heard = Instant::now(),
                answer = &mut asking => break answer,
                () = tokio::time::sleep_until(due), if waits => {
                    let silent = Fault::Silent(definition.timeout, self.running.last_words());
                    drop(self.cancel(asking.as_mut()).await);
                    return Err(silent);
                }
            }
        };
        // What was told before the answer has arrived before it.
        while let Ok(message) = self.incoming.try_recv() {
            self.hear(message, &mut told, &mut answers, chunks).await;
        }
        let answer = answer.map_err(|error| self.running.fault(&error))?;
        let replay = Chunk::Replay {
            of: ChunkPart::Text,
            replay: Replay {
                wire: WIRE.to_owned(),
                data: json!({"agent": definition.name, "session": self.id}),
            },
        };
        for chunk in told.rest().into_iter().chain([replay]) {
            drop(chunks.send(Ok(chunk)).await);
        }
        Ok(match answer.stop_reason {
            StopReason::EndTurn => Stop::End,
            StopReason::MaxTokens => Stop::MaxTokens,
            StopReason::Refusal => Stop::Refusal { detail: None },
            StopReason::MaxTurnRequests => Stop::Refusal {
                detail: Some("it made as many requests as it may in one turn".into()),
            },
            StopReason::Cancelled => Stop::Refusal {
                detail: Some("it says that its turn was cancelled".into()),
            },
            _ => Stop::End,
        })
    }

    async fn hear(
        &self,
        message: Incoming,
        told: &mut Told,
        answers: &mut FuturesUnordered<BoxFuture<'static, ()>>,
        chunks: &Chunks,
    ) {
        match message {
            Incoming::Request { id, method, params } => {
                let (peer, answering) = (self.running.peer.clone(), Arc::clone(&self.answering));
                let answer = async move {
                    let answer = answering.answer(&method, params).await;
                    peer.answer(id, answer).await;
                };
                answers.push(answer.boxed());
            }
            Incoming::Notification { method, params } if method == "session/update" => {
                if params.get("sessionId").and_then(Value::as_str) == Some(self.id.as_str()) {
                    for chunk in told.take(params) {
                        // Whoever listens no more is noticed by the loop.
                        drop(chunks.send(Ok(chunk)).await);
                    }
                }
            }
            Incoming::Notification { method, .. } => tracing::debug!(method, "a notification that is not known"),
        }
    }

    /// Nobody waits any more: has it stop. One that does not is ended.
    async fn cancel(
        &mut self,
        mut asking: std::pin::Pin<
            &mut impl Future<Output = Result<PromptResponse, agent_client_protocol_schema::v1::Error>>,
        >,
    ) -> Result<Stop, Fault> {
        let cancel = CancelNotification::new(self.id.clone());
        drop(self.running.peer.tell("session/cancel", &cancel).await);
        let stopping = async {
            loop {
                tokio::select! {
                    answer = &mut asking => return answer,
                    message = self.incoming.recv() => match message {
                        // What it still wants is not done.
                        Some(Incoming::Request { id, method, .. }) => {
                            self.running.peer.answer(id, crate::answer::cancelled(&method)).await;
                        }
                        Some(Incoming::Notification { .. }) => {}
                        None => return Err(agent_client_protocol_schema::v1::Error::internal_error()),
                    }
                }
            }
        };
        match tokio::time::timeout(GRACE, stopping).await {
            Ok(Ok(_)) => Ok(Stop::Other {
                word: "cancelled".into(),
            }),
            Ok(Err(error)) => Err(Fault::Refused(words(&error))),
            Err(_) => Err(Fault::Silent(GRACE, self.running.last_words())),
        }
    }
}

/// The session that an agent of this name had in the conversation so far.
fn known(request: &Request, name: &str) -> Option<String> {
    let parts = request.messages.iter().rev().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Text { replay, .. } | Part::Thinking { replay, .. } | Part::ToolCall { replay, .. } => {
                replay.as_ref()
            }
            Part::ToolResult { .. } | Part::Media(_) => None,
        })
        .find(|replay| replay.wire == WIRE && replay.data["agent"] == name)
        .and_then(|replay| Some(replay.data["session"].as_str()?.to_owned()))
}

/// What is said to the agent: what came after its last reply, in the words of whoever said it.
fn prompt(request: &Request) -> Vec<ContentBlock> {
    let newest = request
        .messages
        .iter()
        .rev()
        .take_while(|message| message.role == Role::User);
    let newest: Vec<&Arc<Message>> = newest.collect();
    let mut blocks = Vec::new();
    for message in newest.into_iter().rev() {
        let text = session::spoken(message);
        if !text.trim().is_empty() {
            blocks.push(ContentBlock::from(text));
        }
        for part in &message.parts {
            if let Part::Media(media) = part
                && !media.is_pdf()
            {
                let image = ImageContent::new(STANDARD.encode(&media.data), media.mime.clone());
                blocks.push(ContentBlock::Image(image));
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(ContentBlock::from("Go on."));
    }
    blocks
}

fn info(definition: &Definition) -> Info {
    Info {
        provider: WIRE.to_owned(),
        id: definition.name.clone(),
        // Nothing is sent by it.
        wire: Wire::OpenaiChat,
        limits: Limits {
            window: u64::from(u32::MAX),
            output: u32::MAX.into(),
        },
        features: Features {
            tools: false,
            parallel_tools: false,
            images: true,
            pdf: false,
            reasoning: true,
            caching: false,
        },
        prices: None,
        deprecated_on: None,
        options: serde_json::Map::new(),
    }
}
