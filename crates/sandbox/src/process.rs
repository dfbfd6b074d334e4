//! A running process.

use std::future::pending;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::capture::OutputCapture;
use crate::group::ProcessGroup;
use crate::guard_channel::GuardChannel;
use crate::utf8_decoder::Utf8Decoder;
use crate::{CapturedOutput, LeftoverProcesses, ProcessExit, ProcessRequest, ProcessStatus};

/// How long output is awaited after the process has ended, while a child process holds the pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
const BUFFER: usize = 32 * 1024;
/// The maximum size of a pipe.
const MAX_PIPE: usize = 1024 * 1024;

/// A running process. Its timeout applies while [`next`](Process::next) or [`exit`](Process::exit) is awaited. Dropping
/// it terminates the group, and kills it after the grace period.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    /// Absent if a guard ends the process.
    group: Option<ProcessGroup>,
    pipe: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    capture: Option<OutputCapture>,
    decode: Utf8Decoder,
    /// Output read at the end that is not returned yet.
    drained: String,
    grace: Duration,
    started: Instant,
    phase: ProcessPhase,
    /// When the next phase starts automatically.
    due: Option<Instant>,
    timed_out: bool,
    ended: Option<(Option<ExitStatus>, Instant)>,
    guarded: Option<GuardChannel>,
}

/// The phase of a process.
#[derive(Debug, Clone, Copy)]
enum ProcessPhase {
    Running,
    /// SIGTERM was sent.
    Terminating,
    /// SIGKILL was sent.
    Killed,
    /// It has ended; the rest of its output is awaited.
    Lingering,
}

/// The next event.
enum ProcessEvent {
    Due,
    Ended(Option<ExitStatus>),
    Read(io::Result<usize>),
}

impl Process {
    /// A process that leads its own group.
    pub(crate) fn new(child: Child, pipe: pipe::Receiver, request: &ProcessRequest) -> Option<Self> {
        let group = ProcessGroup::new(child.id()?)?;
        Some(Self::with_owner(Some(child), Some(group), None, pipe, request))
    }

    /// A process that a guard has started.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no guards"))]
    pub(crate) fn guarded(channel: GuardChannel, pipe: pipe::Receiver, request: &ProcessRequest) -> Self {
        Self::with_owner(None, None, Some(channel), pipe, request)
    }

    fn with_owner(
        child: Option<Child>,
        group: Option<ProcessGroup>,
        guarded: Option<GuardChannel>,
        pipe: pipe::Receiver,
        request: &ProcessRequest,
    ) -> Self {
        let started = Instant::now();
        Self {
            child,
            group,
            pipe: Some(pipe),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            capture: Some(OutputCapture::new(request.output)),
            decode: Utf8Decoder::default(),
            drained: String::new(),
            grace: request.grace,
            started,
            phase: ProcessPhase::Running,
            due: request.timeout.and_then(|limit| started.checked_add(limit)),
            timed_out: false,
            ended: None,
            guarded,
        }
    }

