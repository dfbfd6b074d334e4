//! Checkpoints: what a command changes can be taken back.
//!
//! Before a command, [`Checkpoints::before`] takes a picture of the project, by metadata alone where it can, and makes sure
//! that the bytes of every file in it can be had back: from git where a tracked file is unchanged, else from a copy in the
//! [`Depot`]. Afterwards [`Before::after`] takes another and tells the difference. The second command costs little more than
//! looking at each file's metadata twice. [`restore`] makes paths again what they were.
//!
//! What is copied around one command is bounded by a [`Budget`]: of a very large folder outside git the files that were written
//! last are copied, more before each further command, and the person is told that undo does not cover the rest yet.
//!
//! Left out are what git ignores (unless it is tracked), `node_modules`, `__pycache__`, folders marked as caches by a
//! `CACHEDIR.TAG`, what is hidden in the project, and always the folders of version control themselves.

mod budget;
mod compare;
mod depot;
mod picture;
mod repository;
mod restore;
mod rules;
mod stamp;

pub use budget::Budget;
pub use depot::{Depot, Held, Limits, NotKept, Put};
pub use restore::{Contents, Failed, Outcome, Step, is_off_limits, look, restore};

use crate::Workspace;
use crate::hiding::Hiding;
use budget::{Candidate, Spending};
use compare::{Difference, compare};
use depot::open_file;
use picture::{Camera, Folder, Known, Leaf, Node, Source, TooMuch, View};
use repository::{Objects, Repository};
use rules::Rules;
use session::{BlobId, Change, Kind, Version};
use stamp::{Nanos, Stamp, now};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A project with more names than this is not looked at before each command.
const MOST_NAMES: usize = 300_000;
/// More changes than this by one command are not kept.
const MOST_CHANGES: usize = 20_000;
/// Files that are named when they are not covered.
const NAMED: usize = 3;

/// Pictures of a project before and after commands. Clones share what they know; all functions block.
#[derive(Clone)]
pub struct Checkpoints {
    root: Arc<Path>,
    depot: Depot,
    hiding: Hiding,
    budget: Budget,
    /// What is known; nothing before the first command.
    state: Arc<Mutex<Option<State>>>,
}

/// A command that is about to run, or runs.
pub struct Before {
    state: Arc<Mutex<Option<State>>>,
    picture: Option<Folder>,
}

/// What a command has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What it has changed, folders before what is in them.
    pub changes: Vec<Change>,
    /// What the person should know about what cannot be taken back; told once.
    pub note: Option<String>,
}

struct State {
    root: PathBuf,
    depot: Depot,
    apart: Vec<PathBuf>,
    hiding: Hiding,
    budget: Budget,
    /// Files and bytes that were copied before commands.
    copied: (usize, u64),
    repository: Option<Repository>,
    rules: Rules,
    /// The newest picture.
    newest: Option<Folder>,
    /// Why no pictures are taken any more.
    off: Option<&'static str>,
    /// What the person has been told already.
    told: BTreeSet<String>,
    /// What the person is still to be told.
    untold: Vec<String>,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// Checkpoints of the project in this folder, which is canonical. Nothing is looked at yet.
    pub fn new(root: &Path, depot: Depot) -> Self {
        Checkpoints {
            root: root.into(),
            depot,
            hiding: Hiding::default(),
            budget: Budget::default(),
            state: Arc::default(),
        }
    }

    /// The same, of which nothing is kept that is hidden in the project.
    pub fn hiding_as(mut self, project: &Workspace) -> Self {
        self.hiding = project.hiding.clone();
        self
    }

