//! External agents, each used as the model of a subtask.

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
    Chunk, ChunkPart, Features, Info, Message, Model, Part, ReplayData, Request, Role, Stop, Stream, TokenLimits, Wire,
};
use policy::AccessLevel;
use sandbox::{Confinement, ProcessEnvironment};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio::time::Instant;
use tool::ToolHost;
use workspace::Workspace;

use crate::client_requests::ClientRequests;
use crate::process::{AgentError, AgentInfo, AgentProcess, error_text};
use crate::updates::UpdateTranslator;
use crate::wire::Incoming;

/// Marks stored data about a session of an external agent.
const WIRE: &str = "acp";
/// Time for an agent to stop after a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of queued chunks.
const CHUNK_QUEUE: usize = 256;

/// A configured external agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Whether it accesses files through hew or directly.
    pub files: FileAccess,
    /// Maximum time without a message.
    pub timeout: Duration,
}

/// How an agent accesses files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileAccess {
    /// Through hew, if the agent supports it.
    #[default]
    ThroughClient,
    /// Directly.
    Direct,
}

/// The environment of agents, and what they may access through hew.
#[derive(Clone)]
pub struct AgentEnvironment {
    /// The project directory.
    pub root: PathBuf,
    /// Their environment variables.
    pub environment: ProcessEnvironment,
    /// The project, for file requests.
    pub workspace: Workspace,
    /// The confinement of commands that they request.
    pub confinement: Option<Confinement>,
}

/// The configured external agents. Cheap to clone; agents start on first use.
#[derive(Clone)]
pub struct AcpAgents {
    definitions: Arc<BTreeMap<String, AgentDefinition>>,
    environment: Arc<AgentEnvironment>,
}

impl AcpAgents {
    /// Creates the agents.
    pub fn new(definitions: Vec<AgentDefinition>, environment: AgentEnvironment) -> Self {
        let named = definitions
            .into_iter()
            .map(|definition| (definition.name.clone(), definition));
        AcpAgents {
            definitions: Arc::new(named.collect()),
            environment: Arc::new(environment),
        }
    }

    /// Their names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.definitions.keys().cloned().collect()
    }

    /// Starts an agent, returns its information, and ends it.
    pub async fn test(&self, name: &str) -> Result<AgentInfo, AgentError> {
        let (running, _incoming) = AgentProcess::start(self.find(name)?, &self.environment).await?;
        Ok(running.about())
    }

    /// Returns the agent as a model. `host` approves its actions, and commands run at this level.
    pub fn open(&self, name: &str, host: Arc<dyn ToolHost>, level: AccessLevel) -> Result<Arc<dyn Model>, AgentError> {
        let definition = self.find(name)?.clone();
        Ok(Arc::new(AgentModel {
            info: info(&definition),
            definition: Arc::new(definition),
            environment: Arc::clone(&self.environment),
            host,
            level,
            session: Arc::default(),
        }))
    }

    fn find(&self, name: &str) -> Result<&AgentDefinition, AgentError> {
        self.definitions
            .get(name)
            .ok_or_else(|| AgentError::Unknown(name.to_owned()))
    }
}

/// An agent as a model: one request per turn, in which the agent does all the work.
struct AgentModel {
    info: Info,
    definition: Arc<AgentDefinition>,
    environment: Arc<AgentEnvironment>,
    host: Arc<dyn ToolHost>,
    level: AccessLevel,
    session: Arc<Mutex<Option<AgentSession>>>,
}

/// A session of an external agent.
struct AgentSession {
    running: AgentProcess,
    incoming: mpsc::Receiver<Incoming>,
    id: String,
    answering: Arc<ClientRequests>,
}

