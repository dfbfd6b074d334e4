//! Walking the project: what every search sees, and in what portions it answers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::types::Types;
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::hiding::Hiding;
use crate::{Ended, Error, Location, Stop};

/// Where version control keeps its own files.
pub(crate) const INTERNAL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// A portion of a long answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many results come before it.
    pub offset: usize,
    /// How many it may hold.
    pub limit: usize,
}

/// A walk that honours `.gitignore`, `.ignore` and `.hewignore`, in and outside of git repositories; sees other hidden
/// files, since projects keep much of themselves there; not what is hidden from everybody; and follows no symbolic link, so it can neither loop nor leave.
pub(crate) fn builder(folder: &Path, hiding: &Hiding) -> WalkBuilder {
    let hiding = hiding.clone();
    let mut builder = WalkBuilder::new(folder);
    builder
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .add_custom_ignore_filename(".hewignore")
        .filter_entry(move |entry| {
            let internal = || INTERNAL.iter().any(|name| entry.file_name() == *name);
            entry.depth() == 0 || !(internal() || hiding.hides(entry.path()))
        });
    builder
}

/// How a walk went.
pub(crate) struct Walked {
    pub(crate) ended: Ended,
    /// How many folders or files could not be read.
    pub(crate) unreadable: usize,
}

/// Shows every entry below the folder to `visit`, on several threads; each thread makes its own visitor. With types, files
/// of others are left out.
pub(crate) fn each<'a, V>(
    folder: &Location,
    types: Option<Types>,
    stop: &Stop,
    visitor: impl Fn() -> V + Sync,
) -> Result<Walked, Error>
where
    V: FnMut(DirEntry) + Send + 'a,
{
    let timed_out = AtomicBool::new(false);
    let unreadable = AtomicUsize::new(0);
    let mut builder = builder(folder.path(), folder.hiding());
    if let Some(types) = types {
        builder.types(types);
    }
    builder.build_parallel().run(|| {
        let mut visit = visitor();
        let (timed_out, unreadable) = (&timed_out, &unreadable);
        Box::new(move |entry| {
            if stop.due() {
                timed_out.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.depth() > 0 => visit(entry),
                Ok(_) => {}
                Err(_) => {
                    unreadable.fetch_add(1, Ordering::Relaxed);
                }
            }
            WalkState::Continue
        })
    });
    if stop.cancelled() {
        return Err(Error::Cancelled);
    }
    let ended = match timed_out.into_inner() {
        true => Ended::TimedOut,
        false => Ended::Complete,
    };
    Ok(Walked {
        ended,
        unreadable: unreadable.into_inner(),
    })
}

impl Location {
    /// Refuses to search what is not there or not a folder.
    pub(crate) fn require_folder(&self) -> Result<(), Error> {
        match std::fs::metadata(self.path()) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(Error::NotADirectory {
                path: self.shown().into_owned(),
            }),
            Err(error) => Err(self.error(error)),
        }
    }
}