    /// The same, with another budget.
    pub fn within(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Takes a picture before a command, and copies what could get lost.
    pub fn before(&self) -> Before {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || State::new(&self.root, self.depot.clone(), self.hiding.clone(), self.budget);
        let state = state.get_or_insert_with(make);
        let picture = state.before();
        Before {
            state: Arc::clone(&self.state),
            picture,
        }
    }
}

impl Before {
    /// Takes another picture and tells what differs.
    pub fn after(self) -> Found {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_mut() else {
            return Found::default();
        };
        let changes = match self.picture {
            Some(picture) => state.after(&picture),
            None => Vec::new(),
        };
        let note = match state.untold.is_empty() {
            true => None,
            false => Some(std::mem::take(&mut state.untold).join("; ")),
        };
        Found { changes, note }
    }
}

impl State {
    fn new(root: &Path, depot: Depot, hiding: Hiding, budget: Budget) -> Self {
        let mut apart = vec![depot.folder().to_owned()];
        // hew's own database changes with every command.
        let data = depot.folder().parent().filter(|folder| *folder != root);
        apart.extend(data.map(Path::to_owned));
        let repository = Repository::around(root);
        let git = repository.as_ref().map(|git| (git.top(), git.directory()));
        State {
            rules: Rules::outside(root, git),
            root: root.to_owned(),
            depot,
            apart,
            hiding,
            budget,
            copied: (0, 0),
            repository,
            newest: None,
            off: None,
            told: BTreeSet::new(),
            untold: Vec::new(),
        }
    }

    fn before(&mut self) -> Option<Folder> {
        if self.off.is_some() {
            return None;
        }
        if let Some(repository) = &mut self.repository {
            repository.refresh();
        }
        let old = self.newest.take();
        let mut picture = self.picture(View::Fresh, old.as_ref())?;
        self.cover(&mut picture);
        self.newest = Some(picture.clone());
        Some(picture)
    }

    fn picture(&mut self, view: View, old: Option<&Folder>) -> Option<Folder> {
        let mut camera = Camera {
            view,
            repository: self.repository.as_ref(),
            apart: &self.apart,
            hiding: &self.hiding,
            left: MOST_NAMES,
        };
        match camera.take(&self.root, &self.rules, old) {
            Ok(Ok(folder)) => Some(folder),
            Ok(Err(TooMuch)) => {
                self.off = Some("the project has too many files");
                self.tell("the project has too many files for undo to cover commands".into());
                None
            }
            Err(_) => None,
        }
    }

    /// Makes sure that the bytes of every file can be had back.
    fn cover(&mut self, picture: &mut Folder) {
        let (repository, depot) = (self.repository.as_ref(), &self.depot);
        let mut objects = None;
        let root = self.root.clone();
        let mut candidates = Vec::new();
        let mut files = 0;
        picture.each_file(&root, &mut |path, leaf| {
            let place = files;
            files += 1;
            if !leaf.is_uncovered() {
                return;
            }
            let at = now();
            if let Some(repository) = repository
                && repository.tracks(path)
            {
                let objects = objects.get_or_insert_with(|| repository.objects());
                if let Some(id) = repository.clean(path, &leaf.stamp, objects) {
                    let source = Source::Git(id);
                    leaf.known = Some(Known { source, at });
                    return;
                }
            }
            candidates.push(Candidate {
                place,
                size: leaf.stamp.size,
                modified: leaf.stamp.modified,
            });
        });
        let wanted = candidates.len();
        let budget = self.budget.left(self.copied);
        let chosen = budget.choose(candidates);
        let mut spending = Spending::new(budget);
        let mut lost = Vec::new();
        let (mut place, mut done) = (0, 0);
        picture.each_file(&root, &mut |path, leaf| {
            let is_chosen = chosen.contains(&place);
            place += 1;
            let at = now();
            if is_chosen && spending.allows() {
                let (source, why) = match depot.would_keep(leaf.stamp.size) {
                    Ok(()) => keep(path, leaf, depot),
                    Err(why) => (Source::Unread, Some(why)),
                };
                // What is not copied costs nothing.
                if why.is_none() {
                    spending.spend(leaf.stamp.size);
                }
                done += 1;
                lost.extend(why.map(|why| (path.to_owned(), why)));
                leaf.known = Some(Known { source, at });
            } else if leaf.known.is_none() {
                let source = Source::Owed(None);
                leaf.known = Some(Known { source, at });
            }
        });
        self.copied = spending.added_to(self.copied);
        self.tell_lost(lost);
        self.tell_owed(wanted - done, files);
    }