impl Model for AgentModel {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
        let (definition, environment) = (Arc::clone(&self.definition), Arc::clone(&self.environment));
        let (slot, host, level) = (Arc::clone(&self.session), Arc::clone(&self.host), self.level);
        async move {
            let failed = |fault: AgentError| model::Error::Agent {
                name: definition.name.clone(),
                detail: fault.to_string(),
            };
            let mut slot = slot.lock_owned().await;
            if slot.as_ref().is_none_or(|session| !session.running.peer.is_connected()) {
                let (running, mut incoming) = AgentProcess::start(&definition, &environment).await.map_err(failed)?;
                let known = previous_session(&request, &definition.name);
                let opening = open_session(&running, &mut incoming, &environment, known.as_deref());
                let id = match tokio::time::timeout(definition.timeout, opening).await {
                    Ok(opened) => opened.map_err(failed)?,
                    Err(_) => return Err(failed(AgentError::Timeout(definition.timeout, running.stderr_tail()))),
                };
                let answering = ClientRequests::new(&definition.name, Arc::clone(&environment), host, level);
                *slot = Some(AgentSession {
                    running,
                    incoming,
                    id,
                    answering: Arc::new(answering),
                });
            }
            let (chunks, mut receiver) = mpsc::channel(CHUNK_QUEUE);
            tokio::spawn(run_prompt(slot, prompt(&request), definition, chunks));
            let stream = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
            Ok(stream.boxed())
        }
        .boxed()
    }
}

/// Opens a session. Updates during the opening are a replay and are ignored.
async fn open_session(
    running: &AgentProcess,
    incoming: &mut mpsc::Receiver<Incoming>,
    environment: &AgentEnvironment,
    known: Option<&str>,
) -> Result<String, AgentError> {
    let mut opening = std::pin::pin!(running.open_session(&environment.root, known));
    let opened = loop {
        tokio::select! {
            biased;
            message = incoming.recv() => match message {
                Some(Incoming::Request { id, method, .. }) => running.peer.respond(id, crate::client_requests::cancelled_response(&method)).await,
                Some(Incoming::Notification { .. }) => {}
                None => return Err(AgentError::Exited(running.stderr_tail())),
            },
            opened = &mut opening => break opened?,
        }
    };
    while let Ok(Incoming::Notification { .. }) = incoming.try_recv() {}
    Ok(opened)
}

type ChunkSender = mpsc::Sender<Result<Chunk, model::Error>>;

/// Processes one prompt, until it is done or the receiver is dropped.
async fn run_prompt(
    mut slot: OwnedMutexGuard<Option<AgentSession>>,
    prompt: Vec<ContentBlock>,
    definition: Arc<AgentDefinition>,
    chunks: ChunkSender,
) {
    let ended = match slot.as_mut() {
        Some(session) => session.work(prompt, &definition, &chunks).await,
        None => return,
    };
    let last = match ended {
        Ok(stop) => Ok(Chunk::Stop(stop)),
        Err(fault) => {
            // The next prompt starts a new process.
            *slot = None;
            Err(model::Error::Agent {
                name: definition.name.clone(),
                detail: fault.to_string(),
            })
        }
    };
    // The receiver may have been dropped.
    drop(chunks.send(last).await);
}

impl AgentSession {
    async fn work(
        &mut self,
        prompt: Vec<ContentBlock>,
        definition: &AgentDefinition,
        chunks: &ChunkSender,
    ) -> Result<Stop, AgentError> {
        let peer = self.running.peer.clone();
        let can = &self.running.initialized.agent_capabilities.prompt_capabilities;
        let prompt = prompt
            .into_iter()
            .filter(|block| can.image || !matches!(block, ContentBlock::Image(_)));
        let request = PromptRequest::new(self.id.clone(), prompt.collect());
        let mut asking = std::pin::pin!(peer.request::<PromptResponse>("session/prompt", &request));
        let mut answers = FuturesUnordered::new();
        let mut translator = UpdateTranslator::default();
        let mut last_message = Instant::now();
        let answer = loop {
            // Waiting for the user does not count as silence.
            let (due, waits) = (last_message + definition.timeout, answers.is_empty());
            tokio::select! {
                biased;
                () = chunks.closed() => return self.cancel(asking.as_mut()).await,
                message = self.incoming.recv() => match message {
                    Some(message) => {
                        last_message = Instant::now();
                        self.handle_message(message, &mut translator, &mut answers, chunks).await;
                    }
                    None => return Err(AgentError::Exited(self.running.stderr_tail())),
                },
                Some(()) = answers.next() => last_message = Instant::now(),
                answer = &mut asking => break answer,
                () = tokio::time::sleep_until(due), if waits => {
                    let silent = AgentError::Timeout(definition.timeout, self.running.stderr_tail());
                    drop(self.cancel(asking.as_mut()).await);
                    return Err(silent);
                }
            }
        };
        // Updates sent before the response have arrived before it.
        while let Ok(message) = self.incoming.try_recv() {
            self.handle_message(message, &mut translator, &mut answers, chunks)
                .await;
        }
        let answer = answer.map_err(|error| self.running.agent_error(&error))?;
        let replay = Chunk::Replay {
            of: ChunkPart::Text,
            replay: ReplayData {
                wire: WIRE.to_owned(),
                data: json!({"agent": definition.name, "session": self.id}),
            },
        };
        for chunk in translator.final_chunks().into_iter().chain([replay]) {
            drop(chunks.send(Ok(chunk)).await);
        }
        Ok(match answer.stop_reason {
            StopReason::EndTurn => Stop::End,
            StopReason::MaxTokens => Stop::MaxTokens,
            StopReason::Refusal => Stop::Refusal { detail: None },
            StopReason::MaxTurnRequests => Stop::Refusal {
                detail: Some("it reached its request limit for one turn".into()),
            },
            StopReason::Cancelled => Stop::Refusal {
                detail: Some("it reports that its turn was cancelled".into()),
            },
            _ => Stop::End,
        })
    }

