//! What git knows about the project, read from its files without starting a process.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Workspace;

/// The repository a project belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// What is checked out.
    pub head: Head,
    /// The folder that git keeps it in, canonical; for a linked worktree that of the main one. Nothing if the working tree
    /// only claims that a folder elsewhere is its own.
    pub folder: Option<PathBuf>,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch, perhaps without commits yet.
    Branch(String),
    /// A commit, by its id.
    Detached(String),
    /// Something that could not be read.
    Unknown,
}

impl Workspace {
    /// The repository around the project, if there is one.
    pub fn git(&self) -> Option<Git> {
        self.root().ancestors().find_map(|folder| {
            let directory = git_directory(folder)?;
            Some(Git {
                root: folder.to_owned(),
                head: head(&directory),
                folder: own_folder(folder, &directory),
            })
        })
    }
}

/// The name under which git would keep these bytes.
pub fn blob_name(bytes: &[u8]) -> String {
    match gix_object::compute_hash(gix_hash::Kind::Sha1, gix_object::Kind::Blob, bytes) {
        Ok(id) => id.to_string(),
        // Only bytes that are made to collide have no name; a name that fits nothing is refused by git.
        Err(_) => gix_hash::Kind::Sha1.null().to_string(),
    }
}

/// `.git` is a folder, or in a linked worktree or submodule a file that names one.
fn git_directory(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let metadata = fs::metadata(&path).ok()?;
    if metadata.is_dir() {
        return path.join("HEAD").exists().then_some(path);
    }
    let content = fs::read_to_string(&path).ok()?;
    Some(folder.join(content.strip_prefix("gitdir:")?.trim()))
}

/// A `.git` that is no plain folder comes with the files and can name any other, so that one has to know of it too.
fn own_folder(tree: &Path, directory: &Path) -> Option<PathBuf> {
    let (link, directory) = (tree.join(".git"), directory.canonicalize().ok()?);
    if fs::symlink_metadata(&link).ok()?.is_dir() {
        return Some(directory);
    }
    let main = directory
        .parent()
        .filter(|parent| parent.ends_with("worktrees"))?
        .parent()?;
    let back = fs::read_to_string(directory.join("gitdir")).ok()?;
    let is_known = Path::new(back.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
    (is_known && main.join("objects").is_dir()).then(|| main.to_owned())
}

fn head(directory: &Path) -> Head {
    let Ok(content) = fs::read_to_string(directory.join("HEAD")) else {
        return Head::Unknown;
    };
    let content = content.trim();
    if let Some(reference) = content.strip_prefix("ref:") {
        let reference = reference.trim();
        return Head::Branch(reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned());
    }
    match content.len() >= 40 && content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Head::Detached(content.to_owned()),
        false => Head::Unknown,
    }
}
