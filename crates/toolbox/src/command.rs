//! A shell command that runs: started, watched for a while, and told of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::{
    Cap, Confinement, Environment, Exit, Leftover, Level, Output as Printed, Process, Program, Request, Size, Status,
};
use tool::{Context, Error, Notices, Output, TerminalEnd, TerminalOrder, Terminals};

use crate::fold::fold;
use crate::shell;
use crate::spill::Spill;
use crate::transcript::Transcript;

/// The start of a long output tells what was run, its end how that went; the end matters more.
const OUTPUT: Cap = Cap {
    head: 12_000,
    tail: 18_000,
};
/// Wide, because programs cut what they print to the width.
const SIZE: Size = Size { columns: 160, rows: 50 };

/// A command that runs in somebody else's terminal cannot go on in the background, and is ended after this long.
const ELSEWHERE: Duration = Duration::from_secs(600);

/// How commands are run.
#[derive(Clone)]
pub struct Commands {
    /// What they may reach; the level is that of each call. Without it they may do all that we may, and what hides from its
    /// own process group is not found when a command ends.
    pub confinement: Option<Confinement>,
    /// How long the model waits for one before it goes on in the background.
    pub patience: Duration,
    /// Where it is told that one has ended in the background.
    pub notices: Notices,
    /// Where commands run that nothing confines, if not here.
    pub terminals: Option<Arc<dyn Terminals>>,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            confinement: None,
            patience: Duration::from_secs(60),
            notices: Notices::none(),
            terminals: None,
        }
    }
}

/// What is to be run.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) line: String,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    /// When it is ended.
    pub(crate) limit: Option<Duration>,
    /// Where its output goes if it is too long to be shown.
    pub(crate) spill: Spill,
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) command: String,
    pub(crate) process: Process,
    pub(crate) started: Instant,
    pub(crate) limit: Option<Duration>,
    transcript: Transcript,
}

/// How far a command came while it was watched.
pub(crate) enum Watched {
    Ended(Box<Exit>),
    /// It goes on.
    Runs,
}

impl Command {
    /// Starts it, within a confinement if there is one.
    pub(crate) fn start(&self, confinement: Option<&Confinement>) -> Result<Running, Error> {
        let request = Request {
            program: shell::program(self.line.clone()),
            cwd: self.cwd.clone(),
            environment: self.environment.clone(),
            timeout: self.limit,
            grace: Request::GRACE,
            output: OUTPUT,
            terminal: Some(SIZE),
        };
        let process = spawn(request, confinement).map_err(|error| Error::Failed(chain(&error)))?;
        Ok(Running {
            command: self.line.clone(),
            process,
            started: Instant::now(),
            limit: self.limit,
            transcript: Transcript::new(self.spill.clone(), OUTPUT.head + OUTPUT.tail),
        })
    }
}

impl Commands {
    /// Where a command runs that this confinement does not hold, if not here.
    pub(crate) fn elsewhere(&self, confinement: Option<&Confinement>) -> Option<&Arc<dyn Terminals>> {
        let free = confinement.is_none_or(|confinement| confinement.level == Level::Off);
        self.terminals.as_ref().filter(|_| free)
    }
}

impl Command {
    /// Runs it in a terminal of somebody else.
    pub(crate) async fn run_in(&self, terminals: &Arc<dyn Terminals>, context: &Context) -> Result<Output, Error> {
        let order = TerminalOrder {
            call: context.call.clone(),
            command: self.line.clone(),
            cwd: self.cwd.clone(),
            limit: Some(self.limit.unwrap_or(ELSEWHERE)),
            most: (OUTPUT.head + OUTPUT.tail) as u64,
        };
        let TerminalEnd {
            output,
            cut,
            how,
            ok: _,
        } = terminals.run(order).await?;
        let mut text = match cut {
            true => format!("[the beginning is cut]\n{}", fold(&output)),
            false => fold(&output),
        };
        newline(&mut text);
        Ok(Output::text(format!("{text}[{how}; run outside the sandbox]")).summary(how))
    }
}

impl Running {
    /// The next piece of output, which also goes to the transcript.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let text = self.process.next().await?;
        self.transcript.add(&text);
        Some(text)
    }

    /// Where all of the output is, once it is too much to show.
    pub(crate) fn transcript(&self) -> Option<String> {
        let path = self.transcript.path()?.display();
        Some(match self.transcript.lost() {
            Some(lost) => format!("{path}; {lost}"),
            None => path.to_string(),
        })
    }

    /// Shows its output as it comes, until it ends or has taken this long.
    pub(crate) async fn watch(&mut self, context: &Context, patience: Option<Duration>) -> Watched {
        let due = patience.and_then(|patience| tokio::time::Instant::now().checked_add(patience));
        loop {
            let next = match due {
                // A flood always has more, so the clock comes first.
                Some(due) if tokio::time::Instant::now() >= due => return Watched::Runs,
                Some(due) => match tokio::time::timeout_at(due, self.next()).await {
                    Ok(next) => next,
                    Err(_) => return Watched::Runs,
                },
                None => self.next().await,
            };
            match next {
                Some(text) => context.progress.show(&context.call, text),
                None => return Watched::Ended(Box::new(self.process.exit().await)),
            }
        }
    }
}

/// The confinement of a command at what the person allows in general.
pub(crate) fn at_level(confinement: &Confinement, level: policy::Level) -> Confinement {
    Confinement {
        level: match level {
            policy::Level::ReadOnly => Level::ReadOnly,
            policy::Level::Workspace => Level::Workspace,
            policy::Level::Full => Level::Off,
        },
        ..confinement.clone()
    }
}

/// Starts a command; without bash on this machine, in the shell that there is.
pub(crate) fn spawn(request: Request, confinement: Option<&Confinement>) -> Result<Process, sandbox::Error> {
    let start = |request: &Request| match confinement {
        Some(confinement) => confinement.spawn(request),
        None => sandbox::spawn(request),
    };
    match (start(&request), request.program) {
        (Err(sandbox::Error::Missing { .. }), Program::Bash(command)) => start(&Request {
            program: Program::Shell(command),
            ..request
        }),
        (spawned, _) => spawned,
    }
}

/// How a command ended, in two or three words.
pub(crate) fn status(exit: &Exit, limit: Option<Duration>) -> String {
    match exit.status {
        Status::Exited(code) => format!("exit code {code}"),
        Status::Signalled(signal) => format!("ended by signal {signal}"),
        Status::TimedOut => format!("stopped after {} s", limit.unwrap_or_default().as_secs()),
        Status::Unknown => "ended in an unknown way".to_owned(),
    }
}

/// How a command ended, and what the model should know about that.
pub(crate) fn ending(exit: &Exit, limit: Option<Duration>) -> String {
    let mut notes = vec![status(exit, limit)];
    if exit.leftover == Leftover::Running && matches!(exit.status, Status::Exited(_)) {
        notes.push("its background processes were ended".into());
    }
    notes.extend(exit.confinement.as_ref().and_then(sandbox::Confined::note));
    notes.join("; ")
}

/// What was printed, as the model sees it, ending with a line end if there is anything.
pub(crate) fn shown(printed: Printed, transcript: Option<&str>) -> String {
    let Printed { head, tail, cut } = printed;
    let mut text = fold(&head);
    if cut > 0 {
        newline(&mut text);
        text.push_str(&match transcript {
            Some(path) => format!("[{cut} bytes cut; all of it is in {path}]\n"),
            None => format!("[{cut} bytes cut; redirect to a file to see them]\n"),
        });
        text.push_str(&fold(&tail));
    }
    newline(&mut text);
    text
}

fn newline(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// An error and what caused it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
