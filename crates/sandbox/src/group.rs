//! A process group.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A process group, identified by its leader.
#[derive(Debug, Clone)]
pub(crate) struct ProcessGroup {
    leader: Pid,
}

impl ProcessGroup {
    pub(crate) fn new(pid: u32) -> Option<Self> {
        let leader = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { leader })
    }

    /// Whether any member is alive.
    pub(crate) fn is_alive(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    /// Sends SIGTERM to every member.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
        // A stopped process would not handle the signal.
        self.signal(Signal::CONT);
    }

    /// Kills every member.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether a member received the signal; there is no other failure.
    fn signal(&self, signal: Signal) -> bool {
        kill_process_group(self.leader, signal).is_ok()
    }
}
