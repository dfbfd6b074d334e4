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
            })
        })
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
