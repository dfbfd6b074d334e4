//! A process with piped input and output, such as a language server.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::Child;
use tokio::task::JoinHandle;

use crate::group::ProcessGroup;
use crate::guard_channel::GuardChannel;
use crate::process::GroupShutdown;
use crate::spawn::{ResolvedProgram, group_leader};
use crate::{
    CaptureCap, CapturedOutput, Confinement, ConfinementLevel, Error, OutputCapture, ProcessEnvironment,
    ProcessRequest, ProcessStatus, Program,
};

/// The captured size of standard error.
const STDERR_CAP: CaptureCap = CaptureCap {
    head: 16 * 1024,
    tail: 48 * 1024,
};
const BUFFER: usize = 8 * 1024;
/// How long the rest of standard error is awaited after the end.
const STDERR_DRAIN: Duration = Duration::from_millis(500);

/// A process with piped input and output. Dropping it terminates it with all its descendants, and kills them after
/// [`GRACE`](crate::ProcessRequest::GRACE). With a guard they also end when this program is killed.
#[derive(Debug)]
pub struct PipedProcess {
    owner: PipedOwner,
    stderr: Arc<Mutex<OutputCapture>>,
    /// Reads standard error; `None` once all of it has been read.
    reader: Option<JoinHandle<()>>,
}

/// The owner of a piped process, which ends it when dropped.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
enum PipedOwner {
    Guard(Option<GuardChannel>),
    Group(Option<Child>, ProcessGroup),
}

impl PipedProcess {
    /// Starts a process and returns its input and output. Without a confinement, even one that confines nothing, only its
    /// process group ends with it. Must be called within a tokio runtime.
    pub fn start(
        program: &Program,
        cwd: &Path,
        environment: &ProcessEnvironment,
        confinement: Option<&Confinement>,
    ) -> Result<(Self, Sender, Receiver), Error> {
        let resolved = ResolvedProgram::new(program, environment, cwd)?;
        let failed = |source: io::Error| Error::Start {
            program: resolved.name.clone(),
            source,
        };
        let pipe = || io::pipe().map_err(failed);
        let ((stdin, input), (output, stdout), (errors, stderr)) = (pipe()?, pipe()?, pipe()?);
        let input = Sender::from_owned_fd(input.into()).map_err(failed)?;
        let output = Receiver::from_owned_fd(output.into()).map_err(failed)?;
        let errors = Receiver::from_owned_fd(errors.into()).map_err(failed)?;
        let confinement = confinement.filter(|confinement| {
            // Only a guard ends all descendants, also of unconfined processes.
            cfg!(target_os = "linux") || confinement.level != ConfinementLevel::Off
        });
        let owner = match confinement {
            #[cfg(target_os = "linux")]
            Some(confinement) => PipedOwner::Guard(Some(crate::launch::submit(
                confinement,
                &resolved,
                cwd,
                environment,
                [stdout.into(), stderr.into()],
                Some(stdin.into()),
            )?)),
            confinement => {
                let mut command = match confinement {
                    #[cfg(not(target_os = "linux"))]
                    Some(confinement) => crate::seatbelt::piped_command(confinement, &resolved)?,
                    _ => {
                        let mut command = group_leader(&resolved.path, environment);
                        command.args(&resolved.args);
                        command
                    }
                };
                command
                    .current_dir(cwd)
                    .env_clear()
                    .envs(environment.iter())
                    .stdin(stdin)
                    .stdout(stdout)
                    .stderr(stderr);
                let started = |source: io::Error| match cwd.is_dir() {
                    true => failed(source),
                    false => Error::Directory { path: cwd.to_owned() },
                };
                let child = tokio::process::Command::from(command).spawn().map_err(started)?;
                let group = child.id().and_then(ProcessGroup::new);
                let group = group.ok_or_else(|| failed(io::Error::other("it ended immediately")))?;
                PipedOwner::Group(Some(child), group)
            }
        };
        let captured = Arc::new(Mutex::new(OutputCapture::new(STDERR_CAP)));
        let reader = Some(tokio::spawn(capture_stderr(errors, captured.clone())));
        let process = Self {
            owner,
            stderr: captured,
            reader,
        };
        Ok((process, input, output))
    }

