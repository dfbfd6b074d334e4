//! Starting a process.
//!
//! Everything is arranged so that the standard library can use `posix_spawn`, which does not copy this process's page
//! tables: an absolute path to the program, a process group instead of code run between fork and exec.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, Mode, OFlags};
use tokio::net::unix::pipe;

use crate::guarded::Guarded;
#[cfg(target_os = "linux")]
use crate::launch as platform;
#[cfg(not(target_os = "linux"))]
use crate::seatbelt as platform;
use crate::terminal;
use crate::{Confinement, Environment, Error, Level, Process, Program, Report, Request};

/// The longest single argument Linux takes, one byte of which ends it.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// Starts a process. Must be called within a tokio runtime.
pub fn spawn(request: &Request) -> Result<Process, Error> {
    let resolved = Resolved::new(&request.program, &request.environment, &request.cwd)?;
    let command = leading(&resolved.path, &request.environment);
    start(command, &resolved.args, request, &resolved.name, None)
}

impl Confinement {
    /// Starts a process within this confinement. Must be called within a tokio runtime.
    ///
    /// On Linux even a process that is not confined has a guard, which ends all it started, however that has hidden, and
    /// also when this program is killed.
    pub fn spawn(&self, request: &Request) -> Result<Process, Error> {
        if self.level == Level::Off && !cfg!(target_os = "linux") {
            return spawn(request);
        }
        let resolved = Resolved::new(&request.program, &request.environment, &request.cwd)?;
        if !is_executable(&resolved.path) {
            return Err(Error::Start {
                program: resolved.name,
                source: io::ErrorKind::PermissionDenied.into(),
            });
        }
        platform::start(self, resolved, request)
    }

    /// Finds out what this machine enforces, by letting a guard try. Takes about as long as an empty command.
    pub fn report(&self) -> Result<Report, Error> {
        platform::probe(self).map_err(|source| Error::Start {
            program: self.launcher.to_string_lossy().into_owned(),
            source,
        })
    }
}

/// A program that was found, and what it is given.
pub(crate) struct Resolved {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl Resolved {
    /// The program and what it is given, as one line.
    pub(crate) fn into_words(self) -> Vec<OsString> {
        [vec![self.path.into()], self.args].concat()
    }

    pub(crate) fn new(program: &Program, environment: &Environment, cwd: &Path) -> Result<Self, Error> {
        let (program, args) = arguments(program);
        check(&args)?;
        let name = program.to_string_lossy().into_owned();
        match look_up(&program, environment, cwd) {
            Some(path) => Ok(Self { name, path, args }),
            None => Err(Error::Missing { program: name }),
        }
    }
}

/// Starts a prepared command with these arguments, as the request wants it.
pub(crate) fn start(
    mut command: Command,
    args: &[OsString],
    request: &Request,
    name: &str,
    guarded: Option<Guarded>,
) -> Result<Process, Error> {
    let failed = |source: io::Error| match request.cwd.is_dir() {
        true => Error::Start {
            program: name.into(),
            source,
        },
        false => Error::Directory {
            path: request.cwd.clone(),
        },
    };
    let (reader, output) = stream(request).map_err(failed)?;
    command
        .args(args)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(request.environment.iter())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output);
    let child = tokio::process::Command::from(command).spawn().map_err(failed)?;
    Process::new(child, reader, request, guarded).ok_or_else(|| failed(io::Error::other("it has no process id")))
}

/// What the process writes to, and where that is read. Where no terminal is to be had, a pipe does.
fn stream(request: &Request) -> io::Result<(pipe::Receiver, OwnedFd)> {
    if let Some(Ok(terminal)) = request.terminal.map(terminal::open) {
        return Ok(terminal);
    }
    let (reader, writer) = io::pipe()?;
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    Ok((reader, writer.into()))
}

fn arguments(program: &Program) -> (OsString, Vec<OsString>) {
    let shell = |name: &str, line: &str| (name.into(), vec!["-c".into(), "--".into(), line.into()]);
    match program {
        Program::Shell(line) => shell("/bin/sh", line),
        Program::Bash(line) => shell("bash", line),
        Program::Exec { program, args } => (program.clone(), args.clone()),
    }
}

fn check(args: &[OsString]) -> Result<(), Error> {
    for arg in args {
        if arg.len() > MAX_ARGUMENT {
            return Err(Error::TooLong {
                bytes: arg.len(),
                limit: MAX_ARGUMENT,
            });
        }
        if arg.as_bytes().contains(&0) {
            return Err(Error::Nul);
        }
    }
    Ok(())
}

/// A command whose process leads a group of its own. Where this process has a terminal, it leads a session too, so that
/// nothing it starts (`sudo`, `ssh`) can open the terminal and wait there for a password.
pub(crate) fn leading(program: &Path, environment: &Environment) -> Command {
    let setsid = has_terminal()
        .then(|| look_up(OsStr::new("setsid"), environment, Path::new("/")))
        .flatten();
    match setsid {
        Some(setsid) => {
            let mut command = Command::new(setsid);
            command.arg(program).stdin(Stdio::null());
            command
        }
        None => {
            let mut command = Command::new(program);
            command.process_group(0).stdin(Stdio::null());
            command
        }
    }
}

fn has_terminal() -> bool {
    rustix::fs::open(
        "/dev/tty",
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .is_ok()
}

/// The absolute path of a program: as given if it contains a `/`, else from the search path the process will see.
fn look_up(program: &OsStr, environment: &Environment, cwd: &Path) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(cwd.join(program));
    }
    let path = environment
        .get("PATH")
        .unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let folders = path
        .as_bytes()
        .split(|byte| *byte == b':')
        .filter(|folder| !folder.is_empty());
    folders
        .map(|folder| cwd.join(OsStr::from_bytes(folder)).join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
