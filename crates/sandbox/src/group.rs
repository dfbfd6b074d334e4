//! A process and everything it started.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A process group, named by the process that leads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    leader: Pid,
}

impl Group {
    pub(crate) fn led_by(pid: u32) -> Option<Self> {
        let leader = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { leader })
    }

    /// Whether any member is left.
    pub(crate) fn is_alive(self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    /// Asks every member to end.
    pub(crate) fn terminate(self) {
        self.signal(Signal::TERM);
        // A stopped process would not notice.
        self.signal(Signal::CONT);
    }

    /// Ends every member.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Whether anybody was left to get the signal; there is no other failure.
    fn signal(self, signal: Signal) -> bool {
        kill_process_group(self.leader, signal).is_ok()
    }
}
