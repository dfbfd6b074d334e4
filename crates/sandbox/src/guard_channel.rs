//! The connection to a guard and its records.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::denial;
use crate::guard_record::GuardRecord;
use crate::guard_server::GuardServer;
use crate::{CapturedOutput, ConfinementReport, ConfinementResult, NetworkAccess, PathScan, ProcessStatus};

/// The maximum size of a guard's records.
const MAX_RECEIVED: usize = 256 * 1024;
/// How long the end of a killed process is awaited when its channel is dropped.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const END_POLL: Duration = Duration::from_millis(2);
/// The exit code of a command that was found but could not be started, as in shells.
const NOT_STARTED: i32 = 126;

/// The connection to a process's guard.
#[derive(Debug)]
pub(crate) struct GuardChannel {
    socket: UnixStream,
    /// The same socket for async use.
    async_socket: tokio::net::UnixStream,
    received: Vec<u8>,
    /// A short description of the confinement, if any.
    summary: Option<String>,
    network: NetworkAccess,
    /// The guard, which ends with its last owner.
    server: Option<Arc<GuardServer>>,
    scan: Option<PathScan>,
}

/// A guard's report about a process that has ended.
#[derive(Debug)]
pub(crate) struct GuardReport {
    pub(crate) status: ProcessStatus,
    pub(crate) left: bool,
    /// Why the process was not started.
    pub(crate) failure: Option<String>,
    pub(crate) report: Option<ConfinementReport>,
    undone: Vec<PathBuf>,
}

impl GuardChannel {
    /// A connection to a guard, and the guard's end of it. Must be called within a tokio runtime.
    pub(crate) fn new(summary: Option<String>, network: NetworkAccess) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guarded = Self {
            async_socket: tokio::net::UnixStream::from_std(ours.try_clone()?)?,
            socket: ours,
            received: Vec::new(),
            summary,
            network,
            server: None,
            scan: None,
        };
        Ok((guarded, theirs))
    }

    /// Keeps the guard running, and scans the project after the process.
    pub(crate) fn attach(&mut self, server: Arc<GuardServer>, scan: Option<PathScan>) {
        self.server = Some(server);
        self.scan = scan;
        if let Some(PathScan(scan)) = &self.scan {
            scan.begin();
        }
    }

    /// The process id of the guard.
    pub(crate) fn guard_id(&self) -> Option<u32> {
        self.server.as_ref()?.id()
    }

    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        // Fails only if the guard has ended.
        drop((&self.socket).write(b"T"));
    }

    /// Makes the guard kill the process and all its descendants.
    pub(crate) fn kill(&self) {
        drop(self.socket.shutdown(Shutdown::Write));
    }

    /// Waits until the guard has sent its last record or has ended. The kernel takes time to remove the guard's mount
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

    /// Reads the records that were sent just before the guard ended.
    pub(crate) fn receive_rest(&mut self) {
        let mut buffer = [0; 1024];
        while self.received.len() < MAX_RECEIVED {
            match (&self.socket).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            }
        }
    }

    pub(crate) fn confinement_result(
        &mut self,
        testimony: GuardReport,
        status: ProcessStatus,
        output: &CapturedOutput,
    ) -> Option<ConfinementResult> {
        let summary = self.summary.clone()?;
        let scanned = self.scan.take().map(|PathScan(scan)| scan.after()).unwrap_or_default();
        Some(ConfinementResult {
            summary,
            report: testimony
                .report
                .unwrap_or_else(|| ConfinementReport::unconfined("the guard ended early")),
            denial: denial::detect_denial(status, output, self.network),
            reverted: testimony.undone.into_iter().chain(scanned).collect(),
        })
    }
}

/// Also scans the project after a process that is not awaited, such as a server or a cancelled command.
impl Drop for GuardChannel {
    fn drop(&mut self) {
        let Some(PathScan(scan)) = self.scan.take() else { return };
        self.kill();
        let deadline = Instant::now() + END_TIMEOUT;
        while !self.has_ended() && Instant::now() < deadline {
            let mut buffer = [0; 1024];
            match (&self.socket).read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(END_POLL),
                Err(_) => break,
            }
        }
        scan.after();
    }
}

impl From<&[u8]> for GuardReport {
    fn from(bytes: &[u8]) -> Self {
        let mut testimony = Self {
            status: ProcessStatus::Unknown,
            left: false,
            failure: None,
            report: None,
            undone: Vec::new(),
        };
        for record in GuardRecord::decode(bytes) {
            match record {
                GuardRecord::Enforced(report) => testimony.report = Some(report),
                GuardRecord::Failed(why) => {
                    testimony.failure = Some(why);
                    testimony.status = ProcessStatus::Exited(NOT_STARTED);
                }
                GuardRecord::Ended(status) => testimony.status = status,
                GuardRecord::LeftProcesses => testimony.left = true,
                GuardRecord::Reverted(path) => testimony.undone.push(path),
            }
        }
        testimony
    }
}
