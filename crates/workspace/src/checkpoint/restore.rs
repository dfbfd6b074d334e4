//! Making paths again what they were: all of them, or none.

use super::depot::{name_of, name_of_bytes, open_file};
use super::rules::is_internal;
use crate::write::Held;
use rustix::fs::Access;
use session::{BlobId, Kind, Version};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// A path and what is to stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path, from the project's folder, or absolute.
    pub path: PathBuf,
    /// What stands there now.
    pub from: Option<Version>,
    /// What is to stand there.
    pub to: Option<Version>,
}

/// Where bytes that were kept can be had from.
pub trait Contents {
    /// Opens these bytes; `None` where they are not kept.
    fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>>;
}

/// What is left undone although all went well.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Folders that were to go and hold something that is none of our business, such as files that git ignores.
    pub left: Vec<PathBuf>,
}

/// Why paths were not made what they were.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Failed {
    /// Where it failed.
    pub path: PathBuf,
    /// What happened.
    #[source]
    pub source: io::Error,
    /// Paths that have been changed and could not be made again what they were before.
    pub left: Vec<PathBuf>,
}

/// What stands at a path now. What is behind a link, or not a file, link or folder, counts as nothing that hew made.
pub fn look(root: &Path, path: &Path) -> io::Result<Option<Version>> {
    let place = root.join(path);
    if !is_reached_plainly(root, path) {
        return Ok(None);
    }
    let about = match fs::symlink_metadata(&place) {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mode = Some(about.mode() & 0o7777);
    let (kind, content) = if about.is_symlink() {
        let target = fs::read_link(&place)?;
        (Kind::Link, Some(name_of_bytes(target.as_os_str().as_bytes())))
    } else if about.is_dir() {
        (Kind::Folder { mode }, None)
    } else if about.is_file() {
        let content = match open_file(&place).and_then(|mut file| name_of(&mut file)) {
            Ok(name) => Some(name),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        (Kind::File { mode }, content)
    } else {
        (Kind::File { mode }, None)
    };
    Ok(Some(Version {
        kind,
        content,
        kept: false,
    }))
}

/// Whether a path is never made what it was: one of version control's own files, or one that is not written out.
pub fn is_off_limits(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => is_internal(name),
        Component::ParentDir => true,
        Component::CurDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Makes every path what it is to be. When one fails, those already done are made again what they were.
pub fn restore(root: &Path, steps: &[Step], contents: &dyn Contents) -> Result<Outcome, Failed> {
    // Below it, no link is followed.
    let real = root.canonicalize();
    let root = real.as_deref().unwrap_or(root);
    let mut work = Work {
        root,
        contents,
        opened: BTreeMap::new(),
        left: Vec::new(),
    };
    // Nothing has been touched yet, so there is nothing to make again what it was.
    if let Err((path, source)) = work.check(steps) {
        let left = Vec::new();
        return Err(Failed { path, source, left });
    }
    let tried = work.carry_out(steps);
    work.close(steps);
    let Err((path, source)) = tried else {
        return Ok(Outcome { left: work.left });
    };
    let back: Vec<Step> = steps.iter().rev().map(Step::reversed).collect();
    let mut work = Work {
        left: Vec::new(),
        opened: BTreeMap::new(),
        ..work
    };
    // One by one: what cannot be made again what it was must not keep the others from it.
    let undone = work.carry_out(&back);
    work.close(&back);
    let is_back = |step: &&Step| {
        let now = look(root, &step.path).ok().flatten();
        match (&now, &step.from) {
            (Some(now), Some(from)) => now.is_like(from),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    };
    let left = match undone {
        Ok(()) => Vec::new(),
        Err(_) => steps
            .iter()
            .filter(|step| !is_back(step))
            .map(|step| step.path.clone())
            .collect(),
    };
    Err(Failed { path, source, left })
}

impl Step {
    fn reversed(&self) -> Step {
        Step {
            path: self.path.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }

    /// Whether what stands there must go before something else can stand there.
    fn makes_way(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => is_folder(from) != is_folder(to),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

type Tried<T> = Result<T, (PathBuf, io::Error)>;

struct Work<'a> {
    root: &'a Path,
    contents: &'a dyn Contents,
    /// Folders that had to be opened for writing, with the permissions that they had.
    opened: BTreeMap<PathBuf, u32>,
    left: Vec<PathBuf>,
}

impl Work<'_> {
    /// Refuses before anything is touched what could not be finished.
    fn check(&self, steps: &[Step]) -> Tried<()> {
        for step in steps {
            let fail = |error: io::Error| (step.path.clone(), error);
            if is_off_limits(&step.path) {
                let why = "hew does not touch this";
                return Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, why)));
            }
            let Some(to) = &step.to else { continue };
            let is_there = match &to.content {
                Some(id) => self.contents.open(id).map_err(fail)?.is_some(),
                None => is_folder(to),
            };
            let is_same = step
                .from
                .as_ref()
                .is_some_and(|from| from.content == to.content && from.content.is_some());
            if !is_there && !is_same {
                let why = "this version was not kept";
                return Err(fail(io::Error::new(io::ErrorKind::NotFound, why)));
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, steps: &[Step]) -> Tried<()> {
        let depth = |step: &&Step| step.path.components().count();
        let mut leaving: Vec<&Step> = steps.iter().filter(|step| step.makes_way()).collect();
        leaving.sort_by_key(|step| Reverse(depth(step)));
        for step in leaving {
            self.remove(step).map_err(|error| (step.path.clone(), error))?;
        }
        let mut coming: Vec<&Step> = steps.iter().filter(|step| step.to.is_some()).collect();
        coming.sort_by_key(depth);
        for step in &coming {
            self.make(step).map_err(|error| (step.path.clone(), error))?;
        }
        Ok(())
    }

    fn remove(&mut self, step: &Step) -> io::Result<()> {
        let place = self.root.join(&step.path);
        if !is_reached_plainly(self.root, &step.path) {
            return Ok(());
        }
        let Ok(about) = fs::symlink_metadata(&place) else {
            return Ok(());
        };
        self.open_parent(&place)?;
        if !about.is_dir() {
            return Held::of(&place)?.remove_file();
        }
        match Held::of(&place)?.remove_folder() {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && step.to.is_none() => {
                self.left.push(step.path.clone());
                Ok(())
            }
            removed => removed,
        }
    }

    fn make(&mut self, step: &Step) -> io::Result<()> {
        let Some(to) = &step.to else { return Ok(()) };
        let place = self.root.join(&step.path);
        if !is_reached_plainly(self.root, &step.path) {
            let why = "a folder above it is not there, or is a link";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        let now = fs::symlink_metadata(&place).ok();
        match to.kind {
            Kind::Folder { .. } => {
                if !now.is_some_and(|about| about.is_dir()) {
                    self.open_parent(&place)?;
                    Held::of(&place)?.create_folder()?;
                }
                // Its own permissions come last: they may keep us from putting anything into it.
                Ok(())
            }
            Kind::Link => {
                let target = self.bytes(to)?;
                self.open_parent(&place)?;
                Held::of(&place)?.replace_with_link(OsStr::from_bytes(&target))
            }
            Kind::File { mode } => {
                let is_content_same = match (&now, &step.from) {
                    (Some(about), Some(from)) => about.is_file() && from.content == to.content,
                    (None, _) | (_, None) => false,
                };
                if is_content_same {
                    return mode.map_or(Ok(()), |mode| Held::of(&place)?.change_mode(mode));
                }
                self.open_parent(&place)?;
                self.write(&place, to, mode, now.as_ref())
            }
        }
    }

    /// Puts a file in its place in one step, with the permissions and the owner that it had.
    fn write(&self, place: &Path, to: &Version, mode: Option<u32>, now: Option<&fs::Metadata>) -> io::Result<()> {
        let now = now.filter(|about| about.is_file());
        let usual = if mode.is_none() && now.is_none() { 0o666 } else { 0o600 };
        let held = Held::of(place)?;
        let mut beside = held.beside(usual)?;
        let mut bytes = self.open(to)?;
        io::copy(&mut bytes, &mut beside.file)?;
        if let Some(about) = now {
            let ours = beside.file.metadata()?;
            if (ours.uid(), ours.gid()) != (about.uid(), about.gid()) {
                // Not everyone may give files away; the bytes matter more.
                std::os::unix::fs::fchown(&beside.file, Some(about.uid()), Some(about.gid())).ok();
            }
        }
        if let Some(mode) = mode.or(now.map(|about| about.mode() & 0o7777)) {
            beside.file.set_permissions(Permissions::from_mode(mode))?;
        }
        beside.replace()
    }

    fn open(&self, version: &Version) -> io::Result<Box<dyn Read + '_>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "this version was not kept");
        let id = version.content.as_ref().ok_or_else(missing)?;
        self.contents.open(id)?.ok_or_else(missing)
    }

    fn bytes(&self, version: &Version) -> io::Result<Vec<u8>> {
        /// More than any path.
        const MOST: u64 = 64 * 1024;
        let mut bytes = Vec::new();
        self.open(version)?.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Lets us change what is in the folder of this path, if only its own permissions keep us from it.
    fn open_parent(&mut self, place: &Path) -> io::Result<()> {
        let Some(folder) = place.parent() else { return Ok(()) };
        if rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
            return Ok(());
        }
        let mode = fs::metadata(folder)?.permissions().mode() & 0o7777;
        fs::set_permissions(folder, Permissions::from_mode(mode | 0o700))?;
        self.opened.entry(folder.to_owned()).or_insert(mode);
        Ok(())
    }

    /// Gives folders the permissions that they are to have, the deepest first.
    fn close(&mut self, steps: &[Step]) {
        for step in steps {
            let place = self.root.join(&step.path);
            if let Some(Kind::Folder { mode: Some(mode) }) = step.to.as_ref().map(|to| to.kind) {
                self.opened.insert(place, mode);
            }
        }
        for (folder, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let is_folder = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir());
            if is_folder {
                // It is ours, or we could not have opened it; whoever took it away meanwhile may keep it.
                fs::set_permissions(&folder, Permissions::from_mode(mode)).ok();
            }
        }
    }
}

fn is_folder(version: &Version) -> bool {
    matches!(version.kind, Kind::Folder { .. })
}

/// Whether all folders above a path of the project are folders, and none is a link.
fn is_reached_plainly(root: &Path, path: &Path) -> bool {
    if path.is_absolute() {
        return true;
    }
    path.ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
        .all(|above| fs::symlink_metadata(root.join(above)).is_ok_and(|about| about.is_dir()))
}
