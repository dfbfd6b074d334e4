//! A process and everything it started.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A process group, named by the process that leads it.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    leader: Pid,
    /// If the leader is a guard, the way to it: it ends what it keeps, and then itself.
    guard: Option<Arc<UnixStream>>,
}

impl Group {
    pub(crate) fn led_by(pid: u32, guard: Option<Arc<UnixStream>>) -> Option<Self> {
        let leader = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { leader, guard })
    }

    /// Whether any member is left.
    pub(crate) fn is_alive(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Asks every member to end.
    pub(crate) fn terminate(&self) {
        match &self.guard {
            // Fails only when the guard has ended.
            Some(guard) => drop(guard.as_ref().write(b"T")),
            None => {
                self.signal(Signal::TERM);
                // A stopped process would not notice.
                self.signal(Signal::CONT);
            }
        }
    }

    /// Ends every member.
    pub(crate) fn kill(&self) {
        match &self.guard {
            Some(guard) => drop(guard.shutdown(Shutdown::Write)),
            None => {
                self.signal(Signal::KILL);
            }
        }
    }

    /// Whether anybody was left to get the signal; there is no other failure.
    fn signal(&self, signal: Signal) -> bool {
        kill_process_group(self.leader, signal).is_ok()
    }
}
