//! The committed version of a file, read from the repository without starting a process.

use crate::git::{GitHead, GitRepository, repository_of};
use crate::open;
use gix_hash::ObjectId;
use gix_object::{Find as _, Kind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A larger file with references is not read.
const MAX_REFERENCES: u64 = 16 * 1024 * 1024;

/// A commit, to look up its files.
pub struct HeadCommit {
    /// The folder of its objects. A handle of them cannot be sent to another thread.
    objects: PathBuf,
    repository: GitRepository,
    tree: ObjectId,
    /// When it was committed, in seconds since 1970.
    pub committed: u64,
}

impl HeadCommit {
    /// The checked-out commit of the repository that contains a folder; `None` if there is none or it is not supported.
    pub fn of(folder: &Path) -> Option<HeadCommit> {
        let repository = repository_of(folder)?;
        let directory = repository.folder.clone()?;
        let id = match &repository.head {
            GitHead::Branch(name) => branch_commit(&directory, name)?,
            GitHead::Detached(id) => ObjectId::from_hex(id.as_bytes()).ok()?,
            GitHead::Unknown => return None,
        };
        let objects = directory.join("objects");
        let commit = find(&open_objects(&objects)?, &id, Kind::Commit)?;
        let field = |name: &str| {
            let lines = commit.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
            let mut texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
            texts.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let tree = ObjectId::from_hex(field("tree ")?.as_bytes()).ok()?;
        // `Name <address> SECONDS ZONE`
        let committed = field("committer ")?.rsplit(' ').nth(1)?.parse().ok()?;
        Some(HeadCommit {
            objects,
            repository,
            tree,
            committed,
        })
    }

    /// The content of a file in the commit; `None` if it is not part of it.
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let relative = path.strip_prefix(&self.repository.root).ok()?;
        let objects = open_objects(&self.objects)?;
        let mut id = self.tree;
        for name in relative.iter() {
            let tree = find(&objects, &id, Kind::Tree)?;
            id = entry(&tree, name.as_bytes())?;
        }
        find(&objects, &id, Kind::Blob)
    }
}

fn open_objects(folder: &Path) -> Option<gix_odb::Handle> {
    gix_odb::at(folder, gix_hash::Kind::Sha1).ok()
}

fn find(objects: &gix_odb::Handle, id: &ObjectId, kind: Kind) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let found = objects.try_find(id, &mut bytes).ok()??;
    (found.kind == kind).then(|| found.data.to_vec())
}

/// The id of an entry in a tree object: `MODE NAME\0` and twenty bytes each.
fn entry(mut tree: &[u8], name: &[u8]) -> Option<ObjectId> {
    loop {
        let end = tree.iter().position(|byte| *byte == 0)?;
        let space = tree[..end].iter().position(|byte| *byte == b' ')?;
        let id = tree.get(end + 1..end + 21)?;
        if &tree[space + 1..end] == name {
            return ObjectId::try_from(id).ok();
        }
        tree = &tree[end + 21..];
    }
}

/// The commit of a branch, from its own file or from the file of packed references.
fn branch_commit(directory: &Path, branch: &str) -> Option<ObjectId> {
    let reference = format!("refs/heads/{branch}");
    if let Ok(text) = open::read(&directory.join(&reference), MAX_REFERENCES) {
        return ObjectId::from_hex(text.trim_ascii()).ok();
    }
    let packed = open::read(&directory.join("packed-refs"), MAX_REFERENCES).ok()?;
    let packed = String::from_utf8(packed).ok()?;
    let line = packed.lines().find(|line| line.ends_with(&format!(" {reference}")))?;
    ObjectId::from_hex(line.split(' ').next()?.as_bytes()).ok()
}
