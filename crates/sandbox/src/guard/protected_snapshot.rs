//! Snapshots of protected paths that could not be mounted read-only, for restoring them.
//!
//! A protected file, such as a hook, is dangerous only when it is used later, outside of the sandbox. It suffices to
//! restore it after the command and its descendants have ended. The replaced content is kept next to it, in case
//! another program wrote it.

#![allow(clippy::disallowed_methods, reason = "a guard puts protected files back")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::moved_paths::MovedPaths;
use super::present_paths::PresentPaths;
use crate::guard_args::GuardArgs;
use crate::guard_request::GuardRequest;
use crate::{ConfinementReport, LayerStatus};

/// Larger files are not stored; they are neither hooks nor rules.
const MAX_FILE: u64 = 1024 * 1024;
/// Deeper directories are not stored.
const MAX_DEPTH: usize = 3;
const MAX_ENTRIES: usize = 256;
/// The suffix for content found in place of a protected path.
const BLOCKED_SUFFIX: &str = ".blocked";
/// The maximum number of names that are tried.
const MAX_TRIES: usize = 100;
/// So many names are numbered; a command can take all of them, but cannot predict the others.
const NUMBERED_TRIES: usize = 10;

/// The previous state of paths.
pub(super) struct ProtectedSnapshot {
    moved: MovedPaths,
    paths: Vec<(PathBuf, PathState)>,
    /// The links above the paths.
    links: BTreeSet<(PathBuf, PathBuf)>,
}

#[derive(PartialEq, Eq)]
enum PathState {
    Missing,
    File {
        contents: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    Folder(BTreeMap<OsString, PathState>),
    /// Too large or of an unsupported type.
    Other,
}

impl ProtectedSnapshot {
    /// Takes a snapshot of the protected paths that no other layer protects.
    pub(super) fn new(args: &GuardArgs, request: &GuardRequest, report: &ConfinementReport) -> Self {
        let present = PresentPaths::new(request.protected.iter());
        let mounted = |path: &Path| match report.mounts {
            // A link cannot be a mount point, only its target.
            LayerStatus::Active => present.contains(path) && path.exists() && !path.is_symlink(),
            LayerStatus::Missing(_) => false,
        };
        let written = |path: &Path| args.writable.iter().any(|root| path.starts_with(root));
        let open = request.protected.iter().filter(|path| written(path) && !mounted(path));
        let open: Vec<&PathBuf> = open.collect();
        let parents: HashSet<&OsStr> = open
            .iter()
            .filter_map(|path| Some(path.parent()?.as_os_str()))
            .collect();
        let parents = parents
            .into_iter()
            .map(Path::new)
            .map(|parent| match present.is_absent(parent) {
                true => parent.parent().unwrap_or(parent),
                false => parent,
            });
        Self {
            links: links(
                parents
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .flat_map(Path::ancestors)
                    .collect(),
            ),
            moved: match report.mounts {
                LayerStatus::Active => MovedPaths::default(),
                LayerStatus::Missing(_) => MovedPaths::new(request.pinned.iter().chain(&request.hidden)),
            },
            paths: open
                .into_iter()
                .map(|path| {
                    let state = match present.contains(path) {
                        true => PathState::of(path, MAX_DEPTH),
                        false => PathState::Missing,
                    };
                    (path.clone(), state)
                })
                .collect(),
        }
    }

