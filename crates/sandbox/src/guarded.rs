//! The way to a guard, and what it tells.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::denial;
use crate::record::Record;
use crate::{Confined, Output, Report, Status};

/// More than a guard ever tells.
const MAX_TOLD: usize = 256 * 1024;
/// The exit code of a command that was found but could not be started, as of every shell.
const NOT_STARTED: i32 = 126;

/// A process that a guard keeps.
#[derive(Debug)]
pub(crate) struct Guarded {
    way: Arc<UnixStream>,
    /// The same, to be awaited.
    ear: tokio::net::UnixStream,
    told: Vec<u8>,
    /// The confinement in a few words, if there is one.
    summary: Option<String>,
}

/// What a guard told about a process that has ended.
#[derive(Debug)]
pub(crate) struct Testimony {
    pub(crate) status: Status,
    /// The group that the process leads.
    pub(crate) group: Option<Pid>,
    pub(crate) left: bool,
    /// Why the process was not even started.
    pub(crate) failure: Option<String>,
    pub(crate) report: Option<Report>,
    undone: Vec<PathBuf>,
}

impl Guarded {
    /// A way to a guard, and the guard's end of it. Must be called within a tokio runtime.
    pub(crate) fn new(summary: Option<String>) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guarded = Self {
            ear: tokio::net::UnixStream::from_std(ours.try_clone()?)?,
            way: Arc::new(ours),
            told: Vec::new(),
            summary,
        };
        Ok((guarded, theirs))
    }

    pub(crate) fn way(&self) -> Arc<UnixStream> {
        Arc::clone(&self.way)
    }

    /// Waits until the guard has told how it all ended, or is gone. The kernel takes its time to clear away the guard's
    /// view of the file system, and nobody has to wait for that.
    pub(crate) async fn ended(&mut self) {
        let mut buffer = [0; 1024];
        while !self.has_ended() && self.told.len() < MAX_TOLD {
            match self.ear.readable().await.and_then(|()| self.ear.try_read(&mut buffer)) {
                Ok(0) => return,
                Ok(count) => self.told.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// Whether the guard has told how it all ended.
    pub(crate) fn has_ended(&self) -> bool {
        Record::decode(&self.told).any(|record| record.is_last())
    }

    pub(crate) fn testimony(&self) -> Testimony {
        Testimony::from(self.told.as_slice())
    }

    /// Ends the process if its guard is gone and cannot do so any more.
    pub(crate) fn stand_in(&mut self) {
        // The guard may have named the process just before it went.
        let mut buffer = [0; 1024];
        while self.told.len() < MAX_TOLD {
            match (&*self.way).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => self.told.extend_from_slice(&buffer[..count]),
            }
        }
        if let Some(group) = self.testimony().group.filter(|_| !self.has_ended()) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }

    pub(crate) fn confined(&self, testimony: Testimony, status: Status, output: &Output) -> Option<Confined> {
        Some(Confined {
            summary: self.summary.clone()?,
            report: testimony
                .report
                .unwrap_or_else(|| Report::nothing("the guard ended early")),
            denial: denial::signs(status, output),
            undone: testimony.undone,
        })
    }
}

impl From<&[u8]> for Testimony {
    fn from(told: &[u8]) -> Self {
        let mut testimony = Self {
            status: Status::Unknown,
            group: None,
            left: false,
            failure: None,
            report: None,
            undone: Vec::new(),
        };
        for record in Record::decode(told) {
            match record {
                Record::Enforced(report) => testimony.report = Some(report),
                Record::Failed(why) => {
                    testimony.failure = Some(why);
                    testimony.status = Status::Exited(NOT_STARTED);
                }
                Record::Started(group) => testimony.group = Pid::from_raw(group),
                Record::Ended(status) => testimony.status = status,
                Record::Left => testimony.left = true,
                Record::Undone(path) => testimony.undone.push(path),
            }
        }
        testimony
    }
}
