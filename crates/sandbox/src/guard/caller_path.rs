//! Resolves paths as another process does, for which `/proc/self` and the current directory are different.

#![allow(clippy::disallowed_methods, reason = "the state of a process is in files")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, openat, openat2, readlinkat,
};
use rustix::io::Errno;

/// The maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A thread of another process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) thread: u32,
}

/// The place that a path denotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallerPath {
    /// The real path. The entry itself need not exist.
    Entry(PathBuf),
    /// No entry can be created there.
    Nowhere,
    /// It cannot be determined.
    Unknown,
}

impl Caller {
    /// Resolves a path relative to one of the caller's directories; `None` is the current one. A link as the last
    /// component is followed if `follows_last`. Fails with `Unknown` if the caller cannot be inspected.
    pub(super) fn resolve(self, descriptor: Option<i32>, path: &Path, follows_last: bool) -> CallerPath {
        let base = match descriptor {
            Some(descriptor) => format!("/proc/{}/fd/{descriptor}", self.thread),
            None => format!("/proc/{}/cwd", self.thread),
        };
        let mut folder = match rustix::fs::open(if path.is_absolute() { "/" } else { &base }, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::BADF) => return CallerPath::Nowhere,
            Err(_) => return CallerPath::Unknown,
        };
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
                return CallerPath::Nowhere;
            };
            folder = match self.open_folder(folder, parent) {
                Ok(folder) => folder,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => return CallerPath::Nowhere,
                Err(_) => return CallerPath::Unknown,
            };
            let target = match follows_last {
                true => readlinkat(&folder, name, Vec::new()).ok(),
                false => None,
            };
            match target {
                Some(_) if is_proc(&folder) => return CallerPath::Nowhere,
                Some(target) => path = OsString::from_vec(target.into_bytes()).into(),
                None => {
                    return match fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())) {
                        Ok(real) => CallerPath::Entry(real.join(name)),
                        Err(_) => CallerPath::Unknown,
                    };
                }
            }
        }
        CallerPath::Nowhere
    }

    fn open_folder(self, base: OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        if path.as_os_str().is_empty() {
            return Ok(base);
        }
        match openat2(&base, path, FOLDER, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
            Ok(opened) => Ok(opened),
            // A link of the kernel, such as `/proc/self/cwd`; or one that only the caller has, such as `/dev/fd/9`; or an
            // older kernel.
            Err(_) => self.walk(base, path),
        }
    }

    /// Opens a directory component by component.
    fn walk(self, mut folder: OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        let mut links = 0;
        let mut pending: Vec<OsString> = components(path);
        while let Some(name) = pending.pop() {
            if name == "/" {
                folder = openat(CWD, "/", FOLDER, Mode::empty())?;
                continue;
            }
            let in_proc = is_proc(&folder);
            if in_proc && (name == "self" || name == "thread-self") {
                let process = self.process().ok_or(Errno::SRCH)?;
                let own = match name == "self" {
                    true => process,
                    false => format!("{process}/task/{}", self.thread),
                };
                folder = openat(&folder, own, FOLDER, Mode::empty())?;
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let entry = openat(&folder, &name, flags, Mode::empty())?;
            folder = match FileType::from_raw_mode(fstat(&entry)?.st_mode) {
                FileType::Directory => entry,
                FileType::Symlink if in_proc => openat(&folder, &name, FOLDER, Mode::empty())?,
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    let target = readlinkat(&folder, &name, Vec::new())?;
                    pending.extend(components(Path::new(OsStr::from_bytes(target.as_bytes()))));
                    folder
                }
                _ => return Err(Errno::NOTDIR),
            };
        }
        Ok(folder)
    }

    /// The id of the thread's process.
    fn process(self) -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        Some(line.trim().to_owned())
    }
}

/// The components of a path, the last one first.
fn components(path: &Path) -> Vec<OsString> {
    let all = path.components().filter(|component| *component != Component::CurDir);
    all.rev().map(|component| component.as_os_str().to_owned()).collect()
}

fn is_proc(folder: &OwnedFd) -> bool {
    fstatfs(folder).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_are_resolved_as_the_caller_does() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("/proc/self/cwd", root.join("here")).unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("link/b/new", root.join("file")).unwrap();
        symlink("round", root.join("round")).unwrap();
        // A descriptor that this process does not have.
        let mut other = std::process::Command::new("bash")
            .args(["-c", "exec 99< a; echo; exec sleep 600"])
            .current_dir(&root)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let caller = Caller { thread: other.id() };
        let entry = |name: &str| CallerPath::Entry(root.join(name));
        let absolute = root.join("a/b/x").display().to_string();
        for (path, expected) in [
            ("x", entry("x")),
            ("a/../link/x", entry("a/x")),
            ("here/a/x", entry("a/x")),
            ("/proc/self/cwd/a/x", entry("a/x")),
            ("/proc/thread-self/cwd/link/b/x", entry("a/b/x")),
            ("/proc/self/cwd/here/x", entry("x")),
            ("/proc/self/fd/99/x", entry("a/x")),
            ("/dev/fd/99/b/x", entry("a/b/x")),
            ("/dev/fd/98/x", CallerPath::Nowhere),
            (absolute.as_str(), entry("a/b/x")),
            ("file", entry("a/b/new")),
            ("here/file", entry("a/b/new")),
            ("missing/x", CallerPath::Nowhere),
            ("round/x", CallerPath::Nowhere),
            ("round", CallerPath::Nowhere),
            ("a/..", CallerPath::Nowhere),
        ] {
            assert_eq!(caller.resolve(None, Path::new(path), true), expected, "{path}");
        }
        assert_eq!(caller.resolve(None, Path::new("file"), false), entry("file"));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(caller.resolve(Some(0), Path::new("x"), true), CallerPath::Nowhere);
    }
}
