//! A running process.

use std::future::pending;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::capture::Capture;
use crate::decode::Decode;
use crate::group::Group;
use crate::guarded::Guarded;
use crate::{Exit, Leftover, Output, Request, Status};

/// How long output is still awaited after the process itself has ended, while something it started holds the pipe.
const LINGER: Duration = Duration::from_millis(100);
const BUFFER: usize = 32 * 1024;
/// As much as a pipe ever holds.
const MAX_PIPE: usize = 1024 * 1024;

/// A running process. Its timeout is kept while [`next`](Process::next) or [`exit`](Process::exit) is awaited. Dropping
/// it ends the whole group, with a signal first and by force after the grace.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    group: Group,
    pipe: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    capture: Option<Capture>,
    decode: Decode,
    /// Taken from the pipe at the end, not handed out yet.
    drained: String,
    grace: Duration,
    started: Instant,
    phase: Phase,
    /// When the next phase begins by itself.
    due: Option<Instant>,
    timed_out: bool,
    ended: Option<(Option<ExitStatus>, Instant)>,
    guarded: Option<Guarded>,
}

/// Where in its life a process is.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    /// It was asked to end.
    Terminating,
    /// It was ended by force.
    Killed,
    /// It has ended; the rest of its output is awaited.
    Lingering,
}

/// What can happen next.
enum Event {
    Due,
    Ended(Option<ExitStatus>),
    Read(io::Result<usize>),
}

impl Process {
    pub(crate) fn new(child: Child, pipe: pipe::Receiver, request: &Request, guarded: Option<Guarded>) -> Option<Self> {
        let way: Option<Arc<UnixStream>> = guarded.as_ref().map(Guarded::way);
        let group = Group::led_by(child.id()?, way)?;
        let started = Instant::now();
        Some(Self {
            child: Some(child),
            group,
            pipe: Some(pipe),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            capture: Some(Capture::new(request.output)),
            decode: Decode::default(),
            drained: String::new(),
            grace: request.grace,
            started,
            phase: Phase::Running,
            due: request.timeout.and_then(|limit| started.checked_add(limit)),
            timed_out: false,
            ended: None,
            guarded,
        })
    }

