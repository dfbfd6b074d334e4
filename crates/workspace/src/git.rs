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