    /// The next chunk of output, standard output and error in the order of writing; `None` once the process has ended.
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        while self.ended.is_none() || self.pipe.is_some() {
            match self.event().await {
                ProcessEvent::Due => self.advance(),
                ProcessEvent::Ended(status) => self.end(status),
                // A terminal without open writers cannot be read.
                ProcessEvent::Read(Ok(0) | Err(_)) => self.pipe = None,
                ProcessEvent::Read(Ok(count)) => {
                    let text = self.take_output(count);
                    if !text.is_empty() {
                        return Some(text);
                    }
                }
            }
        }
        (!self.drained.is_empty()).then(|| std::mem::take(&mut self.drained))
    }

    /// The captured output so far.
    pub fn output_so_far(&self) -> CapturedOutput {
        self.capture.clone().map(OutputCapture::finish).unwrap_or_default()
    }

    /// Terminates the whole group, and kills it after the grace period, while [`next`](Process::next) or
    /// [`exit`](Process::exit) is awaited.
    pub fn stop(&mut self) {
        if let ProcessPhase::Running = self.phase {
            self.terminate();
            self.enter_phase(ProcessPhase::Terminating, self.grace);
        }
    }

    /// Waits for the end and reads the remaining output.
    pub async fn exit(&mut self) -> ProcessExit {
        while self.next().await.is_some() {}
        let (status, at) = self.ended.unwrap_or((None, Instant::now()));
        let testimony = self.guarded.as_ref().map(GuardChannel::report);
        let failure = testimony.as_ref().and_then(|testimony| testimony.failure.as_ref());
        if let (Some(why), Some(capture)) = (failure, &mut self.capture) {
            capture.add(format!("The command was not started: {why}\n").as_bytes());
        }
        let (status, left) = match &testimony {
            Some(testimony) if !self.timed_out => (testimony.status, testimony.left),
            Some(testimony) => (ProcessStatus::TimedOut, testimony.left),
            None => (self.status(status), self.is_group_alive()),
        };
        let output = self.capture.take().map(OutputCapture::finish).unwrap_or_default();
        let guarded = self.guarded.as_mut().zip(testimony);
        ProcessExit {
            status,
            duration: at.duration_since(self.started),
            leftover: if left {
                LeftoverProcesses::Running
            } else {
                LeftoverProcesses::None
            },
            confinement: guarded
                .and_then(|(guarded, testimony)| guarded.confinement_result(testimony, status, &output)),
            output,
        }
    }

    async fn event(&mut self) -> ProcessEvent {
        let due = async {
            match self.due {
                Some(due) => sleep_until(due).await,
                None => pending().await,
            }
        };
        let ended = async {
            match (&self.ended, &mut self.guarded, &mut self.child) {
                (None, Some(guarded), _) => {
                    guarded.wait().await;
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
        // A flood of output is always ready, so the other two come first.
        tokio::select! {
            biased;
            () = due => ProcessEvent::Due,
            status = ended => ProcessEvent::Ended(status),
            count = read => ProcessEvent::Read(count),
        }
    }

    fn take_output(&mut self, count: usize) -> String {
        let bytes = &self.buffer[..count];
        if let Some(capture) = &mut self.capture {
            capture.add(bytes);
        }
        self.decode.add(bytes)
    }

    fn advance(&mut self) {
        match self.phase {
            ProcessPhase::Running => {
                self.timed_out = true;
                self.terminate();
                self.enter_phase(ProcessPhase::Terminating, self.grace);
            }
            ProcessPhase::Terminating => {
                self.kill();
                self.enter_phase(ProcessPhase::Killed, self.grace);
            }
            // A process that survives SIGKILL is stuck in the kernel and is not awaited.
            ProcessPhase::Killed => self.end(None),
            ProcessPhase::Lingering => {
                self.drain();
                self.pipe = None;
                self.due = None;
            }
        }
    }

    fn end(&mut self, status: Option<ExitStatus>) {
        self.ended = Some((status, Instant::now()));
        self.guarded.iter_mut().for_each(GuardChannel::receive_rest);
        self.enter_phase(ProcessPhase::Lingering, DRAIN_TIMEOUT);
    }

    fn enter_phase(&mut self, phase: ProcessPhase, time: Duration) {
        self.phase = phase;
        self.due = Instant::now().checked_add(time);
    }

    /// Reads the data in the pipe, so that a busy machine loses no output of the process.
    fn drain(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        let mut drained = 0;
        while let Ok(count @ 1..) = pipe.try_read(&mut self.buffer) {
            let text = self.take_output(count);
            self.drained.push_str(&text);
            drained += count;
            if drained >= MAX_PIPE {
                break;
            }
        }
    }

    /// Sends SIGTERM to the whole group.
    fn terminate(&self) {
        self.group.iter().for_each(ProcessGroup::terminate);
        self.guarded.iter().for_each(GuardChannel::terminate);
    }

    /// Kills the whole group.
    fn kill(&self) {
        self.group.iter().for_each(ProcessGroup::kill);
        self.guarded.iter().for_each(GuardChannel::kill);
    }

    fn is_group_alive(&self) -> bool {
        self.group.as_ref().is_some_and(ProcessGroup::is_alive)
    }

    fn status(&self, status: Option<ExitStatus>) -> ProcessStatus {
        if self.timed_out {
            return ProcessStatus::TimedOut;
        }
        match (
            status.and_then(|status| status.code()),
            status.and_then(|status| status.signal()),
        ) {
            (Some(code), _) => ProcessStatus::Exited(code),
            (None, Some(signal)) => ProcessStatus::Signalled(signal),
            (None, None) => ProcessStatus::Unknown,
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
        let is_over = match &self.guarded {
            Some(channel) => channel.has_ended(),
            None => self.ended.is_some() && !self.is_group_alive(),
        };
        if is_over {
            return;
        }
        self.terminate();
        let ending = GroupShutdown {
            group: self.group.take(),
            child: self.child.take(),
            guarded: self.guarded.take(),
        };
        // Without a runtime, dropping `ending` kills the group immediately.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(ending.wait(self.grace));
        }
    }
}

/// A group that was terminated. It is killed when this is dropped, also when the waiting runtime is shut down.
pub(crate) struct GroupShutdown {
    pub(crate) group: Option<ProcessGroup>,
    pub(crate) child: Option<Child>,
    pub(crate) guarded: Option<GuardChannel>,
}

impl GroupShutdown {
    const POLL: Duration = Duration::from_millis(20);

    /// Waits until the whole group has ended, but no longer than the grace period.
    pub(crate) async fn wait(mut self, grace: Duration) {
        let group_ended = async {
            if let Some(guarded) = &mut self.guarded {
                guarded.wait().await;
            }
            if let Some(child) = &mut self.child {
                drop(child.wait().await);
            }
            while self.group.as_ref().is_some_and(ProcessGroup::is_alive) {
                sleep(Self::POLL).await;
            }
        };
        let killed = timeout(grace, group_ended).await.is_err();
        if let Some(guarded) = self.guarded.as_mut().filter(|_| killed) {
            guarded.kill();
            // The guard must not end before it has killed everything.
            drop(timeout(grace, guarded.wait()).await);
        }
    }
}

impl Drop for GroupShutdown {
    fn drop(&mut self) {
        self.group.iter().for_each(ProcessGroup::kill);
        self.guarded.iter().for_each(GuardChannel::kill);
        // The process may not lead its group yet. An error means that it has ended.
        if let Some(child) = &mut self.child {
            drop(child.start_kill());
        }
    }
}
