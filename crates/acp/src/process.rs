//! A running external agent: startup, initialization, sessions.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    ClientCapabilities, Error, FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, NewSessionRequest, NewSessionResponse, ResumeSessionRequest,
};
use sandbox::{PipedProcess, ProcessAccess, ProcessEnvironment, Program};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::wire::{Incoming, Peer, connect};
use crate::{AgentDefinition, AgentEnvironment, FileAccess};

/// Timeout of `initialize`: some agents install themselves first.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum length of standard error in messages.
const MAX_STDERR: usize = 600;

/// Why an external agent cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AgentError {
    /// It is not configured.
    #[error("no agent named `{0}` is configured")]
    Unknown(String),
    /// It could not be started.
    #[error("cannot start: {0}")]
    Start(String),
    /// It does not respond.
    #[error("no response for {} s{}", .0.as_secs(), .1)]
    Timeout(Duration, String),
    /// It exited.
    #[error("it exited unexpectedly{0}")]
    Exited(String),
    /// It uses another version of the protocol.
    #[error("it uses protocol version {0}; hew supports only version 1")]
    Version(u16),
    /// It requires a login.
    #[error("it requires a login ({0}); start it in a terminal and log in")]
    Login(String),
    /// It returned an error.
    #[error("{0}")]
    Refused(String),
}

/// Information from an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInfo {
    /// Its name and version.
    pub name: String,
    /// Its optional capabilities, in the terms of the protocol.
    pub capabilities: Vec<String>,
    /// Its login methods.
    pub login: Vec<String>,
}

/// A running agent. Dropping it ends the process.
pub(crate) struct AgentProcess {
    pub(crate) peer: Peer,
    pub(crate) initialized: InitializeResponse,
    process: Mutex<PipedProcess>,
}

