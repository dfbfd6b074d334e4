//! Finds pinned and hidden paths that a command has moved, and moves them back. For systems without mounts, which pin
//! them otherwise.

#![allow(clippy::disallowed_methods, reason = "a guard puts moved files back")]

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::protected_snapshot::move_aside;

/// Open paths, parents first. An open path can be found again, wherever it was moved.
#[derive(Default)]
pub(super) struct MovedPaths {
    paths: Vec<(PathBuf, OwnedFd)>,
}

impl MovedPaths {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |path: &PathBuf| Some((path.clone(), rustix::fs::open(path, flags, Mode::empty()).ok()?));
        let mut paths: Vec<(PathBuf, OwnedFd)> = paths.filter_map(open).collect();
        paths.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { paths }
    }

    /// Moves paths back, and returns those that had been moved.
    pub(super) fn restore(self) -> Vec<PathBuf> {
        let moved = |(path, open): (PathBuf, OwnedFd)| {
            let now = fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd())).ok()?;
            let is_there = |place: &Path| is_same(place, &open);
            if now == path || is_there(&path) || !is_there(&now) {
                return None;
            }
            if path.symlink_metadata().is_ok() {
                drop(move_aside(&path));
            }
            drop(path.parent().map(fs::create_dir_all));
            // A path that cannot be restored is returned too.
            drop(fs::rename(now, &path));
            Some(path)
        };
        self.paths.into_iter().filter_map(moved).collect()
    }
}

fn is_same(path: &Path, open: &OwnedFd) -> bool {
    let found = fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
    let own = rustix::fs::fstat(open).map(|own| (own.st_dev, own.st_ino));
    matches!((found, own), (Ok(found), Ok(own)) if found == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_paths_are_moved_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/secret"), "x").unwrap();
        let paths = ["a/b", "a", "a/b/secret"].map(|name| root.join(name));
        let moved = MovedPaths::new(paths.iter());
        fs::rename(root.join("a/b/secret"), root.join("seen")).unwrap();
        fs::rename(root.join("a"), root.join("z")).unwrap();
        fs::create_dir(root.join("a")).unwrap();
        assert_eq!(moved.restore(), [root.join("a"), root.join("a/b/secret")]);
        assert_eq!(fs::read_to_string(root.join("a/b/secret")).unwrap(), "x");
        assert!(!root.join("seen").exists() && !root.join("z").exists());
    }
}
