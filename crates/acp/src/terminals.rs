//! Commands that an external agent requests: sandboxed, with bounded output.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Error, KillTerminalRequest, KillTerminalResponse,
    ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use policy::AccessLevel;
use sandbox::{CaptureCap, Confinement, Process, ProcessRequest, ProcessStatus, Program};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::AgentEnvironment;

/// Default and maximum bytes of stored output.
const DEFAULT_OUTPUT: u64 = 64 * 1024;
const MAX_OUTPUT: u64 = 1024 * 1024;
/// Maximum number of terminals per agent.
const MAX_TERMINALS: usize = 32;

/// The terminals of one agent. Dropping them ends their processes.
pub(crate) struct AgentTerminals {
    environment: Arc<AgentEnvironment>,
    level: AccessLevel,
    open: Mutex<OpenTerminals>,
}

#[derive(Default)]
struct OpenTerminals {
    next: u64,
    all: HashMap<String, RunningTerminal>,
}

struct RunningTerminal {
    state: watch::Receiver<TerminalState>,
    /// Dropped to end the command.
    _running: oneshot::Sender<()>,
    killed: Option<oneshot::Sender<()>>,
}

/// The state of a command.
#[derive(Debug, Clone, Default)]
struct TerminalState {
    output: String,
    cut: bool,
    ended: Option<TerminalExitStatus>,
}

impl AgentTerminals {
    pub(crate) fn new(environment: Arc<AgentEnvironment>, level: AccessLevel) -> Self {
        AgentTerminals {
            environment,
            level,
            open: Mutex::default(),
        }
    }

    /// The command line and working directory of a request, for the rules.
    pub(crate) fn command_line(&self, request: &CreateTerminalRequest) -> (String, PathBuf) {
        let words = std::iter::once(&request.command).chain(&request.args);
        let plain = |word: &String| {
            word.chars()
                .all(|it| it.is_ascii_alphanumeric() || "-_./=:,+@%".contains(it))
        };
        let line = match request.args.is_empty() {
            // Many agents send a whole command line.
            true => request.command.clone(),
            false => {
                let words = words.map(|word| match plain(word) && !word.is_empty() {
                    true => word.clone(),
                    false => format!("'{}'", word.replace('\'', "'\\''")),
                });
                words.collect::<Vec<_>>().join(" ")
            }
        };
        let cwd = request.cwd.clone().unwrap_or_else(|| self.environment.root.clone());
        (line, cwd)
    }

    pub(crate) fn create(&self, request: CreateTerminalRequest) -> Result<CreateTerminalResponse, Error> {
        let (line, cwd) = self.command_line(&request);
        let program = match request.args.is_empty() {
            true => Program::Shell(line),
            false => Program::Exec {
                program: OsString::from(&request.command),
                args: request.args.iter().map(OsString::from).collect(),
            },
        };
        let most = request.output_byte_limit.unwrap_or(DEFAULT_OUTPUT).min(MAX_OUTPUT) as usize;
        let environment = request
            .env
            .iter()
            .fold(self.environment.environment.clone(), |all, variable| {
                all.with(&variable.name, &variable.value)
            });
        let order = ProcessRequest {
            program,
            cwd,
            environment,
            timeout: None,
            grace: ProcessRequest::GRACE,
            output: CaptureCap { head: 0, tail: most },
            terminal: None,
        };
        let mut open = self.lock();
        if open.all.len() >= MAX_TERMINALS {
            return Err(failed(format!(
                "{MAX_TERMINALS} terminals are already open; release one first"
            )));
        }
        let started = match &self.environment.confinement {
            Some(confinement) => confinement_at(confinement, self.level).spawn(&order),
            None => sandbox::spawn(&order),
        };
        let process = started.map_err(|error| failed(error.to_string()))?;
        open.next += 1;
        let name = format!("terminal-{}", open.next);
        let (running, released) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let (state_sender, state) = watch::channel(TerminalState::default());
        tokio::spawn(follow(process, most, state_sender, released, killed));
        let terminal = RunningTerminal {
            state,
            _running: running,
            killed: Some(kill),
        };
        open.all.insert(name.clone(), terminal);
        Ok(CreateTerminalResponse::new(name))
    }