    /// Restores changed paths and returns them.
    pub(super) fn restore_changed(self) -> Vec<PathBuf> {
        let moved = self.moved.restore();
        let present = PresentPaths::new(self.paths.iter().map(|(path, _)| path));
        let is_changed = |(path, state): &(PathBuf, PathState)| match (state, present.contains(path)) {
            (PathState::Missing, is_present) => is_present,
            (_, true) => PathState::of(path, MAX_DEPTH) != *state,
            (_, false) => true,
        };
        let changed: Vec<(PathBuf, PathState)> = self.paths.into_iter().filter(is_changed).collect();
        let changed = changed.into_iter().map(|(path, state)| {
            // Files elsewhere, to which a new link leads, stay unchanged.
            for (link, _) in links(path.ancestors().skip(1).collect()).difference(&self.links) {
                drop(move_aside(link));
            }
            // Paths that cannot be restored are returned too.
            drop(state.restore(&path));
            path
        });
        moved.into_iter().chain(changed).collect()
    }
}

/// The links among these paths, and their targets, outermost first.
fn links(paths: BTreeSet<&Path>) -> BTreeSet<(PathBuf, PathBuf)> {
    let links = paths
        .into_iter()
        .map(|path| Some((path.to_owned(), fs::read_link(path).ok()?)));
    links.flatten().collect()
}

impl PathState {
    fn of(path: &Path, depth: usize) -> Self {
        match Self::read(path, depth) {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(_) => Self::Other,
        }
    }

    fn read(path: &Path, depth: usize) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_symlink() {
            Ok(Self::Link(fs::read_link(path)?))
        } else if metadata.is_file() && metadata.len() <= MAX_FILE {
            Ok(Self::File {
                contents: fs::read(path)?,
                mode: metadata.permissions().mode(),
            })
        } else if metadata.is_dir() && depth > 0 {
            let entries: Vec<fs::DirEntry> = fs::read_dir(path)?.flatten().take(MAX_ENTRIES + 1).collect();
            if entries.len() > MAX_ENTRIES {
                return Ok(Self::Other);
            }
            let entries = entries
                .iter()
                .map(|entry| (entry.file_name(), Self::of(&entry.path(), depth - 1)));
            Ok(Self::Folder(entries.collect()))
        } else {
            Ok(Self::Other)
        }
    }

    fn restore(self, path: &Path) -> io::Result<()> {
        if Self::of(path, MAX_DEPTH) == self {
            return Ok(());
        }
        match self {
            Self::Missing => move_aside(path),
            Self::Link(target) => {
                move_aside(path)?;
                std::os::unix::fs::symlink(target, path)
            }
            Self::File { contents, mode } => {
                // Also prevents a link from redirecting the write.
                move_aside(path)?;
                let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
                file.write_all(&contents)?;
                file.set_permissions(fs::Permissions::from_mode(mode))
            }
            Self::Folder(entries) => {
                if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                    move_aside(path)?;
                    fs::create_dir(path)?;
                }
                for entry in fs::read_dir(path)?.flatten() {
                    if !entries.contains_key(&entry.file_name()) {
                        move_aside(&entry.path())?;
                    }
                }
                let mut entries = entries.into_iter();
                entries.try_for_each(|(name, state)| state.restore(&path.join(name)))
            }
            Self::Other => Ok(()),
        }
    }
}