    /// The start and the end of its standard error so far.
    pub fn stderr(&self) -> CapturedOutput {
        self.stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .finish()
    }

    /// Waits for its end. With a guard, its descendants have ended too. Cancel safe.
    pub async fn wait(&mut self) -> ProcessStatus {
        let status = self.wait_for_owner().await;
        // A process in the background may keep standard error open.
        if let Some(reader) = &mut self.reader
            && tokio::time::timeout(STDERR_DRAIN, reader).await.is_ok()
        {
            self.reader = None;
        }
        status
    }

    async fn wait_for_owner(&mut self) -> ProcessStatus {
        match &mut self.owner {
            PipedOwner::Guard(Some(channel)) => {
                channel.wait().await;
                let report = channel.report();
                if let Some(why) = report.failure {
                    let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
                    stderr.add(format!("The program was not started: {why}\n").as_bytes());
                }
                report.status
            }
            // An error means that the process has already ended.
            PipedOwner::Group(Some(child), _) => match child.wait().await {
                Ok(status) => match (status.code(), status.signal()) {
                    (Some(code), _) => ProcessStatus::Exited(code),
                    (None, Some(signal)) => ProcessStatus::Signalled(signal),
                    (None, None) => ProcessStatus::Unknown,
                },
                Err(_) => ProcessStatus::Unknown,
            },
            PipedOwner::Guard(None) | PipedOwner::Group(None, _) => ProcessStatus::Unknown,
        }
    }

    /// The resident memory of the process and its descendants in bytes, if known.
    pub fn memory(&self) -> Option<u64> {
        match &self.owner {
            PipedOwner::Guard(channel) => usage::memory(channel.as_ref()?.guard_id()?),
            PipedOwner::Group(child, _) => usage::memory(child.as_ref()?.id()?),
        }
    }
}

/// Reads standard error continuously, so that the process does not block.
async fn capture_stderr(mut errors: Receiver, stderr: Arc<Mutex<OutputCapture>>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&buffer[..count]);
    }
}

impl Drop for PipedProcess {
    fn drop(&mut self) {
        let ending = match &mut self.owner {
            PipedOwner::Guard(channel) => {
                if channel.as_ref().is_none_or(GuardChannel::has_ended) {
                    return;
                }
                channel.iter().for_each(GuardChannel::terminate);
                GroupShutdown {
                    group: None,
                    child: None,
                    guarded: channel.take(),
                }
            }
            PipedOwner::Group(child, group) => {
                group.terminate();
                GroupShutdown {
                    group: Some(group.clone()),
                    child: child.take(),
                    guarded: None,
                }
            }
        };
        // Without a runtime, dropping `ending` kills the process immediately.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(ending.wait(ProcessRequest::GRACE));
        }
    }
}

/// Memory usage of processes.
mod usage {
    /// The memory of a process and all its descendants. Guards count too; they use little.
    #[cfg(target_os = "linux")]
    pub(super) fn memory(id: u32) -> Option<u64> {
        let mut total = resident(id)?;
        let mut pending = children(id);
        while let Some(id) = pending.pop() {
            // It may have ended meanwhile.
            total += resident(id).unwrap_or_default();
            pending.extend(children(id));
        }
        Some(total)
    }

    #[cfg(target_os = "linux")]
    fn resident(id: u32) -> Option<u64> {
        let text = read(&format!("/proc/{id}/status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    #[cfg(target_os = "linux")]
    fn children(id: u32) -> Vec<u32> {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten();
        let lists = threads
            .flatten()
            .filter_map(|thread| read(&thread.path().join("children").to_string_lossy()));
        lists
            .flat_map(|list| {
                list.split_whitespace()
                    .filter_map(|id| id.parse().ok())
                    .collect::<Vec<u32>>()
            })
            .collect()
    }

    #[cfg(target_os = "linux")]
    fn read(path: &str) -> Option<String> {
        use std::io::Read;
        let file = rustix::fs::open(path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).ok()?;
        let mut text = String::new();
        std::fs::File::from(file).read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn memory(_: u32) -> Option<u64> {
        None
    }
}
