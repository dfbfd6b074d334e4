//! Starts processes.
//!
//! The standard library can use `posix_spawn`, which does not copy this process's page tables, because the program has
//! an absolute path and a process group replaces code between fork and exec.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, Mode, OFlags};
use tokio::net::unix::pipe;

#[cfg(target_os = "linux")]
use crate::launch as platform;
#[cfg(not(target_os = "linux"))]
use crate::seatbelt as platform;
use crate::terminal;
use crate::{
    Confinement, ConfinementLevel, ConfinementReport, Error, Process, ProcessEnvironment, ProcessRequest, Program,
};

/// The maximum length of an argument on Linux, without the final NUL.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// Starts a process. Must be called within a tokio runtime.
pub fn spawn(request: &ProcessRequest) -> Result<Process, Error> {
    let resolved = ResolvedProgram::new(&request.program, &request.environment, &request.cwd)?;
    let command = group_leader(&resolved.path, &request.environment);
    start(command, &resolved.args, request, &resolved.name)
}

impl Confinement {
    /// Starts a process within this confinement. Must be called within a tokio runtime.
    ///
    /// On Linux even an unconfined process has a guard, which kills all its descendants, also when this program is
    /// killed.
    pub fn spawn(&self, request: &ProcessRequest) -> Result<Process, Error> {
        if self.level == ConfinementLevel::Off && !cfg!(target_os = "linux") {
            return spawn(request);
        }
        let resolved = ResolvedProgram::new(&request.program, &request.environment, &request.cwd)?;
        if !is_executable(&resolved.path) {
            return Err(Error::Start {
                program: resolved.name,
                source: io::ErrorKind::PermissionDenied.into(),
            });
        }
        platform::start(self, resolved, request)
    }

    /// Determines what this machine enforces, with a test run of a guard. Takes about as long as an empty command.
    pub fn report(&self) -> Result<ConfinementReport, Error> {
        platform::probe(self).map_err(|source| Error::Start {
            program: self.launcher.to_string_lossy().into_owned(),
            source,
        })
    }
}

/// A resolved program with its arguments.
pub(crate) struct ResolvedProgram {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl ResolvedProgram {
    /// The program and its arguments.
    pub(crate) fn command(&self) -> Vec<OsString> {
        [vec![self.path.clone().into()], self.args.clone()].concat()
    }

    pub(crate) fn new(program: &Program, environment: &ProcessEnvironment, cwd: &Path) -> Result<Self, Error> {
        let (program, args) = arguments(program);
        check_arguments(&args)?;
        let name = program.to_string_lossy().into_owned();
        match find_program(&program, environment, cwd) {
            Some(path) => Ok(Self { name, path, args }),
            None => Err(Error::Missing { program: name }),
        }
    }
}

/// Starts a prepared command with these arguments.
pub(crate) fn start(
    mut command: Command,
    args: &[OsString],
    request: &ProcessRequest,
    name: &str,
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
    let (reader, output) = output_stream(request).map_err(failed)?;
    command
        .args(args)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(request.environment.iter())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output);
    let child = tokio::process::Command::from(command).spawn().map_err(failed)?;
    Process::new(child, reader, request).ok_or_else(|| failed(io::Error::other("it has no process id")))
}

/// The output of the process and its reading end. If no terminal is available, a pipe is used.
pub(crate) fn output_stream(request: &ProcessRequest) -> io::Result<(pipe::Receiver, OwnedFd)> {
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

fn check_arguments(args: &[OsString]) -> Result<(), Error> {
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

/// A command with its own process group. If this process has a terminal, the command also gets its own session, so that
/// child processes (`sudo`, `ssh`) cannot open the terminal and prompt for a password.
pub(crate) fn group_leader(program: &Path, environment: &ProcessEnvironment) -> Command {
    let setsid = has_terminal()
        .then(|| find_program(OsStr::new("setsid"), environment, Path::new("/")))
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

/// The absolute path of a program: as given if it contains a `/`, otherwise from the process's search path.
fn find_program(program: &OsStr, environment: &ProcessEnvironment, cwd: &Path) -> Option<PathBuf> {
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