    pub(crate) fn output(&self, request: &TerminalOutputRequest) -> Result<TerminalOutputResponse, Error> {
        let state = self.state(&request.terminal_id.0)?.borrow().clone();
        Ok(TerminalOutputResponse::new(state.output, state.cut).exit_status(state.ended))
    }

    pub(crate) async fn wait(
        &self,
        request: &WaitForTerminalExitRequest,
    ) -> Result<WaitForTerminalExitResponse, Error> {
        let mut state = self.state(&request.terminal_id.0)?;
        let ended = state.wait_for(|state| state.ended.is_some()).await;
        let ended = ended.ok().and_then(|state| state.ended.clone()).unwrap_or_default();
        Ok(WaitForTerminalExitResponse::new(ended))
    }

    pub(crate) fn kill(&self, request: &KillTerminalRequest) -> Result<KillTerminalResponse, Error> {
        let name = &*request.terminal_id.0;
        let mut open = self.lock();
        let terminal = open.all.get_mut(name).ok_or_else(|| unknown(name))?;
        // It may have ended or been killed already.
        if let Some(kill) = terminal.killed.take() {
            kill.send(()).ok();
        }
        Ok(KillTerminalResponse::new())
    }

    pub(crate) fn release(&self, request: &ReleaseTerminalRequest) -> Result<ReleaseTerminalResponse, Error> {
        let name = &*request.terminal_id.0;
        let released = self.lock().all.remove(name);
        released
            .map(|_| ReleaseTerminalResponse::new())
            .ok_or_else(|| unknown(name))
    }

    fn state(&self, name: &str) -> Result<watch::Receiver<TerminalState>, Error> {
        let open = self.lock();
        let terminal = open.all.get(name).ok_or_else(|| unknown(name))?;
        Ok(terminal.state.clone())
    }

    fn lock(&self) -> MutexGuard<'_, OpenTerminals> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a command until it ends, is killed or its terminal is released.
async fn follow(
    mut process: Process,
    most: usize,
    state_sender: watch::Sender<TerminalState>,
    mut released: oneshot::Receiver<()>,
    mut killed: oneshot::Receiver<()>,
) {
    let mut is_killed = false;
    loop {
        tokio::select! {
            text = process.next() => match text {
                Some(text) => state_sender.send_modify(|state| state.add(&text, most)),
                None => break,
            },
            // Dropping the process ends it and its children.
            _ = &mut released => return,
            kill = &mut killed, if !is_killed => {
                is_killed = true;
                if kill.is_ok() {
                    process.stop();
                }
            }
        }
    }
    let exit = process.exit().await;
    let status = match exit.status {
        ProcessStatus::Exited(code) => TerminalExitStatus::new().exit_code(u32::try_from(code).ok()),
        ProcessStatus::Signalled(signal) => TerminalExitStatus::new().signal(format!("signal {signal}")),
        ProcessStatus::TimedOut | ProcessStatus::Unknown => TerminalExitStatus::new(),
    };
    state_sender.send_modify(|state| state.ended = Some(status));
    // The output is available until the terminal is released.
    drop(released.await);
}

impl TerminalState {
    /// Adds output; the oldest output is dropped if there is too much.
    fn add(&mut self, text: &str, most: usize) {
        self.output.push_str(text);
        if self.output.len() > most {
            let start = self.output.ceil_char_boundary(self.output.len() - most);
            self.output.drain(..start);
            self.cut = true;
        }
    }
}

/// The confinement of a command at an access level.
fn confinement_at(confinement: &Confinement, level: AccessLevel) -> Confinement {
    Confinement {
        level: match level {
            AccessLevel::ReadOnly => sandbox::ConfinementLevel::ReadOnly,
            AccessLevel::Workspace => sandbox::ConfinementLevel::Workspace,
            AccessLevel::Full => sandbox::ConfinementLevel::Off,
        },
        ..confinement.clone()
    }
}

fn unknown(name: &str) -> Error {
    Error::resource_not_found(Some(name.to_owned()))
}

fn failed(why: String) -> Error {
    Error::internal_error().data(Value::from(why))
}
