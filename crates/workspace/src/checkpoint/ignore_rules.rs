//! Files excluded from checkpoints: ignored by git, or generated.

use super::stamp::FileStamp;
use crate::open;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longer ignore files are cut off.
const MAX_BYTES: u64 = 1024 * 1024;
/// The ignore file of git.
pub(super) const FILE: &str = ".gitignore";
/// Files that mark a folder as a cache or as a Python environment.
const GENERATED_TAGS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
/// The folders of version control, which are never read or changed.
pub(super) const INTERNAL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Folders with downloaded or generated files, excluded even if git does not ignore them.
const GENERATED: [&str; 2] = ["node_modules", "__pycache__"];

/// The rules of a folder, which override those of its ancestors.
#[derive(Debug, Clone)]
pub(super) struct CheckpointIgnore(Arc<IgnoreLayer>);

#[derive(Debug)]
struct IgnoreLayer {
    above: Option<CheckpointIgnore>,
    source: Option<(PathBuf, FileStamp)>,
    own: Gitignore,
}

impl CheckpointIgnore {
    /// The rules of the top folder of a project: the user's global ones, then those of the repository.
    pub(super) fn for_root(root: &Path, repository: Option<(&Path, &Path)>) -> Self {
        let (global, _) = Gitignore::global();
        let mut rules = CheckpointIgnore(Arc::new(IgnoreLayer {
            above: None,
            source: None,
            own: global,
        }));
        if let Some((top, directory)) = repository {
            let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            rules = rules.with_file(top, &directory.join("info/exclude"));
            let mut folders: Vec<&Path> = root.ancestors().skip(1).collect();
            folders.retain(|folder| folder.starts_with(top));
            for folder in folders.into_iter().rev() {
                rules = rules.with_file(folder, &folder.join(FILE));
            }
        }
        rules
    }

    /// No rules.
    pub(super) fn empty() -> Self {
        CheckpointIgnore(Arc::new(IgnoreLayer {
            above: None,
            source: None,
            own: Gitignore::empty(),
        }))
    }

    /// The rules of a folder with an ignore file; reuses `before` if the file is unchanged.
    pub(super) fn for_folder(&self, folder: &Path, before: Option<&CheckpointIgnore>) -> CheckpointIgnore {
        let path = folder.join(FILE);
        let stamp = fs::symlink_metadata(&path)
            .ok()
            .map(|metadata| FileStamp::of(&metadata));
        if let (Some(before), Some(stamp)) = (before, stamp) {
            let is_same = before.0.above.as_ref().is_some_and(|above| above.is_same(self));
            if is_same
                && before
                    .0
                    .source
                    .as_ref()
                    .is_some_and(|(from, old)| *from == path && *old == stamp)
            {
                return before.clone();
            }
        }
        self.with_file(folder, &path)
    }

    /// Whether both are the same instance.
    pub(super) fn is_same(&self, other: &CheckpointIgnore) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether a path is excluded.
    pub(super) fn is_ignored(&self, path: &Path, name: &OsStr, is_folder: bool) -> bool {
        if is_folder && GENERATED.iter().any(|made| name == *made) {
            return true;
        }
        let mut rules = Some(self);
        while let Some(CheckpointIgnore(layer)) = rules {
            match layer.own.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = layer.above.as_ref(),
            }
        }
        false
    }

    fn with_file(&self, folder: &Path, file: &Path) -> CheckpointIgnore {
        let Ok(metadata) = fs::symlink_metadata(file) else {
            return self.clone();
        };
        let mut builder = GitignoreBuilder::new(folder);
        let text = open::read(file, MAX_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).trim_start_matches('\u{feff}').lines() {
            // Invalid lines are skipped, as in git, and so are those that cannot be parsed safely.
            if policy::is_bounded_pattern(line) {
                builder.add_line(None, line).ok();
            }
        }
        let own = builder.build().unwrap_or_else(|_| Gitignore::empty());
        CheckpointIgnore(Arc::new(IgnoreLayer {
            above: Some(self.clone()),
            source: Some((file.to_owned(), FileStamp::of(&metadata))),
            own,
        }))
    }
}

/// Whether a folder contains downloaded or generated files.
pub(super) fn is_generated(folder: &Path) -> bool {
    let is_named = folder
        .file_name()
        .is_some_and(|name| GENERATED.iter().any(|generated| name == *generated));
    is_named
        || GENERATED_TAGS
            .iter()
            .any(|tag| open::regular_file(&folder.join(tag)).is_ok())
}

/// Releases a long chain without recursion.
impl Drop for IgnoreLayer {
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut layer) = next.and_then(|CheckpointIgnore(layer)| Arc::into_inner(layer)) {
            next = layer.above.take();
        }
    }
}

/// Whether this is the name of a version control folder.
pub(super) fn is_internal(name: &OsStr) -> bool {
    INTERNAL.iter().any(|internal| name == *internal)
}
