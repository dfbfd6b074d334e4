//! The process between hew and a confined process: it applies the confinement, waits, and ends all descendants.
//!
//! A confinement cannot be applied from outside, and code between fork and exec would have to be unsafe and would make
//! the standard library copy hew's page tables. Instead hew starts itself again with [`GuardArgs`] as arguments; that
//! process is the guard. Landlock and seccomp apply to a thread and its children, so the guard confines one thread,
//! starts the command there, and stays unconfined itself. It adopts every orphan of the command and ends all of them
//! with it.
//!
//! Its standard input is a socket to hew: a byte asks the command to end; closing it (also by hew's death) kills
//! everything immediately. Records about the command are sent in the other direction.

mod capabilities;
mod descendants;
mod landlock_rules;
mod mounts;
mod protected_snapshot;
mod seccomp_filter;
mod syscall;

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use crate::guard_args::{GuardArgs, GuardMode};
use crate::guard_record::GuardRecord;
use crate::{ConfinementReport, LayerStatus, ProcessStatus};

/// The exit code of a guard that could not start its command, as used by `env`.
const GUARD_FAILED: u8 = 125;

/// Runs the guard if this program was started as one, and returns the exit code. Call it first in `main`, before any
/// thread is started.
pub fn guard() -> Option<ExitCode> {
    let args = GuardArgs::from_args(std::env::args_os().skip(1))?;
    let code = match UnixStream::try_from(InheritedSocket) {
        Ok(hew) => run_guard(args, hew),
        // Started manually, without a socket to hew.
        Err(_) => ExitCode::from(GUARD_FAILED),
    };
    Some(code)
}

struct InheritedSocket;

impl TryFrom<InheritedSocket> for UnixStream {
    type Error = io::Error;

    fn try_from(_: InheritedSocket) -> io::Result<Self> {
        let stream = Self::from(io::stdin().as_fd().try_clone_to_owned()?);
        // Fails on anything but a socket.
        stream.peer_addr()?;
        Ok(stream)
    }
}

fn run_guard(args: GuardArgs, hew: UnixStream) -> ExitCode {
    let tell = |record: GuardRecord| {
        // If hew is gone, the record is not needed.
        drop((&hew).write_all(&record.encode()));
    };
    let prepared = match PreparedGuard::new(&args) {
        Ok(prepared) => prepared,
        Err(error) => {
            tell(GuardRecord::Failed(error.to_string()));
            return ExitCode::from(GUARD_FAILED);
        }
    };
    // Sent before the command runs, so that hew has the report in any case.
    if args.mode == GuardMode::Confine {
        tell(GuardRecord::Enforced(prepared.report.clone()));
    }
    if args.command.is_empty() {
        return ExitCode::SUCCESS;
    }
    let seal = protected_snapshot::ProtectedSnapshot::new(&args, &prepared.report);
    let leader = match prepared.start(&args) {
        Ok(leader) => leader,
        Err(error) => {
            tell(GuardRecord::Failed(error.to_string()));
            return ExitCode::from(GUARD_FAILED);
        }
    };
    tell(GuardRecord::Started(leader.as_raw_nonzero().get()));
    let listening = hew
        .try_clone()
        .map(|hew| thread::spawn(move || watch_parent(hew, leader)));
    if listening.is_err() {
        // The command could not be terminated.
        descendants::end_group(leader, Signal::KILL);
    }
    let status = wait_for(leader);
    // Its pipe ends would keep the readers waiting until it exits.
    let nowhere = OpenOptions::new().write(true).open("/dev/null");
    if let Ok(nowhere) = nowhere {
        rustix::stdio::dup2_stdout(&nowhere).ok();
        rustix::stdio::dup2_stderr(&nowhere).ok();
    }
    if descendants::kill_descendants() > 0 {
        tell(GuardRecord::LeftProcesses);
    }
    seal.restore_changed()
        .into_iter()
        .for_each(|path| tell(GuardRecord::Reverted(path)));
    tell(GuardRecord::Ended(status));
    ExitCode::SUCCESS
}

/// Forwards hew's requests until hew ends everything or is gone.
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

/// A guard with all settings that concern itself; those for the command are still to be applied.
struct PreparedGuard {
    report: ConfinementReport,
    filter: io::Result<seccomp_filter::SyscallFilter>,
}

impl PreparedGuard {
    fn new(args: &GuardArgs) -> io::Result<Self> {
        syscall::detach_terminal();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        if args.mode == GuardMode::Unconfined {
            let reason = "nothing is confined";
            return Ok(Self {
                report: ConfinementReport::unconfined(reason),
                filter: Err(io::Error::other(reason)),
            });
        }
        let mounts = match mounts::set_up(args) {
            Ok(()) => LayerStatus::Active,
            Err(mounts::MountError::Unavailable(error)) => LayerStatus::Missing(error.to_string()),
            Err(mounts::MountError::Incomplete(error)) => return Err(error),
        };
        capabilities::drop_all_but_files()?;
        let filter = seccomp_filter::SyscallFilter::new(args.network);
        Ok(Self {
            report: ConfinementReport {
                landlock: syscall::landlock_version(),
                seccomp: match &filter {
                    Ok(_) => LayerStatus::Active,
                    Err(error) => LayerStatus::Missing(error.to_string()),
                },
                mounts,
            },
            filter,
        })
    }

    /// Starts the command from a confined thread.
    fn start(&self, args: &GuardArgs) -> io::Result<Pid> {
        let mut words = args.command.iter();
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).process_group(0);
        if args.mode == GuardMode::Unconfined {
            // The command may kill its guard before the record is sent.
            syscall::die_with_parent(&mut command);
            return pid(&command.spawn()?);
        }
        let confined = || {
            rustix::thread::set_no_new_privs(true)?;
            if self.report.landlock.is_some() {
                landlock_rules::apply_landlock(args, &self.report.mounts).map_err(io::Error::other)?;
            }
            if let Ok(filter) = &self.filter {
                filter.apply()?;
            }
            command.spawn()
        };
        apply_limits(args)?;
        let child = thread::scope(|scope| {
            let started = scope.spawn(confined).join();
            started.unwrap_or_else(|_| Err(io::Error::other("the confining thread panicked")))
        })?;
        pid(&child)
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