    async fn handle_message(
        &self,
        message: Incoming,
        translator: &mut UpdateTranslator,
        answers: &mut FuturesUnordered<BoxFuture<'static, ()>>,
        chunks: &ChunkSender,
    ) {
        match message {
            Incoming::Request { id, method, params } => {
                let (peer, answering) = (self.running.peer.clone(), Arc::clone(&self.answering));
                let answer = async move {
                    let answer = answering.answer(&method, params).await;
                    peer.respond(id, answer).await;
                };
                answers.push(answer.boxed());
            }
            Incoming::Notification { method, params } if method == "session/update" => {
                if params.get("sessionId").and_then(Value::as_str) == Some(self.id.as_str()) {
                    for chunk in translator.translate(params) {
                        // The loop detects a dropped receiver.
                        drop(chunks.send(Ok(chunk)).await);
                    }
                }
            }
            Incoming::Notification { method, .. } => tracing::debug!(method, "unknown notification"),
        }
    }

    /// Cancels the prompt. An agent that does not stop is ended.
    async fn cancel(
        &mut self,
        mut asking: std::pin::Pin<
            &mut impl Future<Output = Result<PromptResponse, agent_client_protocol_schema::v1::Error>>,
        >,
    ) -> Result<Stop, AgentError> {
        let cancel = CancelNotification::new(self.id.clone());
        drop(self.running.peer.notify("session/cancel", &cancel).await);
        let stopping = async {
            loop {
                tokio::select! {
                    answer = &mut asking => return answer,
                    message = self.incoming.recv() => match message {
                        // Further requests are cancelled.
                        Some(Incoming::Request { id, method, .. }) => {
                            self.running.peer.respond(id, crate::client_requests::cancelled_response(&method)).await;
                        }
                        Some(Incoming::Notification { .. }) => {}
                        None => return Err(agent_client_protocol_schema::v1::Error::internal_error()),
                    }
                }
            }
        };
        match tokio::time::timeout(CANCEL_TIMEOUT, stopping).await {
            Ok(Ok(_)) => Ok(Stop::Other {
                word: "cancelled".into(),
            }),
            Ok(Err(error)) => Err(AgentError::Refused(error_text(&error))),
            Err(_) => Err(AgentError::Timeout(CANCEL_TIMEOUT, self.running.stderr_tail())),
        }
    }
}

/// Returns the last session of this agent in the conversation.
fn previous_session(request: &Request, name: &str) -> Option<String> {
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

/// The prompt for the agent: the user messages after its last reply.
fn prompt(request: &Request) -> Vec<ContentBlock> {
    let newest = request
        .messages
        .iter()
        .rev()
        .take_while(|message| message.role == Role::User);
    let newest: Vec<&Arc<Message>> = newest.collect();
    let mut blocks = Vec::new();
    for message in newest.into_iter().rev() {
        let text = session::user_text(message);
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
        blocks.push(ContentBlock::from("Continue."));
    }
    blocks
}

fn info(definition: &AgentDefinition) -> Info {
    Info {
        provider: WIRE.to_owned(),
        id: definition.name.clone(),
        // Not used for sending.
        wire: Wire::OpenaiChat,
        limits: TokenLimits {
            window: u64::from(u32::MAX),
            output: u32::MAX.into(),
        },
        parameters: 0,
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
