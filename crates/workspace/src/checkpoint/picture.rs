//! A picture of the project: every name in it with its stamp, quick to take again when little has changed.

use super::repository::Repository;
use super::rules::{self, Rules, is_internal};
use super::stamp::{Nanos, Stamp, now};
use crate::hiding::Hiding;
use gix_hash::ObjectId;
use session::BlobId;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A folder and all that is in it.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) stamp: Stamp,
    pub(super) entries: BTreeMap<OsString, Node>,
    rules: Rules,
    /// When the names were read.
    read: Nanos,
}

/// What a name in a folder stands for.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(Leaf),
    Link(PathBuf),
    Folder(Folder),
    /// It is left out by rules.
    LeftOut,
    /// A device, a pipe, or nothing that can be looked at.
    Other,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) stamp: Stamp,
    /// What it holds, where that is known.
    pub(super) known: Option<Known>,
}

/// What a file held at some moment.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) source: Source,
    /// When it was looked at.
    pub(super) at: Nanos,
}

/// Where the bytes of a file can be had from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// From the depot.
    Depot(BlobId),
    /// From git.
    Git(ObjectId),
    /// From nowhere; this is their name.
    Named(BlobId),
    /// From nowhere yet: it is to be copied before a later command. Their name, where it is known.
    Owed(Option<BlobId>),
    /// The file cannot be read, or is not worth it.
    Unread,
}

/// How a new picture goes about names that an older one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Rules decide as they are now: for a picture that others will be compared with.
    Fresh,
    /// What was looked at is looked at again, and what was left out stays left out, whatever the rules say now: for a picture
    /// that is compared with the older one.
    Comparable,
}

/// There is more in the project than anyone wants to look at before each command.
#[derive(Debug)]
pub(super) struct TooMuch;

/// Takes pictures.
pub(super) struct Camera<'a> {
    pub(super) view: View,
    pub(super) repository: Option<&'a Repository>,
    /// Folders that are no part of the project although they are in it, such as hew's own.
    pub(super) apart: &'a [PathBuf],
    /// What nobody is to see, and so no copy is to hold.
    pub(super) hiding: &'a Hiding,
    /// How many more names may be looked at.
    pub(super) left: usize,
}

/// Whether a folder is inside one that is left out, and only looked at because git tracks something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Project,
    LeftOut,
}

