//! A process group.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A process group, identified by its leader.
#[derive(Debug, Clone)]
pub(crate) struct ProcessGroup {
    leader: Pid,
    /// The socket to the guard, if the leader is one: the guard ends its processes and then itself.
    guard: Option<Arc<UnixStream>>,
}

impl ProcessGroup {
    pub(crate) fn new(pid: u32, guard: Option<Arc<UnixStream>>) -> Option<Self> {
        let leader = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { leader, guard })
    }

    /// Whether any member is alive.
    pub(crate) fn is_alive(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Sends SIGTERM to every member.
    pub(crate) fn terminate(&self) {
        match &self.guard {
            // Fails only if the guard has ended.
            Some(guard) => drop(guard.as_ref().write(b"T")),
            None => {
                self.signal(Signal::TERM);
                // A stopped process would not handle the signal.
                self.signal(Signal::CONT);
            }
        }
    }

    /// Kills every member.
    pub(crate) fn kill(&self) {
        match &self.guard {
            Some(guard) => drop(guard.shutdown(Shutdown::Write)),
            None => {
                self.signal(Signal::KILL);
            }
        }
    }

    /// Whether a member received the signal; there is no other failure.
    fn signal(&self, signal: Signal) -> bool {
        kill_process_group(self.leader, signal).is_ok()
    }
}