impl AgentProcess {
    /// Starts an agent and initializes it.
    pub(crate) async fn start(
        definition: &AgentDefinition,
        place: &AgentEnvironment,
    ) -> Result<(Self, mpsc::Receiver<Incoming>), AgentError> {
        let program = Program::Exec {
            program: OsString::from(&definition.command),
            args: definition.args.iter().map(OsString::from).collect(),
        };
        let environment = definition
            .env
            .iter()
            .fold(place.environment.clone(), |all: ProcessEnvironment, (name, value)| {
                all.with(name, value)
            });
        // An agent needs its own files and the network. Its guard ends everything that it has started.
        let guarded = place.confinement.as_ref().map(|confinement| {
            confinement.with_access(&ProcessAccess {
                unconfined: true,
                ..ProcessAccess::default()
            })
        });
        let started = PipedProcess::start(&program, &place.root, &environment, guarded.as_ref());
        let (process, input, output) = started.map_err(|error| AgentError::Start(error_chain(&error)))?;
        let (peer, incoming, _) = connect(output, input);
        let ours = definition.files == FileAccess::ThroughClient;
        let can = ClientCapabilities::new()
            .fs(FileSystemCapabilities::new().read_text_file(ours).write_text_file(ours))
            .terminal(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(can)
            .client_info(Implementation::new("hew", env!("CARGO_PKG_VERSION")));
        let limit = INITIALIZE_TIMEOUT.min(definition.timeout);
        let hello = tokio::time::timeout(limit, peer.request::<InitializeResponse>("initialize", &request)).await;
        let hello = match hello {
            Ok(Ok(hello)) => hello,
            Ok(Err(_)) if !peer.is_connected() => return Err(AgentError::Exited(wait_for_stderr(process).await)),
            Ok(Err(error)) => return Err(AgentError::Refused(error_text(&error))),
            Err(_) => return Err(AgentError::Timeout(limit, wait_for_stderr(process).await)),
        };
        if hello.protocol_version != ProtocolVersion::V1 {
            return Err(AgentError::Version(hello.protocol_version.as_u16()));
        }
        let running = AgentProcess {
            peer,
            initialized: hello,
            process: Mutex::new(process),
        };
        Ok((running, incoming))
    }

    pub(crate) fn about(&self) -> AgentInfo {
        let hello = &self.initialized;
        let name = match &hello.agent_info {
            Some(info) => format!("{} {}", info.title.as_deref().unwrap_or(&info.name), info.version),
            None => "unnamed agent".to_owned(),
        };
        let (agent, session) = (
            &hello.agent_capabilities,
            &hello.agent_capabilities.session_capabilities,
        );
        let can = [
            ("session/load", agent.load_session),
            ("session/resume", session.resume.is_some()),
            ("session/list", session.list.is_some()),
            ("images", agent.prompt_capabilities.image),
            ("embedded context", agent.prompt_capabilities.embedded_context),
            ("MCP over HTTP", agent.mcp_capabilities.http),
        ];
        AgentInfo {
            name,
            capabilities: can
                .into_iter()
                .filter(|(_, can)| *can)
                .map(|(what, _)| what.to_owned())
                .collect(),
            login: hello
                .auth_methods
                .iter()
                .map(|method| method.name().to_owned())
                .collect(),
        }
    }

    /// Opens a session: resumes the given one if the agent supports it, otherwise creates a new one.
    pub(crate) async fn open_session(&self, root: &Path, known: Option<&str>) -> Result<String, AgentError> {
        if let Some(known) = known {
            let can = &self.initialized.agent_capabilities;
            let opened = match (can.session_capabilities.resume.is_some(), can.load_session) {
                (true, _) => {
                    let request = ResumeSessionRequest::new(known.to_owned(), root);
                    Some(self.peer.request::<Value>("session/resume", &request).await)
                }
                (false, true) => {
                    let request = LoadSessionRequest::new(known.to_owned(), root);
                    Some(self.peer.request::<Value>("session/load", &request).await)
                }
                (false, false) => None,
            };
            if let Some(Ok(_)) = opened {
                return Ok(known.to_owned());
            }
        }
        let request = NewSessionRequest::new(root);
        let opened = self.peer.request::<NewSessionResponse>("session/new", &request).await;
        match opened {
            Ok(opened) => Ok(opened.session_id.0.to_string()),
            Err(error) if i32::from(error.code) == -32000 => {
                let ways: Vec<&str> = self
                    .initialized
                    .auth_methods
                    .iter()
                    .map(|method| method.name())
                    .collect();
                Err(AgentError::Login(match ways.is_empty() {
                    true => error_text(&error),
                    false => ways.join(", "),
                }))
            }
            Err(error) => Err(self.agent_error(&error)),
        }
    }

    /// Converts an error, depending on whether the agent is still running.
    pub(crate) fn agent_error(&self, error: &Error) -> AgentError {
        match self.peer.is_connected() {
            true => AgentError::Refused(error_text(error)),
            false => AgentError::Exited(self.stderr_tail()),
        }
    }

    /// The end of its standard error, for the user.
    pub(crate) fn stderr_tail(&self) -> String {
        format_stderr(&self.process.lock().unwrap_or_else(PoisonError::into_inner).stderr())
    }
}

/// The standard error of a failed agent.
async fn wait_for_stderr(mut process: PipedProcess) -> String {
    // Its last output may still be in transit.
    drop(tokio::time::timeout(Duration::from_millis(500), process.wait()).await);
    format_stderr(&process.stderr())
}

fn format_stderr(stderr: &sandbox::CapturedOutput) -> String {
    let text = format!("{}{}", stderr.head, stderr.tail);
    let text = text.trim();
    match text.is_empty() {
        true => String::new(),
        false => format!(
            "; stderr: {}",
            &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_STDERR))..]
        ),
    }
}

/// The message of a protocol error.
pub(crate) fn error_text(error: &Error) -> String {
    match &error.data {
        Some(Value::String(data)) => format!("{}: {data}", error.message),
        Some(data) if !data.is_null() => format!("{}: {data}", error.message),
        Some(_) | None => error.message.clone(),
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}
