//! Protected paths that could not be mounted read-only: how they were, and back to that.
//!
//! What is protected is dangerous only to those who use it later, outside: a hook, a rule. So it is enough to put it back
//! once the command and all it started are gone. What was there instead is kept beside it, in case it was somebody else's.

#![allow(clippy::disallowed_methods, reason = "a guard puts protected files back")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::order::Order;
use crate::{Layer, Report};

/// Larger files are not kept; they are neither hooks nor rules.
const MAX_FILE: u64 = 1024 * 1024;
/// Deeper folders are not kept.
const MAX_DEPTH: usize = 3;
const MAX_ENTRIES: usize = 256;
/// Ends the names of what was found in place of something protected.
const BLOCKED: &str = ".blocked";

/// How some paths were.
pub(super) struct Seal {
    kept: Vec<(PathBuf, State)>,
}

#[derive(PartialEq, Eq)]
enum State {
    Missing,
    File {
        contents: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    Folder(BTreeMap<OsString, State>),
    /// Too large or too odd to keep.
    Other,
}

impl Seal {
    /// Remembers the protected paths that nothing else protects.
    pub(super) fn new(order: &Order, report: &Report) -> Self {
        let mounted = |path: &Path| match report.mounts {
            // A link cannot be mounted on, only what it leads to.
            Layer::Active => path.exists() && !path.is_symlink(),
            Layer::Missing(_) => false,
        };
        let written = |path: &Path| order.writable.iter().any(|root| path.starts_with(root));
        let open = order.protected.iter().filter(|path| written(path) && !mounted(path));
        Self {
            kept: open.map(|path| (path.clone(), State::of(path, MAX_DEPTH))).collect(),
        }
    }

    /// Puts back what has changed, and names it.
    pub(super) fn check(self) -> Vec<PathBuf> {
        let changed = self
            .kept
            .into_iter()
            .filter(|(path, state)| State::of(path, MAX_DEPTH) != *state);
        let changed: Vec<(PathBuf, State)> = changed.collect();
        changed
            .into_iter()
            .map(|(path, state)| {
                // What cannot be put back is named all the same.
                drop(state.restore(&path));
                path
            })
            .collect()
    }
}

impl State {
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
            Self::Missing => set_aside(path),
            Self::Link(target) => {
                set_aside(path)?;
                std::os::unix::fs::symlink(target, path)
            }
            Self::File { contents, mode } => {
                // Also because a link must not lead the write elsewhere.
                set_aside(path)?;
                fs::write(path, contents)?;
                fs::set_permissions(path, fs::Permissions::from_mode(mode))
            }
            Self::Folder(entries) => {
                if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                    set_aside(path)?;
                    fs::create_dir(path)?;
                }
                for entry in fs::read_dir(path)?.flatten() {
                    if !entries.contains_key(&entry.file_name()) {
                        set_aside(&entry.path())?;
                    }
                }
                let mut entries = entries.into_iter();
                entries.try_for_each(|(name, state)| state.restore(&path.join(name)))
            }
            Self::Other => Ok(()),
        }
    }
}

fn set_aside(path: &Path) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(BLOCKED);
    match fs::rename(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path below a folder and what it holds.
    fn listing(folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            match State::read(&path, 1).unwrap() {
                State::Folder(_) => lines.extend(listing(&path).iter().map(|line| format!("{name}/{line}"))),
                State::Link(target) => lines.push(format!("{name} -> {}", target.display())),
                _ => lines.push(format!("{name}: {}", fs::read_to_string(&path).unwrap())),
            }
        }
        lines.sort();
        lines
    }

    #[test]
    fn what_was_changed_is_put_back_and_the_change_kept_beside_it() {
        type Change = fn(&Path);
        let cases: [(&str, Change, &[&str], &[&str]); 6] = [
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
            let order = Order {
                writable: vec![git.into()],
                protected: ["config", "hooks", "commondir"].map(|name| git.join(name)).into(),
                ..Order::from_args(["__confine", "--"].map(OsString::from)).unwrap()
            };
            let seal = Seal::new(&order, &Report::nothing("a test"));
            change(git);
            let undone: Vec<PathBuf> = undone.iter().map(|name| git.join(name)).collect();
            assert_eq!(
                (seal.check(), listing(git)),
                (undone, after.iter().map(|line| (*line).into()).collect()),
                "{name}"
            );
        }
    }
}
