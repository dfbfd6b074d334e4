//! Limits the number of processes of root, to whom the kernel does not apply resource limits.

#![allow(clippy::disallowed_methods, reason = "control groups are files")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::descendants;
use crate::guard_args::{GuardArgs, GuardMode};

/// The control groups of version 1 and 2 that count processes.
const HIERARCHIES: [&str; 3] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
/// The interval of counting without a control group.
const COUNT_INTERVAL: Duration = Duration::from_millis(10);
/// The processes of a guard.
const GUARD_PROCESSES: u64 = 4;

/// A control group for all commands of a guard, if one is needed.
pub(super) enum ProcessLimit {
    /// Another mechanism applies, or there is no limit.
    NotNeeded,
    /// The group, and the one above it.
    Group(PathBuf, PathBuf),
    /// There is no group; processes are counted instead.
    Counted,
}

impl ProcessLimit {
    /// Moves this process to a new group if it is root.
    pub(super) fn set(args: &GuardArgs) -> Self {
        let Some(limit) = args.limits.processes.filter(|_| args.mode == GuardMode::Confine) else {
            return Self::NotNeeded;
        };
        if !rustix::process::getuid().is_root() {
            return Self::NotNeeded;
        }
        let id = rustix::process::getpid().as_raw_nonzero();
        for above in HIERARCHIES.map(Path::new) {
            if !above.join("cgroup.procs").exists() {
                continue;
            }
            remove_leftovers(above);
            let group = above.join(format!("hew-{id}"));
            let entered = fs::create_dir(&group)
                .and_then(|()| fs::write(group.join("pids.max"), (limit + GUARD_PROCESSES).to_string()))
                .and_then(|()| fs::write(group.join("cgroup.procs"), id.to_string()));
            match entered {
                Ok(()) => return Self::Group(group, above.into()),
                Err(_) => drop(fs::remove_dir(&group)),
            }
        }
        Self::Counted
    }

    /// Whether the kernel enforces the limit.
    pub(super) fn is_enforced(&self) -> bool {
        !matches!(self, Self::Counted)
    }

    /// Removes the group, which contains only this process.
    pub(super) fn remove(&self) {
        if let Self::Group(group, above) = self {
            let id = rustix::process::getpid().as_raw_nonzero();
            drop(fs::write(above.join("cgroup.procs"), id.to_string()));
            drop(fs::remove_dir(group));
        }
    }
}

/// Removes the groups of guards that were killed. The kernel refuses to remove those in use.
fn remove_leftovers(above: &Path) {
    let groups = fs::read_dir(above).into_iter().flatten().flatten();
    let own = groups.filter(|entry| entry.file_name().to_string_lossy().starts_with("hew-"));
    own.for_each(|entry| drop(fs::remove_dir(entry.path())));
}

/// Kills a command that has more processes than the limit.
pub(super) fn watch(limit: u64, leader: Pid) {
    thread::spawn(move || {
        loop {
            if descendants::count() > limit {
                descendants::end_group(leader, Signal::KILL);
                return;
            }
            thread::sleep(COUNT_INTERVAL);
        }
    });
}
