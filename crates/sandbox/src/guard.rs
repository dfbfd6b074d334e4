//! The process between hew and a confined process: it confines, waits, and leaves nothing behind.
//!
//! A confinement cannot be put on from outside, and code between fork and exec would have to be unsafe and would make the
//! standard library copy hew's page tables. So hew starts itself once more, with an order as arguments; that process is
//! the guard. Landlock and seccomp belong to a thread and pass to what it starts, so the guard confines one thread, starts
//! the command there, and stays free itself. It adopts every orphan of the command, and ends all of them with it.
//!
//! Its standard input is a socket to hew: a byte asks the command to end, its closing (also by hew's death) ends
//! everything at once. Records about the command go the other way.

mod capabilities;
mod filter;
mod mounts;
mod rules;
mod seal;
mod sweep;
mod syscall;

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use crate::order::{Hold, Order};
use crate::record::Record;
use crate::{Layer, Report, Status};

/// The exit code of a guard that could not start its command, as of `env` and its kin.
const FAILED: u8 = 125;

/// Does a guard's work if this program was started as one, and says how the program shall exit then. Call it first in
/// `main`, before any thread is started.
pub fn guard() -> Option<ExitCode> {
    let order = Order::from_args(std::env::args_os().skip(1))?;
    let code = match UnixStream::try_from(Inherited) {
        Ok(hew) => keep(order, hew),
        // Nobody to report to: started by hand.
        Err(_) => ExitCode::from(FAILED),
    };
    Some(code)
}

struct Inherited;

impl TryFrom<Inherited> for UnixStream {
    type Error = io::Error;

    fn try_from(_: Inherited) -> io::Result<Self> {
        let stream = Self::from(io::stdin().as_fd().try_clone_to_owned()?);
        // Fails on anything but a socket.
        stream.peer_addr()?;
        Ok(stream)
    }
}

fn keep(order: Order, hew: UnixStream) -> ExitCode {
    let tell = |record: Record| {
        // If hew is gone, nobody wants to know.
        drop((&hew).write_all(&record.encode()));
    };
    let prepared = match Prepared::new(&order) {
        Ok(prepared) => prepared,
        Err(error) => {
            tell(Record::Failed(error.to_string()));
            return ExitCode::from(FAILED);
        }
    };
    // Told before the command runs, so that hew knows whatever happens next.
    if order.hold == Hold::Confine {
        tell(Record::Enforced(prepared.report.clone()));
    }
    if order.command.is_empty() {
        return ExitCode::SUCCESS;
    }
    let seal = seal::Seal::new(&order, &prepared.report);
    let leader = match prepared.start(&order) {
        Ok(leader) => leader,
        Err(error) => {
            tell(Record::Failed(error.to_string()));
            return ExitCode::from(FAILED);
        }
    };
    tell(Record::Started(leader.as_raw_nonzero().get()));
    let listening = hew.try_clone().map(|hew| thread::spawn(move || listen(hew, leader)));
    if listening.is_err() {
        // Nobody could end it.
        sweep::end(leader, Signal::KILL);
    }
    let status = wait_for(leader);
    // Its ends of the pipes would keep the readers waiting until it is gone.
    let nowhere = OpenOptions::new().write(true).open("/dev/null");
    if let Ok(nowhere) = nowhere {
        rustix::stdio::dup2_stdout(&nowhere).ok();
        rustix::stdio::dup2_stderr(&nowhere).ok();
    }
    if sweep::everything() > 0 {
        tell(Record::Left);
    }
    seal.check().into_iter().for_each(|path| tell(Record::Undone(path)));
    tell(Record::Ended(status));
    ExitCode::SUCCESS
}

/// Passes on what hew wants until it wants everything to end, or is gone.
fn listen(mut hew: UnixStream, leader: Pid) {
    let mut byte = [0];
    while let Ok(1) = hew.read(&mut byte) {
        sweep::end(leader, Signal::TERM);
        // A stopped process would not notice.
        sweep::end(leader, Signal::CONT);
    }
    // The main thread then ends the rest.
    sweep::end(leader, Signal::KILL);
}

/// Waits for the command, and reaps its orphans meanwhile.
fn wait_for(leader: Pid) -> Status {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => return said(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Status::Unknown,
        }
    }
}

fn said(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, Some(signal)) => Status::Signalled(signal),
        (None, None) => Status::Unknown,
    }
}

/// A guard that has done all that concerns itself; what concerns the command only is still to be put on.
struct Prepared {
    report: Report,
    filter: Result<filter::Filter, String>,
}

impl Prepared {
    fn new(order: &Order) -> io::Result<Self> {
        syscall::leave_terminal();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        if order.hold == Hold::Free {
            let why = || "nothing is confined".to_owned();
            return Ok(Self {
                report: Report::nothing(&why()),
                filter: Err(why()),
            });
        }
        let mounts = match mounts::arrange(order) {
            Ok(()) => Layer::Active,
            Err(mounts::Trouble::Unavailable(error)) => Layer::Missing(error.to_string()),
            Err(mounts::Trouble::Halfway(error)) => return Err(error),
        };
        capabilities::drop_all_but_files()?;
        let filter = filter::Filter::new(order.network);
        Ok(Self {
            report: Report {
                landlock: syscall::landlock_version(),
                seccomp: match &filter {
                    Ok(_) => Layer::Active,
                    Err(why) => Layer::Missing(why.clone()),
                },
                mounts,
            },
            filter,
        })
    }

    /// Starts the command from a thread that is confined.
    fn start(&self, order: &Order) -> io::Result<Pid> {
        let mut words = order.command.iter();
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).process_group(0);
        if order.hold == Hold::Free {
            // It may kill its guard before hew has been told of it.
            syscall::end_with_starter(&mut command);
            return pid(&command.spawn()?);
        }
        let confined = || {
            rustix::thread::set_no_new_privs(true)?;
            if self.report.landlock.is_some() {
                rules::restrict(order, &self.report.mounts).map_err(io::Error::other)?;
            }
            if let Ok(filter) = &self.filter {
                filter.apply()?;
            }
            command.spawn()
        };
        limit(order)?;
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

fn limit(order: &Order) -> io::Result<()> {
    for (resource, limit) in [
        (Resource::Core, Some(0)),
        (Resource::Nproc, order.limits.processes),
        (Resource::As, order.limits.memory),
        (Resource::Fsize, order.limits.file_size),
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
