//! Runs one command in a process of its own: confines it, waits, and ends all its descendants.
//!
//! Landlock and seccomp apply to a thread and its children, so the runner confines one thread, starts the command there,
//! and stays unconfined itself. It adopts every orphan of the command and ends all of them with it. Confining takes longer
//! than starting most commands, so a runner may be prepared before there is a command.
//!
//! A byte from hew asks the command to end; closing the socket kills everything immediately.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use landlock::RulesetCreated;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use super::created_names::{self, CreatedNames};
use super::protected_snapshot::ProtectedSnapshot;
use super::seccomp_filter::SyscallFilter;
use super::{GUARD_FAILED, capabilities, descendants, landlock_rules, process_limit, syscall};
use crate::guard_args::{GuardArgs, GuardMode};
use crate::guard_record::GuardRecord;
use crate::guard_request::{GuardRequest, GuardStreams};
use crate::{ConfinementReport, LayerStatus, ProcessStatus};

/// The configuration that all commands share.
pub(super) struct ConfinedRunner {
    report: ConfinementReport,
    filter: Option<Arc<SyscallFilter>>,
    /// The rules, if they do not depend on hidden paths.
    rules: Option<RulesetCreated>,
    processes_limited: bool,
}

impl ConfinedRunner {
    /// Prepares the layers, and returns the report with those that work.
    pub(super) fn new(
        args: &GuardArgs,
        mut report: ConfinementReport,
        processes_limited: bool,
    ) -> io::Result<(Self, ConfinementReport)> {
        let mut filter = None;
        let mut rules = None;
        if args.mode == GuardMode::Confine {
            let compiled = SyscallFilter::new(args.network, &report.processes);
            match compiled.and_then(|filter| filter.check().map(|()| filter)) {
                Ok(compiled) => filter = Some(Arc::new(compiled)),
                Err(error) => report.seccomp = LayerStatus::Missing(error.to_string()),
            }
            if let Err(error) = created_names::check() {
                report.names = LayerStatus::Missing(error.to_string());
            }
            if report.landlock.is_some() && report.mounts.is_active() {
                rules = Some(landlock_rules::create(args, &[], &report.mounts).map_err(io::Error::other)?);
            }
        }
        let runner = Self {
            report: report.clone(),
            filter,
            rules,
            processes_limited,
        };
        Ok((runner, report))
    }

    /// Runs a command and returns the exit code of the runner.
    pub(super) fn run(&self, args: &GuardArgs, request: &GuardRequest, streams: GuardStreams<OwnedFd>) -> ExitCode {
        let thread = self.prepare(args).and_then(|()| match args.mode {
            GuardMode::Confine => self.confine(args, &request.hidden).map(Some),
            GuardMode::Unconfined => Ok(None),
        });
        self.run_prepared(thread, args, request, streams)
    }

    /// Whether runners can be prepared: without mounts, their rules depend on the command.
    pub(super) fn can_stand_by(&self) -> bool {
        self.rules.is_some()
    }

    /// Prepares everything that does not depend on a command, waits for one from the guard, and runs it.
    pub(super) fn stand_by(&self, args: &GuardArgs, guard: UnixStream) -> ExitCode {
        let thread = self.prepare(args).and_then(|()| self.confine(args, &[]));
        match GuardRequest::receive(&guard) {
            Ok(Some((request, streams))) => {
                drop(guard);
                self.run_prepared(thread.map(Some), args, &request, streams)
            }
            // The guard has ended.
            Ok(None) | Err(_) => ExitCode::SUCCESS,
        }
    }

    fn run_prepared(
        &self,
        thread: io::Result<Option<ConfinedThread>>,
        args: &GuardArgs,
        request: &GuardRequest,
        streams: GuardStreams<OwnedFd>,
    ) -> ExitCode {
        let GuardStreams {
            records,
            stdout,
            stderr,
            stdin,
        } = streams;
        let hew = UnixStream::from(records);
        let tell = |record: GuardRecord| drop((&hew).write_all(&record.encode()));
        let started = thread.and_then(|thread| {
            let snapshot = ProtectedSnapshot::new(args, request, &self.report);
            Ok((start(thread, request, [stdout, stderr], stdin)?, snapshot))
        });
        let (leader, snapshot) = match started {
            Ok(started) => started,
            Err(error) => {
                tell(GuardRecord::Failed(error.to_string()));
                return ExitCode::from(GUARD_FAILED);
            }
        };
        let listening = hew
            .try_clone()
            .map(|hew| thread::spawn(move || watch_parent(hew, leader)));
        if listening.is_err() {
            // The command could not be terminated.
            descendants::end_group(leader, Signal::KILL);
        }
        if let Some(limit) = args.limits.processes.filter(|_| !self.processes_limited) {
            process_limit::watch(limit, leader);
        }
        let status = wait_for(leader);
        if descendants::kill_descendants() > 0 {
            tell(GuardRecord::LeftProcesses);
        }
        snapshot
            .restore_changed()
            .into_iter()
            .for_each(|path| tell(GuardRecord::Reverted(path)));
        tell(GuardRecord::Ended(status));
        ExitCode::SUCCESS
    }

