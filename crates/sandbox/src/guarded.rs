//! The way to a guard, and what it tells.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use crate::denial;
use crate::record::Record;
use crate::{Confined, Output, Report, Status};

/// More than a guard ever tells.
const MAX_TOLD: u64 = 256 * 1024;
/// The exit code of a command that was found but could not be started, as of every shell.
const NOT_STARTED: i32 = 126;

/// A process that a guard keeps.
#[derive(Debug)]
pub(crate) struct Guarded {
    way: Arc<UnixStream>,
    summary: String,
}

/// What a guard told about a process that has ended.
#[derive(Debug)]
pub(crate) struct Testimony {
    summary: String,
    pub(crate) status: Status,
    pub(crate) left: bool,
    /// Why the process was not even started.
    pub(crate) failure: Option<String>,
    pub(crate) report: Option<Report>,
    undone: Vec<PathBuf>,
}

impl Guarded {
    /// A way to a guard, and the guard's end of it.
    pub(crate) fn new(summary: String) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let way = Arc::new(ours);
        Ok((Self { way, summary }, theirs))
    }

    pub(crate) fn way(&self) -> Arc<UnixStream> {
        Arc::clone(&self.way)
    }

    /// Everything a guard that has ended told.
    pub(crate) fn hear(&mut self) -> Testimony {
        let mut told = Vec::new();
        // What there is was kept, whether it ends by the guard's end or, without one, by there being no more.
        drop(self.way.as_ref().take(MAX_TOLD).read_to_end(&mut told));
        let mut testimony = Testimony {
            summary: self.summary.clone(),
            status: Status::Unknown,
            left: false,
            failure: None,
            report: None,
            undone: Vec::new(),
        };
        for record in Record::decode(&told) {
            match record {
                Record::Enforced(report) => testimony.report = Some(report),
                Record::Failed(why) => {
                    testimony.failure = Some(why);
                    testimony.status = Status::Exited(NOT_STARTED);
                }
                Record::Ended(status) => testimony.status = status,
                Record::Left => testimony.left = true,
                Record::Undone(path) => testimony.undone.push(path),
            }
        }
        testimony
    }
}

impl Testimony {
    pub(crate) fn confined(self, status: Status, output: &Output) -> Confined {
        Confined {
            summary: self.summary,
            report: self.report.unwrap_or_else(|| Report::nothing("the guard ended early")),
            denial: denial::signs(status, output),
            undone: self.undone,
        }
    }
}
