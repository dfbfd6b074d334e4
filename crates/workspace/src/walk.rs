//! Walks the project: the entries visible to searches.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::types::Types;
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::hidden::HiddenPaths;
use crate::{Error, Location, SearchEnd, StopSignal};

/// The folders of version control.
pub(crate) const INTERNAL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// A page of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPage {
    /// The number of preceding results.
    pub offset: usize,
    /// The maximum number of results.
    pub limit: usize,
}

/// A walk that respects `.gitignore`, `.ignore` and `.hewignore`, in and outside of git repositories, and includes dot
/// files, but not hidden paths. It follows no symbolic link, so it can neither loop nor leave the folder.
pub(crate) fn builder(folder: &Path, hiding: &HiddenPaths) -> WalkBuilder {
    let hiding = hiding.clone();
    let mut builder = WalkBuilder::new(folder);
    builder
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .add_custom_ignore_filename(".hewignore")
        .filter_entry(move |entry| {
            let internal = || INTERNAL.iter().any(|name| entry.file_name() == *name);
            entry.depth() == 0 || !(internal() || hiding.contains(entry.path()))
        });
    builder
}

/// The outcome of a walk.
pub(crate) struct WalkSummary {
    pub(crate) ended: SearchEnd,
    /// The number of unreadable folders and files.
    pub(crate) unreadable: usize,
}

/// Visits every entry below the folder, on several threads with their own visitors; `types` restricts the files.
pub(crate) fn visit_entries<'a, V>(
    folder: &Location,
    types: Option<Types>,
    stop: &StopSignal,
    visitor: impl Fn() -> V + Sync,
) -> Result<WalkSummary, Error>
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
            if stop.is_due() {
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
    if stop.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let ended = match timed_out.into_inner() {
        true => SearchEnd::TimedOut,
        false => SearchEnd::Complete,
    };
    Ok(WalkSummary {
        ended,
        unreadable: unreadable.into_inner(),
    })
}

impl Location {
    /// Fails if the path is not an existing folder.
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
