//! The connection to a guard and its records.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::denial;
use crate::guard_record::GuardRecord;
use crate::{CapturedOutput, ConfinementReport, ConfinementResult, ProcessStatus};

/// The maximum size of a guard's records.
const MAX_RECEIVED: usize = 256 * 1024;
/// The exit code of a command that was found but could not be started, as in shells.
const NOT_STARTED: i32 = 126;

/// The connection to a process's guard.
#[derive(Debug)]
pub(crate) struct GuardChannel {
    socket: Arc<UnixStream>,
    /// The same socket for async use.
    async_socket: tokio::net::UnixStream,
    received: Vec<u8>,
    /// A short description of the confinement, if any.
    summary: Option<String>,
}

/// A guard's report about a process that has ended.
#[derive(Debug)]
pub(crate) struct GuardReport {
    pub(crate) status: ProcessStatus,
    /// The process group that the process leads.
    pub(crate) group: Option<Pid>,
    pub(crate) left: bool,
    /// Why the process was not started.
    pub(crate) failure: Option<String>,
    pub(crate) report: Option<ConfinementReport>,
    undone: Vec<PathBuf>,
}

impl GuardChannel {
    /// A connection to a guard, and the guard's end of it. Must be called within a tokio runtime.
    pub(crate) fn new(summary: Option<String>) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guarded = Self {
            async_socket: tokio::net::UnixStream::from_std(ours.try_clone()?)?,
            socket: Arc::new(ours),
            received: Vec::new(),
            summary,
        };
        Ok((guarded, theirs))
    }

    pub(crate) fn socket(&self) -> Arc<UnixStream> {
        Arc::clone(&self.socket)
    }

    /// Waits until the guard has sent its last record or is gone. The kernel takes time to remove the guard's mount
    /// namespace, which need not be awaited.
    pub(crate) async fn wait(&mut self) {
        let mut buffer = [0; 1024];
        while !self.has_ended() && self.received.len() < MAX_RECEIVED {
            match self
                .async_socket
                .readable()
                .await
                .and_then(|()| self.async_socket.try_read(&mut buffer))
            {
                Ok(0) => return,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// Whether the guard has sent its last record.
    pub(crate) fn has_ended(&self) -> bool {
        GuardRecord::decode(&self.received).any(|record| record.is_last())
    }

    pub(crate) fn report(&self) -> GuardReport {
        GuardReport::from(self.received.as_slice())
    }

    /// Kills the process if its guard is gone.
    pub(crate) fn kill_group(&mut self) {
        // The guard may have sent the process group just before it ended.
        let mut buffer = [0; 1024];
        while self.received.len() < MAX_RECEIVED {
            match (&*self.socket).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            }
        }
        if let Some(group) = self.report().group.filter(|_| !self.has_ended()) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }

    pub(crate) fn confinement_result(
        &self,
        testimony: GuardReport,
        status: ProcessStatus,
        output: &CapturedOutput,
    ) -> Option<ConfinementResult> {
        Some(ConfinementResult {
            summary: self.summary.clone()?,
            report: testimony
                .report
                .unwrap_or_else(|| ConfinementReport::unconfined("the guard ended early")),
            denial: denial::detect_denial(status, output),
            reverted: testimony.undone,
        })
    }
}

impl From<&[u8]> for GuardReport {
    fn from(told: &[u8]) -> Self {
        let mut testimony = Self {
            status: ProcessStatus::Unknown,
            group: None,
            left: false,
            failure: None,
            report: None,
            undone: Vec::new(),
        };
        for record in GuardRecord::decode(told) {
            match record {
                GuardRecord::Enforced(report) => testimony.report = Some(report),
                GuardRecord::Failed(why) => {
                    testimony.failure = Some(why);
                    testimony.status = ProcessStatus::Exited(NOT_STARTED);
                }
                GuardRecord::Started(group) => testimony.group = Pid::from_raw(group),
                GuardRecord::Ended(status) => testimony.status = status,
                GuardRecord::LeftProcesses => testimony.left = true,
                GuardRecord::Reverted(path) => testimony.undone.push(path),
            }
        }
        testimony
    }
}
