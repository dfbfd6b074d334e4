//! Walks the project: the entries visible to searches.
//!
//! Every folder is opened without following links, and its entries are opened relative to it, so that a search stays
//! below its folder even while a command replaces folders by links. Ignore files are read only if they are regular.

mod ignore_files;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use ignore::types::Types;
use rustix::fs::FileType;

use crate::hidden::HiddenPaths;
use crate::{Error, Location, SearchEnd, StopSignal, open};
use ignore_files::IgnoreFiles;

/// The folders of version control.
pub(crate) const INTERNAL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Maximum number of threads of a walk.
const MAX_THREADS: usize = 12;

/// A page of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPage {
    /// The number of preceding results.
    pub offset: usize,
    /// The maximum number of results.
    pub limit: usize,
}

/// Whether a search includes ignored files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// They are skipped.
    #[default]
    Skip,
    /// Those that only `.gitignore` and git's other exclude files name are included.
    IncludeGit,
}

/// Which entries of a folder are visited.
struct EntryFilter<'a> {
    hiding: &'a HiddenPaths,
    types: Option<Types>,
    ignored: IgnoredFiles,
}

impl<'a> EntryFilter<'a> {
    fn new(hiding: &'a HiddenPaths) -> Self {
        EntryFilter {
            hiding,
            types: None,
            ignored: IgnoredFiles::Skip,
        }
    }
}

/// An entry below the walked folder that is neither ignored nor hidden.
pub(crate) struct WalkEntry<'f> {
    folder: BorrowedFd<'f>,
    name: &'f OsStr,
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
}

impl WalkEntry<'_> {
    /// Opens the file, if it is regular.
    pub(crate) fn open(&self) -> io::Result<File> {
        open::regular_file_in(self.folder, self.name)
    }

    /// The size and the modification time in nanoseconds.
    pub(crate) fn stat(&self) -> io::Result<(u64, i64)> {
        let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        Ok(open::size_and_time(&rustix::fs::statat(self.folder, self.name, flags)?))
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// The outcome of a walk.
pub(crate) struct WalkSummary {
    pub(crate) ended: SearchEnd,
    /// The number of unreadable folders and files.
    pub(crate) unreadable: usize,
}

/// Whether an ignore file excludes a file or one of the folders above it.
pub fn is_ignored(file: &Path) -> bool {
    let rules = IgnoreFiles::above(file);
    let is_ignored = |path: &Path, is_folder| rules.is_ignored(path, is_folder, IgnoredFiles::Skip);
    is_ignored(file, false) || file.ancestors().skip(1).any(|folder| is_ignored(folder, true))
}

/// The folders that are still to be read, and the number of threads that may add more.
#[derive(Default)]
struct WalkQueue {
    folders: Vec<(PathBuf, Arc<IgnoreFiles>)>,
    busy: usize,
}

/// Visits every entry below the searched folders of a path, on several threads with their own visitors; `types` restricts
/// the files.
///
/// The walk respects `.gitignore`, `.ignore` and `.hewignore`, in and outside of git repositories, and includes dot
/// files, but not hidden paths.
pub(crate) fn visit_entries<V>(
    folder: &Location,
    (types, ignored): (Option<Types>, IgnoredFiles),
    stop: &StopSignal,
    visitor: impl Fn() -> V + Sync,
) -> Result<WalkSummary, Error>
where
    V: FnMut(WalkEntry<'_>),
{
    let walk = FolderWalk {
        filter: EntryFilter {
            hiding: folder.hiding(),
            types,
            ignored,
        },
        stop,
        unreadable: AtomicUsize::new(0),
        timed_out: AtomicBool::new(false),
        queue: Mutex::new(WalkQueue {
            folders: folder
                .searched_folders()
                .map(|folder| (folder.to_owned(), IgnoreFiles::above(folder)))
                .collect(),
            busy: 0,
        }),
        changed: Condvar::new(),
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| walk.run(visitor()));
        }
        walk.run(visitor());
    });
    if stop.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(WalkSummary {
        ended: match walk.timed_out.into_inner() {
            true => SearchEnd::TimedOut,
            false => SearchEnd::Complete,
        },
        unreadable: walk.unreadable.into_inner(),
    })
}