    /// Tells once that there are files which a command may change beyond recall.
    fn tell_owed(&mut self, owed: usize, files: usize) {
        if owed > 0 && self.told.insert("owed".into()) {
            self.untold.push(format!(
                "undo does not cover {owed} of {files} files yet: the folder is large, the newest are copied, more before each \
                 command"
            ));
        }
    }

    fn after(&mut self, before: &Folder) -> Vec<Change> {
        let Some(mut after) = self.picture(View::Comparable, Some(before)) else {
            return Vec::new();
        };
        let mut lost = Vec::new();
        // First the new versions, so that files which were only touched are known again.
        let root = self.root.clone();
        let depot = self.depot.clone();
        let mut spending = Spending::new(self.budget);
        after.each_file(&root, &mut |path, leaf| {
            if leaf.known.is_none() {
                let at = now();
                let (source, why) = match spending.allows() {
                    true => keep(path, leaf, &depot),
                    false => (Source::Owed(name(path)), None),
                };
                spending.spend(leaf.stamp.size);
                lost.extend(why.map(|why| (path.to_owned(), why)));
                leaf.known = Some(Known { source, at });
            }
        });
        let mut changes = Vec::new();
        let mut history = History {
            depot: &self.depot,
            repository: self.repository.as_ref(),
            objects: None,
            lost: &mut lost,
        };
        for difference in compare(before, &after) {
            if changes.len() >= MOST_CHANGES {
                break;
            }
            changes.extend(history.change(difference, &self.root));
        }
        self.newest = Some(after);
        self.tell_lost(lost);
        if changes.len() >= MOST_CHANGES {
            self.tell(format!(
                "undo covers the first {MOST_CHANGES} changes of a command only"
            ));
        }
        changes
    }

    fn tell_lost(&mut self, lost: Vec<(PathBuf, NotKept)>) {
        let mut large = Vec::new();
        for (path, why) in lost {
            match why {
                NotKept::TooLarge => large.push(path),
                NotKept::Full => self.tell(
                    "the room for checkpoints is used up, so undo cannot bring everything back; `checkpoints.quota` sets it"
                        .into(),
                ),
            }
        }
        large.retain(|path| !self.told.contains(&*path.to_string_lossy()));
        if large.is_empty() {
            return;
        }
        self.told
            .extend(large.iter().map(|path| path.to_string_lossy().into_owned()));
        let shown = large.iter().take(NAMED).map(|path| {
            let path = path.strip_prefix(&self.root).unwrap_or(path);
            path.display().to_string()
        });
        let mut text = format!(
            "too large for undo to bring back: {}",
            shown.collect::<Vec<_>>().join(", ")
        );
        if large.len() > NAMED {
            text.push_str(&format!(" and {} more", large.len() - NAMED));
        }
        self.untold.push(text);
    }

    fn tell(&mut self, text: String) {
        if self.told.insert(text.clone()) {
            self.untold.push(text);
        }
    }
}

/// Keeps what a file holds now.
fn keep(path: &Path, leaf: &Leaf, depot: &Depot) -> (Source, Option<NotKept>) {
    for _ in 0..2 {
        match put(path, leaf.stamp.size, depot) {
            Ok(Some(put)) => {
                return match put.kept {
                    Ok(()) => (Source::Depot(put.id), None),
                    Err(why) => (Source::Named(put.id), Some(why)),
                };
            }
            // It was written to meanwhile.
            Ok(None) => {}
            Err(_) => return (Source::Unread, None),
        }
    }
    (Source::Unread, None)
}

/// The name of what a file holds now, where it can be read.
fn name(path: &Path) -> Option<BlobId> {
    depot::name_of(&mut open_file(path).ok()?).ok()
}

fn put(path: &Path, size: u64, depot: &Depot) -> io::Result<Option<Put>> {
    let mut file = open_file(path)?;
    let before = Stamp::of(&file.metadata()?);
    let put = depot.put_file(&mut file, size.max(before.size))?;
    let after = Stamp::of(&file.metadata()?);
    Ok((before == after).then_some(put))
}

/// Turns differences into changes whose bytes can be had back.
struct History<'a> {
    depot: &'a Depot,
    repository: Option<&'a Repository>,
    objects: Option<Objects>,
    lost: &'a mut Vec<(PathBuf, NotKept)>,
}

