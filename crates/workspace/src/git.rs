//! The project's git repository, read from its files without starting a process.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Workspace, open};

/// The repository that contains the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRepository {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// What is checked out.
    pub head: GitHead,
    /// The canonical git directory; for a linked worktree that of the main one. `None` if the working tree only claims
    /// that a folder elsewhere is its git directory.
    pub folder: Option<PathBuf>,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    /// A branch, possibly without commits.
    Branch(String),
    /// A commit, by its id.
    Detached(String),
    /// It could not be read.
    Unknown,
}

impl Workspace {
    /// The repository that contains the project, if any.
    pub fn git(&self) -> Option<GitRepository> {
        repository_of(self.root())
    }

    /// The repositories that contain the folders of the project, each with the first of these folders.
    pub fn repositories(&self) -> Vec<(&Path, GitRepository)> {
        let mut found: Vec<(&Path, GitRepository)> = Vec::new();
        let roots = [self.root()]
            .into_iter()
            .chain(self.more().iter().map(PathBuf::as_path));
        for (root, repository) in roots.filter_map(|root| Some((root, repository_of(root)?))) {
            if !found.iter().any(|(_, known)| known.root == repository.root) {
                found.push((root, repository));
            }
        }
        found
    }
}

impl GitRepository {
    /// The host and the path of the remote `origin`, such as `github.com/owner/name`.
    pub fn origin(&self) -> Option<String> {
        let config = read_text(&self.folder.as_ref()?.join("config"))?;
        let mut is_origin = false;
        let url = config.lines().map(str::trim).find_map(|line| {
            if line.starts_with('[') {
                is_origin = line.replace(' ', "") == "[remote\"origin\"]";
            }
            let (key, value) = line.split_once('=').filter(|_| is_origin)?;
            (key.trim() == "url").then(|| value.trim().trim_matches('"').to_owned())
        });
        remote_name(&url?)
    }
}

/// The host and the path of a remote on another machine, without credentials.
fn remote_name(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?.split(':').next()?;
    let path = path.trim_matches('/');
    let name = format!("{host}/{}", path.strip_suffix(".git").unwrap_or(path));
    let is_plain = name
        .chars()
        .all(|letter| letter.is_alphanumeric() || "-._/~".contains(letter));
    (is_plain && name.len() <= MAX_REMOTE && !host.is_empty() && !path.is_empty()).then_some(name)
}

/// The repository that contains this path.
pub fn repository_of(path: &Path) -> Option<GitRepository> {
    path.ancestors().find_map(|folder| {
        let directory = git_directory(folder)?;
        Some(GitRepository {
            root: folder.to_owned(),
            head: head(&directory),
            folder: own_folder(folder, &directory),
        })
    })
}

/// The git object id of these bytes.
pub fn blob_name(bytes: &[u8]) -> String {
    match gix_object::compute_hash(gix_hash::Kind::Sha1, gix_object::Kind::Blob, bytes) {
        Ok(id) => id.to_string(),
        // Only bytes crafted to collide have no id; git rejects the null id.
        Err(_) => gix_hash::Kind::Sha1.null().to_string(),
    }
}

/// A larger file is not one that git writes.
const MAX_BYTES: u64 = 64 * 1024;
/// Maximum bytes of a remote's name.
const MAX_REMOTE: usize = 200;

/// The text of a regular file. A link is not followed, because it could show part of a hidden file.
fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(open::read(path, MAX_BYTES).ok()?).ok()
}

/// `.git` is a folder, or in a linked worktree or submodule a file with the path of one.
fn git_directory(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let metadata = fs::metadata(&path).ok()?;
    if metadata.is_dir() {
        return path.join("HEAD").exists().then_some(path);
    }
    let content = read_text(&path)?;
    Some(folder.join(content.strip_prefix("gitdir:")?.trim()))
}

/// A `.git` file is part of the working tree and can name any folder, so that folder must refer back to it.
fn own_folder(tree: &Path, directory: &Path) -> Option<PathBuf> {
    let (link, directory) = (tree.join(".git"), directory.canonicalize().ok()?);
    if fs::symlink_metadata(&link).ok()?.is_dir() {
        return Some(directory);
    }
    if is_module_of(&directory, tree) {
        return Some(directory);
    }
    let main = directory
        .parent()
        .filter(|parent| parent.ends_with("worktrees"))?
        .parent()?;
    let back = read_text(&directory.join("gitdir"))?;
    let is_known = Path::new(back.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
    (is_known && main.join("objects").is_dir()).then(|| main.to_owned())
}

/// Whether a directory is the repository of the submodule with this working tree, in a git directory above it.
fn is_module_of(directory: &Path, tree: &Path) -> bool {
    let is_module = directory
        .ancestors()
        .skip(1)
        .any(|above| above.ends_with("modules") && above.parent().is_some_and(|git| git.join("HEAD").is_file()));
    if !is_module || !directory.join("objects").is_dir() {
        return false;
    }
    let text = read_text(&directory.join("config")).unwrap_or_default();
    let mut values = text.lines().filter_map(|line| {
        let value = line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches('"'))
    });
    let named = values
        .next()
        .and_then(|value| directory.join(value).canonicalize().ok());
    named.is_some() && named == tree.canonicalize().ok() && values.next().is_none()
}

fn head(directory: &Path) -> GitHead {
    let Some(content) = directory
        .canonicalize()
        .ok()
        .and_then(|real| read_text(&real.join("HEAD")))
    else {
        return GitHead::Unknown;
    };
    let content = content.trim();
    if let Some(reference) = content.strip_prefix("ref:") {
        let reference = reference.trim();
        return GitHead::Branch(reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned());
    }
    match content.len() >= 40 && content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => GitHead::Detached(content.to_owned()),
        false => GitHead::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_named_without_credentials() {
        for (url, expected) in [
            ("https://github.com/owner/name.git", Some("github.com/owner/name")),
            (
                "https://user:token@github.com/owner/name/",
                Some("github.com/owner/name"),
            ),
            ("git@github.com:owner/name.git", Some("github.com/owner/name")),
            (
                "ssh://git@host.example:2222/group/sub/name",
                Some("host.example/group/sub/name"),
            ),
            ("/srv/git/name.git", None),
            ("../name", None),
            ("file:///srv/name.git", None),
            ("https://github.com/owner/na me", None),
        ] {
            assert_eq!(remote_name(url).as_deref(), expected, "{url}");
        }
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = "[core]\n\turl = x:y\n[remote \"other\"]\n\turl = a.example:b\n[remote \"origin\"]\n\turl = git@c.example:d.git\n";
        fs::write(git.join("config"), config).unwrap();
        let repository = repository_of(temp.path()).unwrap();
        assert_eq!(repository.origin().as_deref(), Some("c.example/d"));
    }
}
