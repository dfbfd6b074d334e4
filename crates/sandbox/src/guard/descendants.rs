//! Ends the descendants of a command. Its orphans become the guard's children, even if they left the process group.

#![allow(
    clippy::disallowed_methods,
    reason = "the kernel lists a process's children in a file"
)]

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};

/// Signals a command and its process group. Fails only if no process is left.
pub(super) fn end_group(leader: Pid, signal: Signal) {
    kill_process_group(leader, signal).ok();
    kill_process(leader, signal).ok();
}

/// Kills all descendants of a command that has ended, and returns how many there were.
pub(super) fn kill_descendants() -> usize {
    let mut ended = 0;
    let mut patience = WaitOptions::NOHANG;
    loop {
        match wait(patience) {
            // Processes that have already ended do not count. A dying process passes its children on, so the search is
            // repeated.
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => patience = WaitOptions::NOHANG,
            Ok(None) => {
                let killed = kill_children();
                // The kernel reports children, but lists none.
                if killed == 0 {
                    return ended;
                }
                ended += killed;
                patience = WaitOptions::empty();
            }
            // No child is left.
            Err(_) => return ended,
        }
    }
}

/// The number of all descendants of this process.
pub(super) fn count() -> u64 {
    let mut pending: Vec<Pid> = children("self");
    let mut count = 0;
    while let Some(process) = pending.pop() {
        count += 1;
        pending.extend(children(&process.as_raw_nonzero().to_string()));
    }
    count
}

fn kill_children() -> usize {
    let kill = |children: Vec<Pid>| {
        let killed = children
            .into_iter()
            .filter(|child| kill_process(*child, Signal::KILL).is_ok());
        killed.count()
    };
    // The list may miss children while others end.
    match kill(children("self")) {
        0 => kill(children_from_proc()),
        killed => killed,
    }
}

fn children(process: &str) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists: Vec<String> = threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect();
    lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .filter_map(pid)
        .collect()
}

/// Examines every process, for kernels without the list.
fn children_from_proc() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_child = |stat: &str| {
        // The name in brackets may contain any character; the state and the parent follow it.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        parent == Some(own.as_str())
    };
    processes
        .filter_map(|process| pid(process.file_name().to_str()?))
        .filter(|process| {
            fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).is_ok_and(|stat| is_child(&stat))
        })
        .collect()
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_both_ways() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let id = pid(&child.id().to_string()).unwrap();
        assert!(children("self").contains(&id) && count() > 0);
        assert!(children_from_proc().contains(&id));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
