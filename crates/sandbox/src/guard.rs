//! The process between hew and confined processes: it applies the confinement, waits, and ends all descendants.
//!
//! A confinement cannot be applied from outside, and code between fork and exec would have to be unsafe and would make
//! the standard library copy hew's page tables. Instead hew starts itself again with [`GuardArgs`] as arguments; that
//! process is the guard. It consists of three processes, which are copies of each other:
//!
//! 1. The first one only waits for the second, so that hew has a child process outside of the namespaces.
//! 2. The second one is the first process of the namespaces. It arranges the files once, receives a [`GuardRequest`] on
//!    its standard input for each command, and brings the arrangement up to date. If its input is closed (also by hew's
//!    death) it ends, and the kernel kills everything in its PID namespace.
//! 3. One [`command_runner`] for each command, and one that waits for the next command.

mod caller_path;
mod capabilities;
mod command_runner;
mod created_names;
mod descendants;
mod landlock_rules;
mod mounts;
mod moved_paths;
mod present_paths;
mod process_limit;
mod protected_snapshot;
mod seccomp_filter;
mod syscall;

use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::guard_args::{GuardArgs, GuardMode};
use crate::guard_record::GuardRecord;
use crate::guard_request::{GuardRequest, GuardStreams};
use crate::host_proxy::PROXY_PORT;
use crate::{ConfinementReport, LayerStatus, NetworkAccess};
use command_runner::ConfinedRunner;
use mounts::MountTable;

/// The exit code of a guard that could not start its command, as used by `env`.
const GUARD_FAILED: u8 = 125;
/// The exit code of a second process whose namespaces do not work.
const NAMESPACES_FAILED: u8 = 124;
/// How long the runners are awaited when the guard ends.
const RUNNER_TIMEOUT: Duration = Duration::from_secs(3);
const RUNNER_POLL: Duration = Duration::from_millis(5);
/// How long to wait for a request before ended commands are reaped, if the kernel cannot report their end.
const REAP_INTERVAL: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };

/// Runs the guard if this program was started as one, and returns the exit code. Call it first in `main`, before any
/// thread is started.
pub fn guard() -> Option<ExitCode> {
    let args = GuardArgs::from_args(std::env::args_os().skip(1))?;
    let code = match UnixStream::try_from(InheritedSocket) {
        Ok(hew) => start(&args, hew),
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
        let nowhere = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())?;
        rustix::stdio::dup2_stdin(&nowhere)?;
        Ok(stream)
    }
}

/// The namespaces of a guard, from the strictest to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// Files, processes and IPC.
    Processes,
    /// Files and IPC.
    Files,
    None,
}

impl Namespaces {
    /// The flags of `clone`.
    fn flags(self) -> libc::c_int {
        let files = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
        let wanted = match self {
            Self::Processes => files | libc::CLONE_NEWPID,
            Self::Files => files,
            Self::None => return 0,
        };
        match is_privileged() {
            true => wanted,
            false => wanted | libc::CLONE_NEWUSER,
        }
    }
}

