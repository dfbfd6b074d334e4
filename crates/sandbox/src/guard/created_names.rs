//! Prevents a command from creating protected paths that do not exist, which no mount can cover.
//!
//! The kernel asks before each system call that can create a name. The answer is not reliable against an attacker who
//! changes the name in memory meanwhile, so created paths are also removed after the command; and nothing that hew
//! starts is started from them without approval.

#![allow(clippy::disallowed_methods, reason = "the memory of a process is a file")]

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use seccompiler::sock_filter;

use super::caller_path::{Caller, CallerPath};
use super::present_paths::PresentPaths;
use super::syscall;
use crate::confinement::is_generated;
use crate::guard_request::GuardRequest;

/// The maximum length of a path.
const MAX_PATH: usize = 4096;

/// A system call that can create a name: its number, the argument with its flags if `O_CREAT` matters, the argument with
/// the descriptor of a directory, and the one with the path.
type CreatingCall = (libc::c_long, Option<usize>, Option<usize>, usize);

const CALLS: &[CreatingCall] = &[
    (libc::SYS_openat, Some(2), Some(0), 1),
    (libc::SYS_mkdirat, None, Some(0), 1),
    (libc::SYS_mknodat, None, Some(0), 1),
    (libc::SYS_renameat2, None, Some(2), 3),
    (libc::SYS_linkat, None, Some(2), 3),
    (libc::SYS_symlinkat, None, Some(1), 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, Some(1), None, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, None, None, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, None, None, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, None, None, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, None, None, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_renameat, None, Some(2), 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, None, None, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, None, None, 1),
];

/// The calls among them that give a directory with contents a name.
const MOVES: &[libc::c_long] = &[
    libc::SYS_renameat2,
    libc::SYS_symlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];

/// The names that must not be created.
pub(super) struct CreatedNames {
    paths: HashSet<PathBuf>,
    /// The missing directories above them, which may be created empty only.
    folders: HashSet<PathBuf>,
    /// A directory and a name each that must not be created below it.
    below: Vec<(PathBuf, PathBuf)>,
    /// The last components of both. Other names need not be resolved.
    names: HashSet<OsString>,
    /// Rules files, which exist also for single modes: `.clinerules-code`.
    rules: HashSet<PathBuf>,
}

impl CreatedNames {
    pub(super) fn new(request: &GuardRequest) -> Self {
        let present = PresentPaths::new(request.protected.iter());
        let mut canonical = CanonicalFolders {
            present: &present,
            folders: HashMap::new(),
        };
        let missing = request.protected.iter().filter(|path| !present.contains(path));
        let paths: HashSet<PathBuf> = missing.filter_map(|path| canonical.path(path)).collect();
        let folders = canonical.missing();
        let is_rules = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().ends_with(b"rules"));
        let rules = request.protected.iter().filter(is_rules);
        let rules: HashSet<PathBuf> = rules.filter_map(|path| canonical.path(path)).collect();
        let below = request.uncreatable.clone();
        let all = paths.iter().chain(&folders).chain(below.iter().map(|(_, name)| name));
        let names: HashSet<OsString> = all.filter_map(|path| Some(path.file_name()?.to_owned())).collect();
        Self {
            paths,
            folders,
            below,
            names,
            rules,
        }
    }

    /// Makes the kernel ask about system calls of this thread and its children.
    pub(super) fn listen() -> io::Result<OwnedFd> {
        syscall::listen_to_system_calls(&filter())
    }

    /// Answers the kernel until this process ends.
    pub(super) fn answer(self, listener: OwnedFd) {
        thread::spawn(move || {
            loop {
                let call = match syscall::next_system_call(&listener) {
                    Ok(call) => call,
                    // The process was killed, or a signal arrived.
                    Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {
                        match is_unused(&listener) {
                            true => return,
                            false => continue,
                        }
                    }
                    Err(_) => return,
                };
                let denied = self.is_denied(&call).then_some(libc::EROFS);
                // Fails if the process was killed meanwhile.
                drop(syscall::answer_system_call(&listener, call.id, denied));
            }
        });
    }

    fn is_denied(&self, call: &libc::seccomp_notif) -> bool {
        let number = libc::c_long::from(call.data.nr);
        let Some((_, flags, folder, path)) = CALLS.iter().find(|(other, ..)| *other == number) else {
            return false;
        };
        let exchanges = number == libc::SYS_renameat2 && call.data.args[4] & u64::from(libc::RENAME_EXCHANGE) != 0;
        self.is_denied_name(call, (*folder, *path), flags.is_some())
            || (exchanges && self.is_denied_name(call, (Some(0), 1), false))
    }

    /// Whether the name given by these arguments must not be created: the descriptor of a directory and a path.
    fn is_denied_name(
        &self,
        call: &libc::seccomp_notif,
        (folder, path): (Option<usize>, usize),
        follows_last: bool,
    ) -> bool {
        // A process that cannot be inspected, such as one with an unreadable program, creates nothing.
        let Some(path) = read_path(call.pid, call.data.args[path]) else {
            return true;
        };
        let descriptor = folder
            .map(|folder| call.data.args[folder] as i32)
            .filter(|descriptor| *descriptor != libc::AT_FDCWD);
        let is_relevant = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            self.names.contains(name) || rules_of_mode(name).is_some()
        };
        // Opening a link creates its target, which may have another name.
        if !follows_last && !is_relevant(&path) {
            return false;
        }
        let caller = Caller { thread: call.pid };
        match caller.resolve(descriptor, &path, follows_last) {
            CallerPath::Entry(path) => is_relevant(&path) && self.denies(&path, libc::c_long::from(call.data.nr)),
            CallerPath::Nowhere => false,
            CallerPath::Unknown => true,
        }
    }

    /// Whether this call must not create this real path.
    fn denies(&self, path: &Path, number: libc::c_long) -> bool {
        let is_below = |(folder, name): &(PathBuf, PathBuf)| {
            path.strip_prefix(folder)
                .is_ok_and(|inner| inner.ends_with(name) && !is_generated(inner))
        };
        let of_mode = path.file_name().and_then(rules_of_mode);
        self.paths.contains(path)
            || (MOVES.contains(&number) && self.folders.contains(path))
            || self.below.iter().any(is_below)
            || of_mode.is_some_and(|rules| self.rules.contains(&path.with_file_name(rules)))
    }
}

