//! Another agent that runs: started, greeted, and told apart from one that does not answer.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    ClientCapabilities, Error, FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, NewSessionRequest, NewSessionResponse, ResumeSessionRequest,
};
use sandbox::{Environment, Partner, Program};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::wire::{Incoming, Peer, connect};
use crate::{Definition, Files, Place};

/// How long an agent may take to say hello: some install themselves first.
const HELLO: Duration = Duration::from_secs(120);
/// So much of what it wrote to its standard error is told.
const TOLD: usize = 600;

/// Why another agent cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// Nobody has configured it.
    #[error("there is no agent `{0}`")]
    Unknown(String),
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(String),
    /// It does not answer.
    #[error("it said nothing for {} s{}", .0.as_secs(), .1)]
    Silent(Duration, String),
    /// It is gone.
    #[error("it ended unexpectedly{0}")]
    Died(String),
    /// It speaks another version of the protocol.
    #[error("it speaks version {0} of the protocol, and hew only version 1")]
    Version(u16),
    /// It wants the person to log in.
    #[error("it wants you to log in first ({0}); start it by hand and do so")]
    Login(String),
    /// It refused.
    #[error("{0}")]
    Refused(String),
}

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// What it calls itself, and its version.
    pub name: String,
    /// What it can do besides the least, in the protocol's words.
    pub can: Vec<String>,
    /// How one logs in, where it says so.
    pub login: Vec<String>,
}

/// An agent that runs. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) peer: Peer,
    pub(crate) hello: InitializeResponse,
    partner: Mutex<Partner>,
}

impl Running {
    /// Starts an agent and greets it.
    pub(crate) async fn start(
        definition: &Definition,
        place: &Place,
    ) -> Result<(Self, mpsc::Receiver<Incoming>), Fault> {
        let program = Program::Exec {
            program: OsString::from(&definition.command),
            args: definition.args.iter().map(OsString::from).collect(),
        };
        let environment = definition
            .env
            .iter()
            .fold(place.environment.clone(), |all: Environment, (name, value)| {
                all.with(name, value)
            });
        let started = Partner::start(&program, &place.root, &environment);
        let (partner, input, output) = started.map_err(|error| Fault::Start(chain(&error)))?;
        let (peer, incoming, _) = connect(output, input);
        let ours = definition.files == Files::Ours;
        let can = ClientCapabilities::new()
            .fs(FileSystemCapabilities::new().read_text_file(ours).write_text_file(ours))
            .terminal(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(can)
            .client_info(Implementation::new("hew", env!("CARGO_PKG_VERSION")));
        let patience = HELLO.min(definition.timeout);
        let hello = tokio::time::timeout(patience, peer.ask::<InitializeResponse>("initialize", &request)).await;
        let hello = match hello {
            Ok(Ok(hello)) => hello,
            Ok(Err(_)) if !peer.is_there() => return Err(Fault::Died(said(partner).await)),
            Ok(Err(error)) => return Err(Fault::Refused(words(&error))),
            Err(_) => return Err(Fault::Silent(patience, said(partner).await)),
        };
        if hello.protocol_version != ProtocolVersion::V1 {
            return Err(Fault::Version(hello.protocol_version.as_u16()));
        }
        let running = Running {
            peer,
            hello,
            partner: Mutex::new(partner),
        };
        Ok((running, incoming))
    }

    pub(crate) fn about(&self) -> About {
        let hello = &self.hello;
        let name = match &hello.agent_info {
            Some(info) => format!("{} {}", info.title.as_deref().unwrap_or(&info.name), info.version),
            None => "an agent without a name".to_owned(),
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
        About {
            name,
            can: can
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

    /// Opens a session: the one that is named where the agent can go on with it, else a new one.
    pub(crate) async fn open(&self, root: &Path, known: Option<&str>) -> Result<String, Fault> {
        if let Some(known) = known {
            let can = &self.hello.agent_capabilities;
            let opened = match (can.session_capabilities.resume.is_some(), can.load_session) {
                (true, _) => {
                    let request = ResumeSessionRequest::new(known.to_owned(), root);
                    Some(self.peer.ask::<Value>("session/resume", &request).await)
                }
                (false, true) => {
                    let request = LoadSessionRequest::new(known.to_owned(), root);
                    Some(self.peer.ask::<Value>("session/load", &request).await)
                }
                (false, false) => None,
            };
            if let Some(Ok(_)) = opened {
                return Ok(known.to_owned());
            }
        }
        let request = NewSessionRequest::new(root);
        let opened = self.peer.ask::<NewSessionResponse>("session/new", &request).await;
        match opened {
            Ok(opened) => Ok(opened.session_id.0.to_string()),
            Err(error) if i32::from(error.code) == -32000 => {
                let ways: Vec<&str> = self.hello.auth_methods.iter().map(|method| method.name()).collect();
                Err(Fault::Login(match ways.is_empty() {
                    true => words(&error),
                    false => ways.join(", "),
                }))
            }
            Err(error) => Err(self.fault(&error)),
        }
    }

    /// What an error means, whether the agent is still there or not.
    pub(crate) fn fault(&self, error: &Error) -> Fault {
        match self.peer.is_there() {
            true => Fault::Refused(words(error)),
            false => Fault::Died(self.last_words()),
        }
    }

    /// The end of what it wrote to its standard error, for people.
    pub(crate) fn last_words(&self) -> String {
        tell(&self.partner.lock().unwrap_or_else(PoisonError::into_inner).said())
    }
}

/// What an agent that is given up wrote to its standard error.
async fn said(mut partner: Partner) -> String {
    // Its last words may still be on their way.
    drop(tokio::time::timeout(Duration::from_millis(500), partner.ended()).await);
    tell(&partner.said())
}

fn tell(said: &sandbox::Output) -> String {
    let text = format!("{}{}", said.head, said.tail);
    let text = text.trim();
    match text.is_empty() {
        true => String::new(),
        false => format!(
            "; it last wrote: {}",
            &text[text.ceil_char_boundary(text.len().saturating_sub(TOLD))..]
        ),
    }
}

/// An error of the other side in words.
pub(crate) fn words(error: &Error) -> String {
    match &error.data {
        Some(Value::String(data)) => format!("{}: {data}", error.message),
        Some(data) if !data.is_null() => format!("{}: {data}", error.message),
        Some(_) | None => error.message.clone(),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