/// Whether namespaces can be created without a user namespace.
fn is_privileged() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// The first process: starts the second one with the strictest namespaces that work.
fn start(args: &GuardArgs, hew: UnixStream) -> ExitCode {
    syscall::detach_terminal();
    let limit = process_limit::ProcessLimit::set(args);
    let tries: &[Namespaces] = match args.mode {
        GuardMode::Confine if mounts::is_restricted() => &[Namespaces::None],
        GuardMode::Confine => &[Namespaces::Processes, Namespaces::Files, Namespaces::None],
        GuardMode::Unconfined => &[Namespaces::None],
    };
    let mut problem = match args.mode {
        GuardMode::Confine => "AppArmor restricts user namespaces".to_owned(),
        GuardMode::Unconfined => "nothing is confined".into(),
    };
    for namespaces in tries {
        let Ok((mut reason, report)) = io::pipe() else { continue };
        // Both are different in the namespaces.
        let (flags, user) = (
            namespaces.flags(),
            (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        );
        match syscall::fork(flags) {
            Ok(None) => {
                drop(reason);
                let user = (flags & libc::CLONE_NEWUSER != 0).then_some(user);
                let (args, network) = own_network(args, *namespaces);
                let prepared = PreparedGuard::new(&args, *namespaces, user, &problem, limit.is_enforced());
                return match prepared {
                    Ok(mut prepared) => {
                        drop(report);
                        if let Some(listener) = network {
                            // If hew has ended, no command follows.
                            drop(send_listener(&hew, listener));
                        }
                        prepared.serve(&args, hew)
                    }
                    Err(error) => {
                        let mut report = report;
                        drop(report.write_all(error.to_string().as_bytes()));
                        ExitCode::from(NAMESPACES_FAILED)
                    }
                };
            }
            Ok(Some(second)) => {
                drop(report);
                let mut text = String::new();
                // The second process closes the pipe when it is ready.
                drop(reason.read_to_string(&mut text));
                let ended = wait_for(second);
                if ended != Some(i32::from(NAMESPACES_FAILED)) {
                    limit.remove();
                    return ExitCode::SUCCESS;
                }
                problem = text;
            }
            Err(error) => problem = format!("no namespaces: {error}"),
        }
    }
    limit.remove();
    ExitCode::from(GUARD_FAILED)
}

/// The arguments, and the listening socket of the proxy if named hosts are accessible. Without a network of its own, a
/// guard grants none.
fn own_network(args: &GuardArgs, namespaces: Namespaces) -> (GuardArgs, Option<Option<TcpListener>>) {
    let args = args.clone();
    if args.network != NetworkAccess::Hosts {
        return (args, None);
    }
    let listener = match namespaces {
        Namespaces::Processes | Namespaces::Files => syscall::own_network(PROXY_PORT).ok(),
        Namespaces::None => None,
    };
    let network = match listener {
        Some(_) => NetworkAccess::Hosts,
        None => NetworkAccess::Denied,
    };
    (GuardArgs { network, ..args }, Some(listener))
}

/// Sends hew the listening socket of the proxy, or that there is none.
fn send_listener(hew: &UnixStream, listener: Option<TcpListener>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(hew, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The exit code of a child process.
fn wait_for(child: Pid) -> Option<i32> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return status.exit_status(),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// The second process, with everything that does not depend on a command.
pub(super) struct PreparedGuard {
    report: ConfinementReport,
    mounts: Option<MountTable>,
    runner: ConfinedRunner,
    standby: Option<StandbyRunner>,
}

/// A runner that waits for a command. It ends when this is dropped.
struct StandbyRunner {
    process: Pid,
    socket: UnixStream,
}

impl PreparedGuard {
    fn new(
        args: &GuardArgs,
        namespaces: Namespaces,
        user: Option<(u32, u32)>,
        problem: &str,
        processes_limited: bool,
    ) -> io::Result<Self> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let mounts = match namespaces {
            Namespaces::None => None,
            Namespaces::Processes | Namespaces::Files => {
                if let Some(user) = user {
                    mounts::map_user(user)?;
                }
                Some(MountTable::set_up(args, namespaces)?)
            }
        };
        let report = match args.mode {
            GuardMode::Unconfined => ConfinementReport::unconfined(problem),
            GuardMode::Confine => ConfinementReport {
                landlock: syscall::landlock_version(),
                seccomp: LayerStatus::Active,
                mounts: match &mounts {
                    Some(_) => LayerStatus::Active,
                    None => LayerStatus::Missing(problem.into()),
                },
                processes: match namespaces {
                    Namespaces::Processes => LayerStatus::Active,
                    Namespaces::Files | Namespaces::None => LayerStatus::Missing(problem.into()),
                },
                names: LayerStatus::Active,
            },
        };
        let (runner, report) = ConfinedRunner::new(args, report, processes_limited)?;
        Ok(Self {
            report,
            mounts,
            runner,
            standby: None,
        })
    }

    /// Starts commands until hew closes the socket.
    fn serve(&mut self, args: &GuardArgs, hew: UnixStream) -> ExitCode {
        let mut socket = Some(hew);
        let mut running: Vec<(Pid, Option<OwnedFd>)> = Vec::new();
        loop {
            let Some(ended) = self.reap(&mut running) else {
                // The command has ended its runner, so its descendants have none.
                return self.end();
            };
            // Not while a command starts.
            let is_calm = ended > 0 || running.is_empty();
            if is_calm && let Err(code) = self.prepare_standby(args, &mut socket) {
                return code;
            }
            let Some(hew) = &socket else { return self.end() };
            match wait_for_input(hew, &running) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return self.end(),
            }
            let (request, streams) = match GuardRequest::receive(hew) {
                Ok(Some(request)) => request,
                Ok(None) | Err(_) => return self.end(),
            };
            match self.run(args, &request, streams, &mut socket) {
                Ok(Some(runner)) => running.push((runner, pidfd_open(runner, PidfdFlags::empty()).ok())),
                Ok(None) => {}
                // This is the runner, which has finished.
                Err(code) => return code,
            }
        }
    }

    /// Starts a command. The error is the exit code of the runner, in its process.
    fn run(
        &mut self,
        args: &GuardArgs,
        request: &GuardRequest,
        streams: GuardStreams<OwnedFd>,
        socket: &mut Option<UnixStream>,
    ) -> Result<Option<Pid>, ExitCode> {
        let tell = |record: GuardRecord| {
            // If hew has ended, the record is not needed.
            rustix::net::send(&streams.records, &record.encode(), SendFlags::NOSIGNAL).ok();
        };
        if args.mode == GuardMode::Confine {
            tell(GuardRecord::Enforced(self.report.clone()));
            if let Some(why) = self.report.insufficient() {
                tell(GuardRecord::Failed(why));
                return Ok(None);
            }
        }
        if let Some(mounts) = &mut self.mounts
            && let Err(error) = mounts.update(request)
        {
            tell(GuardRecord::Failed(format!("arranging the files: {error}")));
            return Ok(None);
        }
        if request.command.is_empty() {
            return Ok(None);
        }
        if let Some(standby) = self.standby.take()
            && request.send(&standby.socket, &streams.as_fds()).is_ok()
        {
            return Ok(Some(standby.process));
        }
        match syscall::fork(0) {
            Ok(Some(runner)) => Ok(Some(runner)),
            Ok(None) => {
                // Only the copy of this process is closed.
                drop(socket.take());
                Err(self.runner.run(args, request, streams))
            }
            Err(error) => {
                tell(GuardRecord::Failed(error.to_string()));
                Ok(None)
            }
        }
    }

    /// Starts a runner for the next command, unless there is one or the command is there already. The error is its exit
    /// code, in its process.
    fn prepare_standby(&mut self, args: &GuardArgs, socket: &mut Option<UnixStream>) -> Result<(), ExitCode> {
        if self.standby.is_some() || !self.runner.can_stand_by() || socket.as_ref().is_none_or(has_input) {
            return Ok(());
        }
        // Without one, the next command gets a runner of its own.
        let Ok((ours, theirs)) = UnixStream::pair() else {
            return Ok(());
        };
        match syscall::fork(0) {
            Ok(Some(process)) => self.standby = Some(StandbyRunner { process, socket: ours }),
            Ok(None) => {
                // Only the copies of this process are closed.
                drop((socket.take(), ours));
                return Err(self.runner.stand_by(args, theirs));
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Reaps runners that have ended, and returns how many; `None` if one was killed.
    fn reap(&mut self, running: &mut Vec<(Pid, Option<OwnedFd>)>) -> Option<usize> {
        let mut ended = 0;
        while let Ok(Some((child, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let before = running.len();
            running.retain(|(runner, _)| *runner != child);
            if running.len() < before {
                ended += 1;
                if status.terminating_signal().is_some() {
                    return None;
                }
            }
            self.standby.take_if(|standby| standby.process == child);
        }
        Some(ended)
    }

    /// Ends all commands. The kernel kills those that are left in a PID namespace.
    fn end(&mut self) -> ExitCode {
        self.standby = None;
        // Each runner detects that hew has ended, ends its command and restores what it had changed.
        let deadline = Instant::now() + RUNNER_TIMEOUT;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) if Instant::now() < deadline => thread::sleep(RUNNER_POLL),
                Ok(None) | Err(_) => break,
            }
        }
        descendants::kill_descendants();
        ExitCode::SUCCESS
    }
}

/// Whether hew has sent something, or closed the socket.
fn has_input(hew: &UnixStream) -> bool {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(hew, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Waits until hew sends something or a runner ends. Returns whether hew has sent something, or closed the socket.
fn wait_for_input(hew: &UnixStream, running: &[(Pid, Option<OwnedFd>)]) -> io::Result<bool> {
    let mut watched = vec![PollFd::new(hew, PollFlags::IN)];
    let ends = running.iter().filter_map(|(_, pidfd)| pidfd.as_ref());
    watched.extend(ends.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
    let is_blind = watched.len() <= running.len();
    match poll(&mut watched, is_blind.then_some(&REAP_INTERVAL)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(!watched[0].revents().is_empty())
}
