//! Restricted reading of settings files: a file of the project may be a symbolic link to anything.

use std::path::{Path, PathBuf};
use workspace::Workspace;

/// The origin of settings files, which determines where symbolic links may lead.
#[derive(Debug, Clone, Copy)]
pub enum FileOrigin<'a> {
    /// The user's files: links may lead anywhere.
    User,
    /// Files of the project: links may only lead into its repository, and not to hidden files.
    Project {
        /// The project.
        workspace: &'a Workspace,
        /// The canonical root of the repository.
        top: &'a Path,
    },
}

/// Why a file was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadRefusal {
    /// It does not exist or is not a regular file.
    Missing,
    /// It is hidden, or leads out of the repository.
    OutsideProject,
    /// It cannot be read.
    Unreadable(String),
}

impl FileOrigin<'_> {
    /// Reads at most `max` bytes of a file.
    pub fn read(self, path: &Path, max: u64) -> Result<Vec<u8>, ReadRefusal> {
        let real = path.canonicalize().map_err(|_| ReadRefusal::Missing)?;
        // Pipes and devices have no end.
        if !real.is_file() {
            return Err(ReadRefusal::Missing);
        }
        if !self.may_read(path, &real) {
            return Err(ReadRefusal::OutsideProject);
        }
        workspace::read_regular_file(&real, max).map_err(|error| ReadRefusal::Unreadable(error.to_string()))
    }

    /// The canonical path of a folder, if it may be read.
    pub fn folder(self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok().filter(|real| real.is_dir())?;
        self.may_read(path, &real).then_some(real)
    }

    fn may_read(self, path: &Path, real: &Path) -> bool {
        match self {
            FileOrigin::User => true,
            FileOrigin::Project { workspace, top } => {
                let below = real.strip_prefix(top).ok();
                // `.git` contains remote URLs, possibly with passwords.
                let is_plain = |below: &Path| !below.iter().any(|name| name == ".git");
                below.is_some_and(is_plain) && !workspace.is_hidden(path) && !workspace.is_hidden(real)
            }
        }
    }
}

/// The root of the project's repository, or of the project without one.
pub fn repository_root(workspace: &Workspace) -> PathBuf {
    let top = workspace.git().map(|git| git.root);
    top.unwrap_or_else(|| workspace.root().into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn symbolic_links_of_a_project_are_confined_but_not_those_of_the_user() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let root = base.join("repo/part");
        fs::create_dir_all(base.join("repo/.git")).unwrap();
        fs::create_dir_all(&root).unwrap();
        for (name, text) in [
            ("secret", "outside"),
            ("repo/.git/HEAD", "ref: refs/heads/main"),
            ("repo/top.md", "top"),
            ("repo/part/plain.md", "plain"),
            ("repo/part/.env", "hidden"),
        ] {
            fs::write(base.join(name), text).unwrap();
        }
        for (target, name) in [
            ("../../secret", "out.md"),
            ("../top.md", "up.md"),
            (".env", "env.md"),
            ("../.git/HEAD", "git.md"),
            ("/dev/zero", "zero.md"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        let workspace = Workspace::open(&root)
            .unwrap()
            .hiding_paths(|path| path.ends_with(".env"));
        let top = repository_root(&workspace);
        let project = FileOrigin::Project {
            workspace: &workspace,
            top: &top,
        };
        let read = |origin: FileOrigin<'_>, name: &str| {
            let bytes = origin.read(&root.join(name), 6);
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        for (name, expected) in [
            ("plain.md", Ok("plain".to_owned())),
            ("up.md", Ok("top".to_owned())),
            ("out.md", Err(ReadRefusal::OutsideProject)),
            ("env.md", Err(ReadRefusal::OutsideProject)),
            ("git.md", Err(ReadRefusal::OutsideProject)),
            ("zero.md", Err(ReadRefusal::Missing)),
            ("none.md", Err(ReadRefusal::Missing)),
        ] {
            assert_eq!(read(project, name), expected, "{name}");
        }
        assert_eq!(read(FileOrigin::User, "out.md"), Ok("outsid".into()));
        assert_eq!(read(FileOrigin::User, "zero.md"), Err(ReadRefusal::Missing));
    }
}
