//! Tells which of many paths exist. A directory with many of them is listed once, because most protected names do not
//! exist in a project.

#![allow(
    clippy::disallowed_methods,
    reason = "a guard looks at the files its command will see"
)]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Fewer paths in a directory are looked up one by one.
const MIN_PATHS: usize = 6;
/// Directories with more entries are not listed.
const MAX_ENTRIES: usize = 1_000;

/// The entries of directories when this was created.
#[derive(Default)]
pub(super) struct PresentPaths {
    /// By the bytes of the path, which are faster to hash than its components.
    listed: HashMap<Vec<u8>, HashSet<Vec<u8>>>,
}

impl PresentPaths {
    /// Lists the directories that contain many of these paths.
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for (parent, _) in paths.filter_map(|path| split(path.as_os_str().as_bytes())) {
            *counts.entry(parent).or_default() += 1;
        }
        let many = counts.into_iter().filter(|(_, count)| *count >= MIN_PATHS);
        Self {
            listed: many
                .filter_map(|(folder, _)| Some((folder.to_owned(), entries(folder)?)))
                .collect(),
        }
    }

    /// Whether the path exists, also as a broken link.
    pub(super) fn contains(&self, path: &Path) -> bool {
        !self.is_absent(path) && path.symlink_metadata().is_ok()
    }

    /// Whether a listing shows that the path or its directory does not exist.
    pub(super) fn is_absent(&self, path: &Path) -> bool {
        let Some((parent, name)) = split(path.as_os_str().as_bytes()) else {
            return false;
        };
        match self.listed.get(parent) {
            Some(entries) => !entries.contains(folded(name).as_ref()),
            None => split(parent).is_some_and(|(above, name)| {
                let entries = self.listed.get(above);
                entries.is_some_and(|entries| !entries.contains(folded(name).as_ref()))
            }),
        }
    }
}

/// The directory and the name of a path; `None` if it has none, or ends with `/`, `.` or `..`.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let (parent, name) = path.split_at(path.iter().rposition(|byte| *byte == b'/')?);
    let name = &name[1..];
    (!parent.is_empty() && !matches!(name, b"" | b"." | b"..")).then_some((parent, name))
}

/// The folded names in a directory; `None` if there are too many, or names that a file system could treat as equal to
/// others.
fn entries(folder: &[u8]) -> Option<HashSet<Vec<u8>>> {
    let listing = match fs::read_dir(OsStr::from_bytes(folder)) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(HashSet::new()),
        Err(_) => return None,
    };
    let mut names = HashSet::new();
    for entry in listing {
        let name = entry.ok()?.file_name();
        if names.len() == MAX_ENTRIES || !name.is_ascii() {
            return None;
        }
        names.insert(folded(name.as_bytes()).into_owned());
    }
    Some(names)
}

/// Some file systems ignore case.
fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    match name.iter().any(u8::is_ascii_uppercase) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_and_single_lookups_agree() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("folder/inner")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("broken")).unwrap();
        let names = [
            "file",
            "File",
            "broken",
            "folder",
            "folder/inner",
            "folder/x",
            "missing",
            "missing/x",
            "file/x",
            "a",
            "b",
            "c",
            "missing/y/z",
        ];
        let paths: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
        let check = |present: &PresentPaths| {
            for path in &paths {
                assert_eq!(
                    present.contains(path),
                    path.symlink_metadata().is_ok(),
                    "{}",
                    path.display()
                );
            }
        };
        let present = PresentPaths::new(paths.iter());
        assert!(present.listed.contains_key(root.as_os_str().as_bytes()) && present.is_absent(&root.join("missing/x")));
        check(&present);
        check(&PresentPaths::default());
        // A name that could be another one on some file systems.
        fs::write(root.join("\u{212A}"), "").unwrap();
        let present = PresentPaths::new(paths.iter());
        assert!(!present.listed.contains_key(root.as_os_str().as_bytes()));
        check(&present);
    }
}
