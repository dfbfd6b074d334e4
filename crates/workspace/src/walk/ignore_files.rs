//! The ignore files that apply in a folder.
//!
//! `.hewignore` is stronger than `.ignore`, which is stronger than `.gitignore`; within each kind, a file in a folder is
//! stronger than those above it. The `.gitignore` files above the top of a repository do not apply in it.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::open;
use crate::walk::IgnoredFiles;

/// Longer ignore files are cut off.
const MAX_BYTES: u64 = 1024 * 1024;
/// The names of ignore files, the strongest first.
const NAMES: [&str; 3] = [".hewignore", ".ignore", ".gitignore"];
/// The position of `.gitignore` in `NAMES`.
const GIT: usize = 2;

/// The ignore files of a folder and of the folders above it.
pub(super) struct IgnoreFiles {
    above: Option<Arc<IgnoreFiles>>,
    /// In the order of `NAMES`.
    own: [Option<Gitignore>; 3],
    /// `.git/info/exclude`, or at the top the user's global file.
    exclude: Option<Gitignore>,
    /// Whether the folder is the top of a repository.
    is_repository: bool,
}

impl IgnoreFiles {
    /// The rules that apply above a folder: those of its ancestors and the user's.
    pub(super) fn above(folder: &Path) -> Arc<Self> {
        let mut rules = Arc::new(IgnoreFiles {
            above: None,
            own: [None, None, None],
            exclude: Some(Gitignore::global().0),
            is_repository: false,
        });
        let mut ancestors: Vec<&Path> = folder.ancestors().skip(1).collect();
        ancestors.reverse();
        for ancestor in ancestors {
            let Ok(opened) = open::open(ancestor, open::TRAVERSE) else {
                continue;
            };
            let names = NAMES.into_iter().chain([".git"]).map(OsStr::new);
            rules = Self::of_folder(rules, ancestor, std::os::fd::AsFd::as_fd(&opened), names);
        }
        rules
    }

    /// The rules in a folder with these names.
    pub(super) fn of_folder<'n>(
        above: Arc<Self>,
        path: &Path,
        folder: BorrowedFd<'_>,
        names: impl Iterator<Item = &'n OsStr>,
    ) -> Arc<Self> {
        let mut rules = IgnoreFiles {
            above: None,
            own: [None, None, None],
            exclude: None,
            is_repository: false,
        };
        let mut has_rules = false;
        for name in names {
            if let Some(at) = NAMES.iter().position(|known| name == *known) {
                rules.own[at] = open::regular_file_in(folder, name)
                    .ok()
                    .and_then(|file| parse(path, file));
                has_rules |= rules.own[at].is_some();
            } else if name == ".git" {
                rules.is_repository = open::kind(&path.join(name)).is_some();
                let exclude = open::regular_file(&path.join(".git/info/exclude"));
                rules.exclude = exclude.ok().and_then(|file| parse(path, file));
                has_rules |= rules.is_repository;
            }
        }
        match has_rules {
            true => Arc::new(IgnoreFiles {
                above: Some(above),
                own: std::mem::take(&mut rules.own),
                exclude: rules.exclude.take(),
                is_repository: rules.is_repository,
            }),
            false => above,
        }
    }

    /// Whether an entry is ignored.
    pub(super) fn is_ignored(&self, path: &Path, is_folder: bool, ignored: IgnoredFiles) -> bool {
        let mut found = [None; 4];
        if ignored == IgnoredFiles::IncludeGit {
            found[GIT..].fill(Some(false));
        }
        let mut left_repository = false;
        let mut next = Some(self);
        while let Some(rules) = next {
            let excluded = rules.exclude.as_ref();
            // The user's global file applies everywhere.
            let is_global = rules.above.is_none();
            for (at, own) in rules.own.iter().map(Option::as_ref).chain([excluded]).enumerate() {
                if found[at].is_some() || (at >= GIT && left_repository && !is_global) {
                    continue;
                }
                found[at] = own.and_then(|own| match own.matched(path, is_folder) {
                    Match::Ignore(_) => Some(true),
                    Match::Whitelist(_) => Some(false),
                    Match::None => None,
                });
            }
            left_repository |= rules.is_repository;
            next = rules.above.as_deref();
        }
        found.into_iter().flatten().next().unwrap_or(false)
    }
}

/// Releases a long chain without recursion.
impl Drop for IgnoreFiles {
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut rules) = next.and_then(Arc::into_inner) {
            next = rules.above.take();
        }
    }
}

fn parse(folder: &Path, file: std::fs::File) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // Invalid lines are skipped, as in git, and so are those that cannot be parsed safely.
        if policy::is_bounded_pattern(line) {
            builder.add_line(None, line).ok();
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