    /// The next piece of output, standard output and error in the order they were written; nothing once the process has
    /// ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<String> {
        while self.ended.is_none() || self.pipe.is_some() {
            match self.event().await {
                Event::Due => self.advance(),
                Event::Ended(status) => self.end(status),
                // A terminal that nobody has open any more cannot be read.
                Event::Read(Ok(0) | Err(_)) => self.pipe = None,
                Event::Read(Ok(count)) => {
                    let text = self.take(count);
                    if !text.is_empty() {
                        return Some(text);
                    }
                }
            }
        }
        (!self.drained.is_empty()).then(|| std::mem::take(&mut self.drained))
    }

    /// What is kept of the output so far.
    pub fn so_far(&self) -> Output {
        self.capture.clone().map(Capture::finish).unwrap_or_default()
    }

    /// Tells the whole group to end, and ends it by force after the grace, while [`next`](Process::next) or
    /// [`exit`](Process::exit) is awaited.
    pub fn stop(&mut self) {
        if let Phase::Running = self.phase {
            self.group.terminate();
            self.enter(Phase::Terminating, self.grace);
        }
    }

    /// Waits for the end, reading on.
    pub async fn exit(&mut self) -> Exit {
        while self.next().await.is_some() {}
        let (status, at) = self.ended.unwrap_or((None, Instant::now()));
        let testimony = self.guarded.as_ref().map(Guarded::testimony);
        let failure = testimony.as_ref().and_then(|testimony| testimony.failure.as_ref());
        if let (Some(why), Some(capture)) = (failure, &mut self.capture) {
            capture.add(format!("The command was not started: {why}\n").as_bytes());
        }
        let (status, left) = match &testimony {
            Some(testimony) if !self.timed_out => (testimony.status, testimony.left),
            Some(testimony) => (Status::TimedOut, testimony.left),
            None => (self.status(status), self.group.is_alive()),
        };
        let output = self.capture.take().map(Capture::finish).unwrap_or_default();
        let told = self.guarded.as_ref().zip(testimony);
        Exit {
            status,
            duration: at.duration_since(self.started),
            leftover: if left { Leftover::Running } else { Leftover::None },
            confinement: told.and_then(|(guarded, testimony)| guarded.confined(testimony, status, &output)),
            output,
        }
    }

    async fn event(&mut self) -> Event {
        let due = async {
            match self.due {
                Some(due) => sleep_until(due).await,
                None => pending().await,
            }
        };
        let ended = async {
            match (&self.ended, &mut self.guarded, &mut self.child) {
                (None, Some(guarded), _) => {
                    guarded.ended().await;
                    None
                }
                (None, None, Some(child)) => child.wait().await.ok(),
                (Some(_), _, _) | (None, None, None) => pending().await,
            }
        };
        let read = async {
            match &self.pipe {
                Some(pipe) => read(pipe, &mut self.buffer).await,
                None => pending().await,
            }
        };
        // A flood is always ready to be read, so the other two come first.
        tokio::select! {
            biased;
            () = due => Event::Due,
            status = ended => Event::Ended(status),
            count = read => Event::Read(count),
        }
    }

    fn take(&mut self, count: usize) -> String {
        let bytes = &self.buffer[..count];
        if let Some(capture) = &mut self.capture {
            capture.add(bytes);
        }
        self.decode.add(bytes)
    }

    fn advance(&mut self) {
        match self.phase {
            Phase::Running => {
                self.timed_out = true;
                self.group.terminate();
                self.enter(Phase::Terminating, self.grace);
            }
            Phase::Terminating => {
                self.group.kill();
                self.enter(Phase::Killed, self.grace);
            }
            // A process that survives even force is stuck in the kernel; nobody shall wait for it.
            Phase::Killed => self.end(None),
            Phase::Lingering => {
                self.drain();
                self.pipe = None;
                self.due = None;
            }
        }
    }

    fn end(&mut self, status: Option<ExitStatus>) {
        self.ended = Some((status, Instant::now()));
        self.guarded.iter_mut().for_each(Guarded::stand_in);
        self.enter(Phase::Lingering, LINGER);
    }

    fn enter(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.due = Instant::now().checked_add(time);
    }

    /// Takes what is in the pipe already, so that a busy machine loses nothing of what the process itself wrote.
    fn drain(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        let mut drained = 0;
        while let Ok(count @ 1..) = pipe.try_read(&mut self.buffer) {
            let text = self.take(count);
            self.drained.push_str(&text);
            drained += count;
            if drained >= MAX_PIPE {
                break;
            }
        }
    }

    fn told_all(&self) -> bool {
        self.guarded.as_ref().is_some_and(Guarded::has_ended)
    }

    fn status(&self, status: Option<ExitStatus>) -> Status {
        if self.timed_out {
            return Status::TimedOut;
        }
        match (
            status.and_then(|status| status.code()),
            status.and_then(|status| status.signal()),
        ) {
            (Some(code), _) => Status::Exited(code),
            (None, Some(signal)) => Status::Signalled(signal),
            (None, None) => Status::Unknown,
        }
    }
}

async fn read(pipe: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        pipe.readable().await?;
        match pipe.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A guard that has told of the end has nothing left to do but to go.
        if self.ended.is_some() && (!self.group.is_alive() || self.told_all()) {
            return;
        }
        self.group.terminate();
        let ending = Ending {
            group: self.group.clone(),
            child: self.child.take(),
        };
        // Without a runtime there is nobody to wait, and dropping `ending` ends the group here and now.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(ending.after(self.grace));
        }
    }
}

/// A group that was asked to end. It is ended by force when this is dropped, also when the runtime that should have
/// waited is shut down.
pub(crate) struct Ending {
    pub(crate) group: Group,
    pub(crate) child: Option<Child>,
}

impl Ending {
    const POLL: Duration = Duration::from_millis(20);

    /// Waits until the whole group is gone, but no longer than the grace.
    pub(crate) async fn after(mut self, grace: Duration) {
        let gone = async {
            if let Some(child) = &mut self.child {
                drop(child.wait().await);
            }
            while self.group.is_alive() {
                sleep(Self::POLL).await;
            }
        };
        drop(timeout(grace, gone).await);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.group.kill();
        // The process may not lead its group yet. An error means that it has ended. A guard is not ended by force: it has
        // been told, and has others to end first.
        if let Some(child) = self.child.as_mut().filter(|_| !self.group.is_guarded()) {
            drop(child.start_kill());
        }
    }
}