    fn prepare(&self, args: &GuardArgs) -> io::Result<()> {
        rustix::process::setpgid(None, None)?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // The guard ends it by closing the socket, after its command.
        rustix::process::set_parent_process_death_signal(None)?;
        match args.mode {
            GuardMode::Confine => capabilities::drop_all(&args.writable),
            GuardMode::Unconfined => Ok(()),
        }
    }

    /// Limits this process and confines a thread of it; `hidden` are the paths that no mount covers.
    fn confine(&self, args: &GuardArgs, hidden: &[PathBuf]) -> io::Result<ConfinedThread> {
        let rules = match (&self.rules, self.report.landlock) {
            (Some(rules), Some(_)) => Some(rules.try_clone()?),
            (None, Some(_)) => {
                Some(landlock_rules::create(args, hidden, &self.report.mounts).map_err(io::Error::other)?)
            }
            (_, None) => None,
        };
        apply_limits(args)?;
        ConfinedThread::new(rules, self.filter.clone())
    }
}

/// A thread that is confined as its commands will be, and starts them.
struct ConfinedThread {
    commands: Sender<Command>,
    children: Receiver<io::Result<Child>>,
    /// For calls that create names. On kernels without it, created paths are only removed afterwards.
    listener: Option<OwnedFd>,
}

impl ConfinedThread {
    fn new(rules: Option<RulesetCreated>, filter: Option<Arc<SyscallFilter>>) -> io::Result<Self> {
        let confine = move || -> io::Result<Option<OwnedFd>> {
            rustix::thread::set_no_new_privs(true)?;
            if let Some(rules) = rules {
                rules.restrict_self().map_err(io::Error::other)?;
            }
            let listener = CreatedNames::listen().ok();
            if let Some(filter) = filter {
                filter.apply()?;
            }
            Ok(listener)
        };
        let (report, confined) = mpsc::channel();
        let (commands, next) = mpsc::channel::<Command>();
        let (started, children) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || {
            let result = confine();
            let is_confined = result.is_ok();
            if report.send(result).is_err() || !is_confined {
                return;
            }
            // The receivers ignore what they do not need any more.
            next.iter().for_each(|mut command| drop(started.send(command.spawn())));
        });
        drop(thread?);
        let ended = |_| io::Error::other("the confining thread panicked");
        let listener = confined.recv().map_err(ended)??;
        Ok(Self {
            commands,
            children,
            listener,
        })
    }

    /// Starts a command, and answers its calls that create names from then on.
    fn start(self, command: Command, request: &GuardRequest) -> io::Result<Child> {
        let ended = || io::Error::other("the confining thread panicked");
        self.commands.send(command).map_err(|_| ended())?;
        // Until then, calls that create names wait.
        if let Some(listener) = self.listener {
            CreatedNames::new(request).answer(listener);
        }
        self.children.recv().map_err(|_| ended())?
    }
}

/// Starts the command, from a confined thread if there is one.
fn start(
    thread: Option<ConfinedThread>,
    request: &GuardRequest,
    [stdout, stderr]: [OwnedFd; 2],
    stdin: Option<OwnedFd>,
) -> io::Result<Pid> {
    let mut words = request.command.iter();
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(request.environment.iter().map(|(name, value)| (name, value)))
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    match thread {
        Some(thread) => pid(&thread.start(command, request)?),
        None => {
            // The command may kill its runner.
            syscall::die_with_parent(&mut command);
            pid(&command.spawn()?)
        }
    }
}

/// Forwards hew's requests until hew requests the end or exits.
fn watch_parent(mut hew: UnixStream, leader: Pid) {
    let mut byte = [0];
    while let Ok(1) = hew.read(&mut byte) {
        descendants::end_group(leader, Signal::TERM);
        // A stopped process would not handle the signal.
        descendants::end_group(leader, Signal::CONT);
    }
    // The main thread then kills the rest.
    descendants::end_group(leader, Signal::KILL);
}

/// Waits for the command and reaps orphans meanwhile.
fn wait_for(leader: Pid) -> ProcessStatus {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => return exit_status(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ProcessStatus::Unknown,
        }
    }
}

fn exit_status(status: WaitStatus) -> ProcessStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProcessStatus::Exited(code),
        (None, Some(signal)) => ProcessStatus::Signalled(signal),
        (None, None) => ProcessStatus::Unknown,
    }
}

fn pid(child: &Child) -> io::Result<Pid> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the process has no id"))
}

fn apply_limits(args: &GuardArgs) -> io::Result<()> {
    for (resource, limit) in [
        (Resource::Core, Some(0)),
        (Resource::Nproc, args.limits.processes),
        (Resource::As, args.limits.memory),
        (Resource::Fsize, args.limits.file_size),
    ] {
        let Some(limit) = limit else { continue };
        let present = rustix::process::getrlimit(resource);
        let lowered = Some(present.maximum.map_or(limit, |maximum| maximum.min(limit)));
        rustix::process::setrlimit(
            resource,
            Rlimit {
                current: lowered,
                maximum: lowered,
            },
        )?;
    }
    Ok(())
}
