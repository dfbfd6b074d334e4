//! Files that steer a session, read with care: what a project brings along may be a link to anything.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// Whose files these are, and so where their links may lead.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// The person's own: anywhere.
    Person,
    /// The project's: nowhere but into the repository around it, and not to what is hidden.
    Project {
        /// The project.
        workspace: &'a Workspace,
        /// The top folder of the repository, canonical.
        top: &'a Path,
    },
}

/// Why a file is not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not there, or no file.
    Missing,
    /// It leads to where it must not.
    Elsewhere,
    /// It is there, but the system does not let it be read.
    Unreadable(String),
}

impl Source<'_> {
    /// The first bytes of a file.
    pub(super) fn read(self, path: &Path, most: u64) -> Result<Vec<u8>, Refusal> {
        let real = path.canonicalize().map_err(|_| Refusal::Missing)?;
        // Pipes and devices have no end.
        if !real.is_file() {
            return Err(Refusal::Missing);
        }
        if !self.may_read(path, &real) {
            return Err(Refusal::Elsewhere);
        }
        let mut bytes = Vec::new();
        let read = File::open(&real).and_then(|file| file.take(most).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Refusal::Unreadable(error.to_string())),
        }
    }

    /// Where a folder really is, unless nothing in it may be read.
    pub(super) fn folder(self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok().filter(|real| real.is_dir())?;
        self.may_read(path, &real).then_some(real)
    }

    fn may_read(self, path: &Path, real: &Path) -> bool {
        match self {
            Source::Person => true,
            Source::Project { workspace, top } => {
                let below = real.strip_prefix(top).ok();
                // Git keeps addresses there, perhaps with passwords.
                let is_plain = |below: &Path| !below.iter().any(|name| name == ".git");
                below.is_some_and(is_plain) && !workspace.hides(path) && !workspace.hides(real)
            }
        }
    }
}

/// The top folder of the repository around a project; without one, the project.
pub(super) fn top(workspace: &Workspace) -> PathBuf {
    let top = workspace.git().map(|git| git.root);
    top.unwrap_or_else(|| workspace.root().into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_of_a_project_lead_nowhere_else_but_those_of_the_person_do() {
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
        let workspace = Workspace::open(&root).unwrap().hiding(|path| path.ends_with(".env"));
        let top = top(&workspace);
        let project = Source::Project {
            workspace: &workspace,
            top: &top,
        };
        let read = |source: Source<'_>, name: &str| {
            let bytes = source.read(&root.join(name), 6);
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        for (name, expected) in [
            ("plain.md", Ok("plain".to_owned())),
            ("up.md", Ok("top".to_owned())),
            ("out.md", Err(Refusal::Elsewhere)),
            ("env.md", Err(Refusal::Elsewhere)),
            ("git.md", Err(Refusal::Elsewhere)),
            ("zero.md", Err(Refusal::Missing)),
            ("none.md", Err(Refusal::Missing)),
        ] {
            assert_eq!(read(project, name), expected, "{name}");
        }
        assert_eq!(read(Source::Person, "out.md"), Ok("outsid".into()));
        assert_eq!(read(Source::Person, "zero.md"), Err(Refusal::Missing));
    }
}
