//! Runs one command in a process of its own: confines it, waits, and ends all its descendants.
//!
//! Landlock and seccomp apply to a thread and its children, so the runner confines one thread, starts the command there,
//! and stays unconfined itself. It adopts every orphan of the command and ends all of them with it.
//!
//! A byte from hew asks the command to end; closing the socket kills everything immediately.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use landlock::RulesetCreated;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use super::created_names::{self, CreatedNames};
use super::protected_snapshot::ProtectedSnapshot;
use super::seccomp_filter::SyscallFilter;
use super::{GUARD_FAILED, capabilities, descendants, landlock_rules, process_limit, syscall};
use crate::guard_args::{GuardArgs, GuardMode};
use crate::guard_record::GuardRecord;
use crate::guard_request::GuardRequest;
use crate::{ConfinementReport, LayerStatus, ProcessStatus};

/// The configuration that all commands share.
pub(super) struct ConfinedRunner {
    report: ConfinementReport,
    filter: Option<SyscallFilter>,
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
                Ok(compiled) => filter = Some(compiled),
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
    pub(super) fn run(
        &self,
        args: &GuardArgs,
        request: &GuardRequest,
        hew: UnixStream,
        outputs: [OwnedFd; 2],
        stdin: Option<OwnedFd>,
    ) -> ExitCode {
        let tell = |record: GuardRecord| drop((&hew).write_all(&record.encode()));
        let snapshot = match self.prepare(args) {
            Ok(()) => ProtectedSnapshot::new(args, request, &self.report),
            Err(error) => {
                tell(GuardRecord::Failed(error.to_string()));
                return ExitCode::from(GUARD_FAILED);
            }
        };
        let leader = match self.start(args, request, outputs, stdin) {
            Ok(leader) => leader,
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

    /// Starts the command from a confined thread.
    fn start(
        &self,
        args: &GuardArgs,
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
        if args.mode == GuardMode::Unconfined {
            // The command may kill its runner.
            syscall::die_with_parent(&mut command);
            return pid(&command.spawn()?);
        }
        let names = CreatedNames::new(request);
        let confined = || -> io::Result<(Child, Option<OwnedFd>)> {
            rustix::thread::set_no_new_privs(true)?;
            if self.report.landlock.is_some() {
                let rules = match &self.rules {
                    Some(rules) => rules.try_clone()?,
                    None => {
                        landlock_rules::create(args, &request.hidden, &self.report.mounts).map_err(io::Error::other)?
                    }
                };
                rules.restrict_self().map_err(io::Error::other)?;
            }
            // On kernels without it, created paths are only removed afterwards.
            let listener = names.as_ref().and_then(|names| names.listen().ok());
            if let Some(filter) = &self.filter {
                filter.apply()?;
            }
            Ok((command.spawn()?, listener))
        };
        apply_limits(args)?;
        let (child, listener) = thread::scope(|scope| {
            let started = scope.spawn(confined).join();
            started.unwrap_or_else(|_| Err(io::Error::other("the confining thread panicked")))
        })?;
        if let (Some(names), Some(listener)) = (names, listener) {
            names.answer(listener);
        }
        pid(&child)
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