/// The canonical paths of directories, each looked up once.
struct CanonicalFolders<'a> {
    present: &'a PresentPaths,
    folders: HashMap<PathBuf, CanonicalFolder>,
}

#[derive(Clone)]
struct CanonicalFolder {
    path: PathBuf,
    exists: bool,
}

impl CanonicalFolders<'_> {
    /// The path with a canonical parent. The last components need not exist.
    fn path(&mut self, path: &Path) -> Option<PathBuf> {
        Some(self.folder(path.parent()?)?.path.join(path.file_name()?))
    }

    /// The canonical path of a directory. The last components need not exist.
    fn folder(&mut self, folder: &Path) -> Option<CanonicalFolder> {
        if let Some(known) = self.folders.get(folder) {
            return Some(known.clone());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = match self.present.is_absent(folder) {
            true => Err(rustix::io::Errno::NOENT),
            false => rustix::fs::open(folder, flags, Mode::empty()),
        };
        let found = match opened {
            // In time proportional to the depth, unlike `canonicalize`.
            Ok(open) => CanonicalFolder {
                path: std::fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd())).ok()?,
                exists: true,
            },
            Err(rustix::io::Errno::NOENT) => CanonicalFolder {
                path: self.path(folder)?,
                exists: false,
            },
            Err(_) => return None,
        };
        self.folders.insert(folder.to_owned(), found.clone());
        Some(found)
    }

    /// The directories that do not exist.
    fn missing(&self) -> HashSet<PathBuf> {
        let missing = self.folders.values().filter(|folder| !folder.exists);
        missing.map(|folder| folder.path.clone()).collect()
    }
}

/// Whether no process is left that the kernel could ask about.
fn is_unused(listener: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut watched = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().contains(PollFlags::HUP)
}

/// The name of the rules file for all modes: `.clinerules` for `.clinerules-code`.
fn rules_of_mode(name: &OsStr) -> Option<&str> {
    name.to_str()?.split_once('-').map(|(rules, _)| rules)
}

/// A path in the memory of a process.
fn read_path(process: u32, address: u64) -> Option<PathBuf> {
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let mut bytes = vec![0; MAX_PATH];
    let mut length = 0;
    // The page after the path may not exist, so reading stops at the end of each page.
    while length < MAX_PATH {
        let at = address + length as u64;
        let page = (MAX_PATH - (at as usize % MAX_PATH)).min(MAX_PATH - length);
        let count = memory.read_at(&mut bytes[length..length + page], at).ok()?;
        if let Some(end) = bytes[length..length + count].iter().position(|byte| *byte == 0) {
            bytes.truncate(length + end);
            return Some(OsStr::from_bytes(&bytes).into());
        }
        if count == 0 {
            return None;
        }
        length += count;
    }
    None
}

/// Whether the kernel can ask about system calls, tried in a thread of its own.
pub(super) fn check() -> io::Result<()> {
    let tried = thread::scope(|scope| {
        let attempt = || {
            rustix::thread::set_no_new_privs(true)?;
            syscall::listen_to_system_calls(&filter()).map(drop)
        };
        scope.spawn(attempt).join()
    });
    tried.unwrap_or_else(|_| Err(io::Error::other("the filtering thread panicked")))
}

/// A filter that makes the kernel ask about these calls.
fn filter() -> Vec<sock_filter> {
    let instruction = |code: u32, jt: usize, jf: usize, k: u32| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt: u8::try_from(jt).unwrap_or_default(),
        jf: u8::try_from(jf).unwrap_or_default(),
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let has_bits = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let flagged = CALLS.iter().filter(|call| call.1.is_some()).count();
    let length = 1 + (CALLS.len() - flagged) + 3 * flagged + 2;
    // The last two instructions: allow, ask.
    let (allow, ask) = (length - 2, length - 1);
    let mut program = vec![instruction(load, 0, 0, 0)];
    for (call, flags, ..) in CALLS {
        let call = u32::try_from(*call).unwrap_or(u32::MAX);
        let at = program.len();
        match flags {
            None => program.push(instruction(equals, ask - at - 1, 0, call)),
            Some(argument) => {
                // The arguments follow the number, the architecture and the address of the call.
                let offset = u32::try_from(16 + 8 * argument).unwrap_or_default();
                program.push(instruction(equals, 0, 2, call));
                program.push(instruction(load, 0, 0, offset));
                let create = u32::try_from(libc::O_CREAT).unwrap_or_default();
                program.push(instruction(has_bits, ask - at - 3, allow - at - 3, create));
            }
        }
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(instruction(
        libc::BPF_RET | libc::BPF_K,
        0,
        0,
        libc::SECCOMP_RET_USER_NOTIF,
    ));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_from_the_memory_of_a_process() {
        let text = std::ffi::CString::new("/some/path").unwrap();
        let address = text.as_ptr().addr() as u64;
        assert_eq!(read_path(std::process::id(), address), Some("/some/path".into()));
        assert_eq!(read_path(std::process::id(), 1), None);
    }
}