/// The paths below a folder, breadth-first, at most `most` of them.
pub(crate) fn paths_below(folder: &Path, hiding: &HiddenPaths, most: usize) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = std::collections::VecDeque::from([(folder.to_owned(), IgnoreFiles::above(folder))]);
    while let Some((folder, above)) = folders.pop_front() {
        let read = read_folder(&folder, above, &EntryFilter::new(hiding), |entry, rules| {
            if entry.is_folder() {
                folders.push_back((entry.path.clone(), Arc::clone(rules)));
            }
            paths.push(entry.path);
        });
        // An unreadable folder has no entries.
        drop(read);
        if paths.len() >= most {
            paths.truncate(most);
            break;
        }
    }
    paths
}

/// The names in a folder that are neither ignored nor hidden.
pub(crate) fn visible_names(folder: &Path, hiding: &HiddenPaths) -> Vec<OsString> {
    let mut names = Vec::new();
    let read = read_folder(
        folder,
        IgnoreFiles::above(folder),
        &EntryFilter::new(hiding),
        |entry, _| {
            names.push(entry.name.to_owned());
        },
    );
    // An unreadable folder has no entries.
    drop(read);
    names
}

/// A walk in progress.
struct FolderWalk<'a> {
    filter: EntryFilter<'a>,
    stop: &'a StopSignal,
    unreadable: AtomicUsize,
    timed_out: AtomicBool,
    queue: Mutex<WalkQueue>,
    changed: Condvar,
}

impl FolderWalk<'_> {
    /// Reads folders until none is left.
    fn run(&self, mut visit: impl FnMut(WalkEntry<'_>)) {
        while let Some((folder, above)) = self.next() {
            let mut found = Vec::new();
            let read = read_folder(&folder, above, &self.filter, |entry, rules| {
                if self.stop.is_due() {
                    return self.timed_out.store(true, Ordering::Relaxed);
                }
                if entry.is_folder() {
                    found.push((entry.path.clone(), Arc::clone(rules)));
                }
                visit(entry);
            });
            if read.is_err() {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
            }
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.busy -= 1;
            if !self.timed_out.load(Ordering::Relaxed) {
                queue.folders.append(&mut found);
            }
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<(PathBuf, Arc<IgnoreFiles>)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.stop.is_due() {
                self.timed_out.store(true, Ordering::Relaxed);
                queue.folders.clear();
            }
            if let Some(next) = queue.folders.pop() {
                queue.busy += 1;
                return Some(next);
            }
            if queue.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Visits the entries of one folder with the ignore files that apply below it.
fn read_folder(
    path: &Path,
    above: Arc<IgnoreFiles>,
    filter: &EntryFilter<'_>,
    mut visit: impl FnMut(WalkEntry<'_>, &Arc<IgnoreFiles>),
) -> io::Result<()> {
    let folder = open::folder(path)?;
    let entries = open::entries(folder.as_fd())?;
    let rules = IgnoreFiles::of_folder(
        above,
        path,
        folder.as_fd(),
        entries.iter().map(|(name, _)| name.as_os_str()),
    );
    for (name, kind) in &entries {
        let kind = *kind;
        let entry_path = path.join(name);
        if INTERNAL.iter().any(|internal| name == internal) || filter.hiding.contains(&entry_path) {
            continue;
        }
        let is_folder = kind == FileType::Directory;
        let types = filter.types.as_ref();
        let is_other_type = types.is_some_and(|types| types.matched(&entry_path, is_folder).is_ignore());
        if is_other_type || rules.is_ignored(&entry_path, is_folder, filter.ignored) {
            continue;
        }
        let entry = WalkEntry {
            folder: folder.as_fd(),
            name,
            path: entry_path,
            kind,
        };
        visit(entry, &rules);
    }
    Ok(())
}

impl Location {
    /// Fails if the path is not an existing folder.
    pub(crate) fn require_folder(&self) -> Result<(), Error> {
        match open::metadata(self.path()) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(()),
            Ok(_) => Err(Error::NotADirectory {
                path: self.shown().into_owned(),
            }),
            Err(error) => Err(self.error(error)),
        }
    }
}