impl History<'_> {
    fn change(&mut self, difference: Difference<'_>, root: &Path) -> Option<Change> {
        let Difference { path, before, after } = difference;
        let (old, new) = match (before, after) {
            // Only its permissions have changed, and one of both versions was not read: they hold the same.
            (Some(Node::File(old)), Some(Node::File(new)))
                if old.stamp.is_same_content(&new.stamp) && (old.is_unread() || new.is_unread()) =>
            {
                let read = if old.is_unread() { new } else { old };
                let version = self.file(read, &root.join(&path));
                let with = |leaf: &Leaf| Version {
                    kind: Kind::File {
                        mode: Some(leaf.stamp.mode),
                    },
                    ..version.clone()
                };
                (Some(with(old)), Some(with(new)))
            }
            (before, after) => (self.version(before, root, &path), self.version(after, root, &path)),
        };
        (old != new).then_some(Change {
            path,
            before: old,
            after: new,
        })
    }

    fn version(&mut self, node: Option<&Node>, root: &Path, path: &Path) -> Option<Version> {
        match node? {
            Node::File(leaf) => Some(self.file(leaf, &root.join(path))),
            Node::Link(target) => {
                let bytes = target.as_os_str().as_bytes();
                let put = self.depot.put(bytes);
                let kept = put.as_ref().is_ok_and(|put| put.kept.is_ok());
                Some(Version {
                    kind: Kind::Link,
                    content: Some(depot::name_of_bytes(bytes)),
                    kept,
                })
            }
            Node::Folder(folder) => Some(Version::folder(folder.stamp.mode)),
            Node::LeftOut | Node::Other => None,
        }
    }

    fn file(&mut self, leaf: &Leaf, path: &Path) -> Version {
        let kind = Kind::File {
            mode: Some(leaf.stamp.mode),
        };
        let named = |content, kept| Version {
            kind,
            content: Some(content),
            kept,
        };
        let nothing = Version {
            kind,
            content: None,
            kept: false,
        };
        match leaf.known.as_ref().map(|known| &known.source) {
            // Another hew may have made room meanwhile.
            Some(Source::Depot(id)) => named(id.clone(), self.depot.has(id)),
            Some(Source::Named(id) | Source::Owed(Some(id))) => named(id.clone(), false),
            Some(Source::Unread | Source::Owed(None)) | None => nothing,
            Some(Source::Git(id)) => {
                let repository = self.repository;
                let objects = self
                    .objects
                    .get_or_insert_with(|| repository.map_or(Objects::none(), Repository::objects));
                let bytes = objects.read(id).filter(|bytes| bytes.len() as u64 == leaf.stamp.size);
                match bytes.map(|bytes| self.depot.put(&bytes)) {
                    Some(Ok(put)) => {
                        self.lost.extend(put.kept.err().map(|why| (path.to_owned(), why)));
                        named(put.id, put.kept.is_ok())
                    }
                    Some(Err(_)) | None => nothing,
                }
            }
        }
    }
}

impl Leaf {
    fn is_unread(&self) -> bool {
        let source = self.known.as_ref().map(|known| &known.source);
        matches!(source, Some(Source::Unread | Source::Owed(None)) | None)
    }

    /// Whether its bytes are still to be looked for.
    fn is_uncovered(&self) -> bool {
        let source = self.known.as_ref().map(|known| &known.source);
        matches!(source, Some(Source::Owed(_)) | None)
    }
}

/// The files that git tracks around a folder, with the sizes and times that they had when they were staged; nothing without a
/// repository, or where there are more than this.
pub(crate) fn tracked_files(root: &Path, most: usize) -> Option<Vec<(PathBuf, (u64, Nanos))>> {
    Repository::around(root)?.files(most)
}

/// When a file was last written.
pub(crate) fn modified(about: &Metadata) -> Nanos {
    Stamp::of(about).modified
}