impl Camera<'_> {
    /// The folder at this path; an error where it cannot be looked at.
    pub(super) fn take(
        &mut self,
        root: &Path,
        rules: &Rules,
        old: Option<&Folder>,
    ) -> io::Result<Result<Folder, TooMuch>> {
        let about = fs::symlink_metadata(root)?;
        Ok(self.folder(root, &about, rules, old, Inside::Project))
    }

    fn folder(
        &mut self,
        path: &Path,
        about: &Metadata,
        above: &Rules,
        old: Option<&Folder>,
        inside: Inside,
    ) -> Result<Folder, TooMuch> {
        let stamp = Stamp::of(about);
        let (names, read) = self.names(path, &stamp, old);
        let has_rules = names.iter().any(|name| name == rules::FILE);
        let rules = match has_rules {
            true => above.below(path, old.map(|old| &old.rules)),
            false => above.clone(),
        };
        let trusted = old.filter(|old| self.view == View::Comparable || old.rules.is(&rules));
        let mut entries = BTreeMap::new();
        for name in names {
            self.left = self.left.checked_sub(1).ok_or(TooMuch)?;
            let place = path.join(&name);
            let before = old.and_then(|old| old.entries.get(&name));
            let node = match before {
                Some(Node::LeftOut) if trusted.is_some() => Node::LeftOut,
                before => self.node(&place, &name, &rules, before, trusted.is_some(), inside)?,
            };
            entries.insert(name, node);
        }
        entries.retain(|_, node| !matches!(node, Node::Other));
        // What was decided by older rules is decided anew in the next fresh picture.
        let rules = trusted.map_or(rules, |old| old.rules.clone());
        Ok(Folder {
            stamp,
            entries,
            rules,
            read,
        })
    }

    /// The names in a folder. They are not read again while the folder's own stamp says that none has come or gone.
    fn names(&self, path: &Path, stamp: &Stamp, old: Option<&Folder>) -> (Vec<OsString>, Nanos) {
        let known = |old: &Folder| old.entries.keys().cloned().collect();
        if let Some(old) = old
            && old.stamp == *stamp
            && stamp.is_settled(old.read)
        {
            return (known(old), old.read);
        }
        let read = now();
        let names = fs::read_dir(path).and_then(|entries| {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<io::Result<Vec<OsString>>>()
        });
        match names {
            Ok(mut names) => {
                names.retain(|name| !is_internal(name));
                (names, read)
            }
            // What cannot be looked at any more is taken to be as it was.
            Err(_) => (old.map(known).unwrap_or_default(), read),
        }
    }

    fn node(
        &mut self,
        path: &Path,
        name: &OsStr,
        rules: &Rules,
        before: Option<&Node>,
        is_trusted: bool,
        inside: Inside,
    ) -> Result<Node, TooMuch> {
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            // Behind a folder that has been closed, things are taken to be as they were.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(before.cloned().unwrap_or(Node::Other));
            }
            Err(_) => return Ok(Node::Other),
        };
        let is_known = is_trusted && matches!(before, Some(Node::File(_) | Node::Link(_) | Node::Folder(_)));
        let is_out = !is_known && (inside == Inside::LeftOut || rules.leave_out(path, name, about.is_dir()));
        if self.apart.iter().any(|apart| apart == path) || (!is_known && self.hiding.hides(path)) {
            return Ok(Node::LeftOut);
        }
        if about.is_dir() {
            return self.below(path, &about, rules, before, is_out, inside);
        }
        if is_out && !self.repository.is_some_and(|repository| repository.tracks(path)) {
            return Ok(Node::LeftOut);
        }
        if about.is_symlink() {
            let target = fs::read_link(path);
            return Ok(target.map_or(Node::Other, Node::Link));
        }
        if !about.is_file() {
            return Ok(Node::Other);
        }
        let stamp = Stamp::of(&about);
        let known = match before {
            Some(Node::File(leaf)) if leaf.stamp == stamp => leaf.known.clone(),
            Some(_) | None => None,
        };
        let known = known.filter(|known| stamp.is_settled(known.at));
        Ok(Node::File(Leaf { stamp, known }))
    }

    fn below(
        &mut self,
        path: &Path,
        about: &Metadata,
        rules: &Rules,
        before: Option<&Node>,
        is_out: bool,
        inside: Inside,
    ) -> Result<Node, TooMuch> {
        let old = match before {
            Some(Node::Folder(folder)) => Some(folder),
            Some(Node::File(_) | Node::Link(_) | Node::LeftOut | Node::Other) | None => None,
        };
        let is_made_again = || old.is_none() && path.join(rules::CACHE).is_file();
        let inside = match is_out || is_made_again() {
            true => Inside::LeftOut,
            false => inside,
        };
        if inside == Inside::LeftOut && !self.repository.is_some_and(|repository| repository.tracks_below(path)) {
            return Ok(Node::LeftOut);
        }
        self.folder(path, about, rules, old, inside).map(Node::Folder)
    }
}

impl Folder {
    /// Shows every file to `visit`, with its path.
    pub(super) fn each_file(&mut self, path: &Path, visit: &mut impl FnMut(&Path, &mut Leaf)) {
        for (name, node) in &mut self.entries {
            match node {
                Node::File(leaf) => visit(&path.join(name), leaf),
                Node::Folder(folder) => folder.each_file(&path.join(name), visit),
                Node::Link(_) | Node::LeftOut | Node::Other => {}
            }
        }
    }
}
