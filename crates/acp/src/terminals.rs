//! Commands that another agent has us run: in our sandbox, with a bound on what is kept of their output.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Error, KillTerminalRequest, KillTerminalResponse,
    ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use policy::Level;
use sandbox::{Cap, Confinement, Process, Program, Request, Status};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::Place;

/// As much output as is kept where the agent does not say, and at most, in bytes.
const OUTPUT: u64 = 64 * 1024;
const MOST_OUTPUT: u64 = 1024 * 1024;
/// As many commands of one agent at once.
const MOST: usize = 32;

/// The terminals of one agent. Dropping them ends what runs there.
pub(crate) struct Terminals {
    place: Arc<Place>,
    level: Level,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    all: HashMap<String, Terminal>,
}

struct Terminal {
    seen: watch::Receiver<Seen>,
    /// Dropped to end the command.
    _running: oneshot::Sender<()>,
    killed: Option<oneshot::Sender<()>>,
}

/// What is known of a command.
#[derive(Debug, Clone, Default)]
struct Seen {
    output: String,
    cut: bool,
    ended: Option<TerminalExitStatus>,
}

impl Terminals {
    pub(crate) fn new(place: Arc<Place>, level: Level) -> Self {
        Terminals {
            place,
            level,
            open: Mutex::default(),
        }
    }

    /// A request as a command line and the folder it runs in, for the rules.
    pub(crate) fn line(&self, request: &CreateTerminalRequest) -> (String, PathBuf) {
        let words = std::iter::once(&request.command).chain(&request.args);
        let plain = |word: &String| {
            word.chars()
                .all(|it| it.is_ascii_alphanumeric() || "-_./=:,+@%".contains(it))
        };
        let line = match request.args.is_empty() {
            // Many agents hand over a whole line.
            true => request.command.clone(),
            false => {
                let words = words.map(|word| match plain(word) && !word.is_empty() {
                    true => word.clone(),
                    false => format!("'{}'", word.replace('\'', "'\\''")),
                });
                words.collect::<Vec<_>>().join(" ")
            }
        };
        let cwd = request.cwd.clone().unwrap_or_else(|| self.place.root.clone());
        (line, cwd)
    }

    pub(crate) fn create(&self, request: CreateTerminalRequest) -> Result<CreateTerminalResponse, Error> {
        let (line, cwd) = self.line(&request);
        let program = match request.args.is_empty() {
            true => Program::Shell(line),
            false => Program::Exec {
                program: OsString::from(&request.command),
                args: request.args.iter().map(OsString::from).collect(),
            },
        };
        let most = request.output_byte_limit.unwrap_or(OUTPUT).min(MOST_OUTPUT) as usize;
        let environment = request
            .env
            .iter()
            .fold(self.place.environment.clone(), |all, variable| {
                all.with(&variable.name, &variable.value)
            });
        let order = Request {
            program,
            cwd,
            environment,
            timeout: None,
            grace: Request::GRACE,
            output: Cap { head: 0, tail: most },
            terminal: None,
        };
        let mut open = self.lock();
        if open.all.len() >= MOST {
            return Err(failed(format!("{MOST} terminals are open already; release one first")));
        }
        let started = match &self.place.confinement {
            Some(confinement) => at(confinement, self.level).spawn(&order),
            None => sandbox::spawn(&order),
        };
        let process = started.map_err(|error| failed(error.to_string()))?;
        open.next += 1;
        let name = format!("terminal-{}", open.next);
        let (running, released) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let (told, seen) = watch::channel(Seen::default());
        tokio::spawn(follow(process, most, told, released, killed));
        let terminal = Terminal {
            seen,
            _running: running,
            killed: Some(kill),
        };
        open.all.insert(name.clone(), terminal);
        Ok(CreateTerminalResponse::new(name))
    }

    pub(crate) fn output(&self, request: &TerminalOutputRequest) -> Result<TerminalOutputResponse, Error> {
        let seen = self.seen(&request.terminal_id.0)?.borrow().clone();
        Ok(TerminalOutputResponse::new(seen.output, seen.cut).exit_status(seen.ended))
    }

    pub(crate) async fn wait(
        &self,
        request: &WaitForTerminalExitRequest,
    ) -> Result<WaitForTerminalExitResponse, Error> {
        let mut seen = self.seen(&request.terminal_id.0)?;
        let ended = seen.wait_for(|seen| seen.ended.is_some()).await;
        let ended = ended.ok().and_then(|seen| seen.ended.clone()).unwrap_or_default();
        Ok(WaitForTerminalExitResponse::new(ended))
    }

    pub(crate) fn kill(&self, request: &KillTerminalRequest) -> Result<KillTerminalResponse, Error> {
        let name = &*request.terminal_id.0;
        let mut open = self.lock();
        let terminal = open.all.get_mut(name).ok_or_else(|| unknown(name))?;
        // It may have ended, or been told already.
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

    fn seen(&self, name: &str) -> Result<watch::Receiver<Seen>, Error> {
        let open = self.lock();
        let terminal = open.all.get(name).ok_or_else(|| unknown(name))?;
        Ok(terminal.seen.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a command to its end, until it is killed or its terminal given back.
async fn follow(
    mut process: Process,
    most: usize,
    told: watch::Sender<Seen>,
    mut released: oneshot::Receiver<()>,
    mut killed: oneshot::Receiver<()>,
) {
    let mut is_killed = false;
    loop {
        tokio::select! {
            text = process.next() => match text {
                Some(text) => told.send_modify(|seen| seen.add(&text, most)),
                None => break,
            },
            // Dropping the process ends it and all that it started.
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
        Status::Exited(code) => TerminalExitStatus::new().exit_code(u32::try_from(code).ok()),
        Status::Signalled(signal) => TerminalExitStatus::new().signal(format!("signal {signal}")),
        Status::TimedOut | Status::Unknown => TerminalExitStatus::new(),
    };
    told.send_modify(|seen| seen.ended = Some(status));
    // What it printed can be asked for until the terminal is given back.
    drop(released.await);
}

impl Seen {
    /// Adds output; of what is too much the beginning goes.
    fn add(&mut self, text: &str, most: usize) {
        self.output.push_str(text);
        if self.output.len() > most {
            let start = self.output.ceil_char_boundary(self.output.len() - most);
            self.output.drain(..start);
            self.cut = true;
        }
    }
}

/// The confinement of a command at what the person allows in general.
fn at(confinement: &Confinement, level: Level) -> Confinement {
    Confinement {
        level: match level {
            Level::ReadOnly => sandbox::Level::ReadOnly,
            Level::Workspace => sandbox::Level::Workspace,
            Level::Full => sandbox::Level::Off,
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