/// Gives a path another name, whatever names a command has taken before.
pub(super) fn move_aside(path: &Path) -> io::Result<()> {
    let mut is_opened = false;
    let mut number = 0;
    while number < MAX_TRIES {
        let mut aside = path.as_os_str().to_owned();
        match number {
            0 => {}
            1..NUMBERED_TRIES => aside.push(format!(".{number}")),
            _ => aside.push(format!(
                ".{}",
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default()
                    .as_nanos()
            )),
        }
        aside.push(BLOCKED_SUFFIX);
        match renameat_with(CWD, path, CWD, &aside, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST) => number += 1,
            // A command can take away the user's own permissions.
            Err(Errno::ACCESS | Errno::PERM) if !is_opened => {
                is_opened = true;
                open_up(path.parent().unwrap_or(path))?;
            }
            // The file system does not support the flag.
            Err(Errno::INVAL | Errno::NOSYS) => return fs::rename(path, aside),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives the user all permissions for a directory.
fn open_up(folder: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode & 0o777);
    // Not by name: it may be a link by now.
    let own = format!("/proc/self/fd/{}", opened.as_raw_fd());
    Ok(rustix::fs::chmod(own, mode | Mode::RWXU)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path below a directory and its content.
    fn listing(folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            match PathState::read(&path, 1).unwrap() {
                PathState::Folder(_) => lines.extend(listing(&path).iter().map(|line| format!("{name}/{line}"))),
                PathState::Link(target) => lines.push(format!("{name} -> {}", target.display())),
                _ => lines.push(format!("{name}: {}", fs::read_to_string(&path).unwrap())),
            }
        }
        lines.sort();
        lines
    }

    #[test]
    fn changed_paths_are_restored_and_the_change_is_kept_next_to_them() {
        type Change = fn(&Path);
        let cases: [(&str, Change, &[&str], &[&str]); 7] = [
            (
                "a link to another directory",
                |git| {
                    fs::create_dir(git.join("other")).unwrap();
                    fs::write(git.join("other/file"), "mine").unwrap();
                    std::os::unix::fs::symlink("other", git.join("later")).unwrap();
                },
                &["later/file"],
                &[
                    "config: old",
                    "hooks/a: hook",
                    "later.blocked -> other",
                    "other/file: mine",
                ],
            ),
            ("nothing", |_| {}, &[], &["config: old", "hooks/a: hook"]),
            (
                "a file changed",
                |git| fs::write(git.join("config"), "new").unwrap(),
                &["config"],
                &["config.blocked: new", "config: old", "hooks/a: hook"],
            ),
            (
                "a file replaced by a link",
                |git| {
                    fs::remove_file(git.join("config")).unwrap();
                    std::os::unix::fs::symlink("/etc/passwd", git.join("config")).unwrap();
                },
                &["config"],
                &["config.blocked -> /etc/passwd", "config: old", "hooks/a: hook"],
            ),
            (
                "a missing file made",
                |git| fs::write(git.join("commondir"), "x").unwrap(),
                &["commondir"],
                &["commondir.blocked: x", "config: old", "hooks/a: hook"],
            ),
            (
                "a folder's files added and removed",
                |git| {
                    fs::remove_file(git.join("hooks/a")).unwrap();
                    fs::write(git.join("hooks/b"), "evil").unwrap();
                },
                &["hooks"],
                &["config: old", "hooks/a: hook", "hooks/b.blocked: evil"],
            ),
            (
                "a folder moved away",
                |git| fs::rename(git.join("hooks"), git.join("gone")).unwrap(),
                &["hooks"],
                &["config: old", "gone/a: hook", "hooks/a: hook"],
            ),
        ];
        for (name, change, undone, after) in cases {
            let folder = tempfile::tempdir().unwrap();
            let git = folder.path();
            fs::write(git.join("config"), "old").unwrap();
            fs::create_dir(git.join("hooks")).unwrap();
            fs::write(git.join("hooks/a"), "hook").unwrap();
            let args = GuardArgs {
                writable: vec![git.into()],
                ..GuardArgs::from_args(["__confine", "--"].map(OsString::from)).unwrap()
            };
            let request = GuardRequest {
                protected: ["config", "hooks", "commondir", "later/file"]
                    .map(|name| git.join(name))
                    .into(),
                ..GuardRequest::default()
            };
            let snapshot = ProtectedSnapshot::new(&args, &request, &ConfinementReport::unconfined("a test"));
            change(git);
            let undone: Vec<PathBuf> = undone.iter().map(|name| git.join(name)).collect();
            assert_eq!(
                (snapshot.restore_changed(), listing(git)),
                (undone, after.iter().map(|line| (*line).into()).collect()),
                "{name}"
            );
        }
    }

    #[test]
    fn a_taken_name_or_missing_permissions_do_not_keep_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hook");
        fs::write(&path, "evil").unwrap();
        fs::create_dir_all(folder.path().join("hook.blocked/x")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
        move_aside(&path).unwrap();
        assert!(!path.exists() && folder.path().join("hook.1.blocked").is_file());
        for number in 2..2 * MAX_TRIES {
            fs::write(folder.path().join(format!("hook.{number}.blocked")), "").unwrap();
        }
        fs::write(&path, "evil").unwrap();
        move_aside(&path).unwrap();
        assert!(!path.exists());
    }
}
