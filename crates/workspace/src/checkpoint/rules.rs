//! What is left out of checkpoints: what git ignores, and folders of things that programs can make again.

use super::stamp::Stamp;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in which a folder says what git ignores.
pub(super) const FILE: &str = ".gitignore";
/// The file by which a folder says that everything in it can be made again.
pub(super) const CACHE: &str = "CACHEDIR.TAG";
/// Where version control keeps its own files. They are never looked at and never touched.
const INTERNAL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Folders of things that are fetched or made again, whether git is told to ignore them or not.
const MADE_AGAIN: [&str; 2] = ["node_modules", "__pycache__"];

/// The rules in force in a folder: its own over those of the folders above it.
#[derive(Debug, Clone)]
pub(super) struct Rules(Arc<Layer>);

#[derive(Debug)]
struct Layer {
    above: Option<Rules>,
    source: Option<(PathBuf, Stamp)>,
    own: Gitignore,
}

impl Rules {
    /// The rules in force in the top folder of a project: the person's own, then those of the repository around it.
    pub(super) fn outside(root: &Path, repository: Option<(&Path, &Path)>) -> Self {
        let (global, _) = Gitignore::global();
        let mut rules = Rules(Arc::new(Layer {
            above: None,
            source: None,
            own: global,
        }));
        if let Some((top, directory)) = repository {
            rules = rules.with(top, &directory.join("info/exclude"));
            let mut folders: Vec<&Path> = root.ancestors().skip(1).collect();
            folders.retain(|folder| folder.starts_with(top));
            for folder in folders.into_iter().rev() {
                rules = rules.with(folder, &folder.join(FILE));
            }
        }
        rules
    }

    /// Those of a folder that has a file with rules, or had; the same as before where the file is the same.
    pub(super) fn below(&self, folder: &Path, before: Option<&Rules>) -> Rules {
        let path = folder.join(FILE);
        let stamp = fs::symlink_metadata(&path).ok().map(|about| Stamp::of(&about));
        if let (Some(before), Some(stamp)) = (before, stamp) {
            let is_same = before.0.above.as_ref().is_some_and(|above| above.is(self));
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
        self.with(folder, &path)
    }

    /// Whether both are the very same rules.
    pub(super) fn is(&self, other: &Rules) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether something is to be left out.
    pub(super) fn leave_out(&self, path: &Path, name: &OsStr, is_folder: bool) -> bool {
        if is_folder && MADE_AGAIN.iter().any(|made| name == *made) {
            return true;
        }
        let mut rules = Some(self);
        while let Some(Rules(layer)) = rules {
            match layer.own.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = layer.above.as_ref(),
            }
        }
        false
    }

    fn with(&self, folder: &Path, file: &Path) -> Rules {
        let Ok(about) = fs::symlink_metadata(file) else {
            return self.clone();
        };
        let mut builder = GitignoreBuilder::new(folder);
        // A line that cannot be understood is passed over, as git does.
        let own = match about.is_file() {
            true => {
                drop(builder.add(file));
                builder.build().unwrap_or_else(|_| Gitignore::empty())
            }
            false => Gitignore::empty(),
        };
        Rules(Arc::new(Layer {
            above: Some(self.clone()),
            source: Some((file.to_owned(), Stamp::of(&about))),
            own,
        }))
    }
}

/// Whether this is a name under which version control keeps its own files.
pub(super) fn is_internal(name: &OsStr) -> bool {
    INTERNAL.iter().any(|internal| name == *internal)
}
