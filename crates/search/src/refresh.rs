//! Brings the index up to date with the files of the project.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use index::search::{IndexStamp, SegmentBuilder, SegmentBytes};
use store::LogWriter;
use workspace::{Location, SearchEnd, StopSignal};

use crate::file_filter::{MAX_FILE, is_indexed, text_of};
use crate::{CodeIndex, Error};

/// The maximum number of files.
const MAX_FILES: usize = 1_000_000;
/// The text of the segments that are built at the same time.
const SEGMENT_SOURCE: usize = 16 * 1024 * 1024;
/// A further thread is used for each so many bytes.
const THREAD_SOURCE: u64 = 1024 * 1024;
const MAX_THREADS: usize = 8;
/// A file that was modified this shortly before it was read may change again without another modification time.
const RACY: Duration = Duration::from_millis(20);
/// How long an update waits for one of another process.
const LOCK_TIME: Duration = Duration::from_secs(1);
/// Other processes see the progress after this many files.
const REPORTED_FILES: usize = 64;
/// How often the lock of another process is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);
/// More small segments are merged.
const MAX_SMALL: usize = 12;
/// Larger segments are merged only if much of them is stale.
const SMALL_SEGMENT: usize = 1024 * 1024;
/// The size of a merged segment, which is built in memory.
const MERGED_SEGMENT: usize = 8 * 1024 * 1024;

/// The priority of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshPriority {
    /// Someone waits for it.
    Foreground,
    /// Low as soon as the caller of [`CodeIndex::update_within`] does not wait any longer.
    Adaptive,
}

/// The outcome of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefreshOutcome {
    /// Files that were analysed.
    pub updated: usize,
    /// Files that were removed from the index.
    pub removed: usize,
    /// Whether the index has all files.
    pub is_complete: bool,
}

/// The lock on the index file.
enum FileLock {
    Held(LogWriter),
    /// Another process has it.
    Busy,
    /// The file cannot be written: the index is kept in memory.
    Unusable,
}

/// What differs between the index and the project.
#[derive(Debug, Default)]
struct FileChanges {
    changed: Vec<ChangedFile>,
    removed: Vec<String>,
    is_complete: bool,
}

#[derive(Debug)]
struct ChangedFile {
    path: String,
    location: Location,
    /// The stamp in the index.
    known: Option<IndexStamp>,
    size: u64,
    modified: i64,
}

impl CodeIndex {
    /// Brings the index up to date. Waits for another update of this process until `stop` is due. If another process
    /// updates it for longer than a moment, loads what that has written and returns an incomplete outcome.
    pub fn refresh(&self, stop: &StopSignal, priority: RefreshPriority) -> Result<RefreshOutcome, Error> {
        let _update = self.begin_update();
        self.load();
        let changes = self.compare(stop)?;
        if changes.changed.is_empty() && changes.removed.is_empty() {
            return Ok(RefreshOutcome {
                is_complete: changes.is_complete,
                ..RefreshOutcome::default()
            });
        }
        let mut writer = match self.lock_file(stop) {
            FileLock::Held(writer) => Some(writer),
            FileLock::Unusable => None,
            FileLock::Busy => {
                self.load();
                return Ok(RefreshOutcome::default());
            }
        };
        // Another process may have done it meanwhile.
        let changes = match self.has_changed() {
            true => {
                self.load();
                self.compare(stop)?
            }
            false => changes,
        };
        let outcome = self.apply(changes, writer.as_mut(), stop, priority);
        if let Some(writer) = &mut writer {
            self.compact(writer);
        }
        Ok(outcome)
    }

    /// Analyses these files again, if they changed.
    pub(crate) fn refresh_files(&self, paths: &[String], stop: &StopSignal) -> Result<(), Error> {
        let _update = self.begin_update();
        let index = self.current();
        let mut changes = FileChanges::default();
        for file in index.files().filter(|file| paths.iter().any(|path| path == file.path)) {
            let location = self.workspace().locate(Path::new(file.path))?;
            match location.stat().filter(|_| location.exists()) {
                Some((size, modified)) => changes.changed.push(ChangedFile {
                    path: file.path.to_owned(),
                    known: Some(file.stamp),
                    location,
                    size,
                    modified,
                }),
                None => changes.removed.push(file.path.to_owned()),
            }
        }
        let mut writer = match self.state().unsaved {
            Some(_) => None,
            None => self.log().lock().unwrap_or(None),
        };
        if self.has_changed() {
            // Another process wrote: the next update merges both; until then the change is known here only.
            writer = None;
        }
        self.apply(changes, writer.as_mut(), stop, RefreshPriority::Foreground);
        Ok(())
    }

    fn has_changed(&self) -> bool {
        let state = self.state();
        state.unsaved.is_none() && state.loaded.version != self.log().version()
    }

    /// Locks the index file.
    fn lock_file(&self, stop: &StopSignal) -> FileLock {
        let patience = StopSignal::after(LOCK_TIME);
        loop {
            match self.log().lock() {
                Ok(Some(writer)) => {
                    // Without a copy, everything is analysed.
                    self.copy_sibling().unwrap_or_default();
                    return FileLock::Held(writer);
                }
                Ok(None) if stop.is_due() || patience.is_due() => return FileLock::Busy,
                Ok(None) => std::thread::sleep(LOCK_INTERVAL),
                Err(error) => {
                    self.state().unsaved = Some(error.to_string());
                    return FileLock::Unusable;
                }
            }
        }
    }

    /// Compares the files of the project with the index, by size and modification time.
    fn compare(&self, stop: &StopSignal) -> Result<FileChanges, Error> {
        let root = self.workspace().locate("")?;
        let stats = root.file_stats(MAX_FILES, stop)?;
        let index = self.current();
        let stamps = index.stamps();
        let mut changes = FileChanges {
            is_complete: stats.ended == SearchEnd::Complete,
            ..FileChanges::default()
        };
        let mut seen: HashSet<&str> = HashSet::with_capacity(stats.files.len());
        let top = self.workspace().root();
        for file in &stats.files {
            // Names that are not UTF-8 cannot be shown to a model or passed to a tool.
            let Some(path) = file.path.strip_prefix(top).unwrap_or(&file.path).to_str() else {
                continue;
            };
            if !is_indexed(path, file.size) {
                continue;
            }
            seen.insert(path);
            let known = stamps.get(path).copied();
            if known.is_none_or(|known| (known.size, known.modified) != (file.size, file.modified)) {
                changes.changed.push(ChangedFile {
                    path: path.to_owned(),
                    location: root.project_path(&file.path),
                    known,
                    size: file.size,
                    modified: file.modified,
                });
            }
        }
        if changes.is_complete {
            let removed = stamps
                .keys()
                .filter(|path| !seen.contains(*path))
                .map(|path| (*path).to_owned());
            changes.removed = removed.collect();
            changes.removed.sort_unstable();
        }
        Ok(changes)
    }

    /// Analyses changed files on several threads and appends the segments.
    fn apply(
        &self,
        changes: FileChanges,
        writer: Option<&mut LogWriter>,
        stop: &StopSignal,
        priority: RefreshPriority,
    ) -> RefreshOutcome {
        self.set_progress(0, changes.changed.len());
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let source: u64 = changes.changed.iter().map(|file| file.size).sum();
        let threads = (1 + (source / THREAD_SOURCE) as usize).min(cores).min(MAX_THREADS);
        let writer = Mutex::new(writer);
        let next = AtomicUsize::new(0);
        let updated = AtomicUsize::new(0);
        let removed = Mutex::new(Some(&changes.removed));
        let work = || {
            let mut is_lowered = false;
            let mut builder = SegmentBuilder::default();
            let removed = removed.lock().unwrap_or_else(PoisonError::into_inner).take();
            for path in removed.into_iter().flatten() {
                builder.remove(path);
            }
            while !stop.is_due()
                && let Some(file) = changes.changed.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if priority == RefreshPriority::Adaptive && !is_lowered && self.worker().is_unattended() {
                    lower_priority();
                    is_lowered = true;
                }
                updated.fetch_add(usize::from(add(&mut builder, file)), Ordering::Relaxed);
                if self.count_done().is_multiple_of(REPORTED_FILES) {
                    self.report(&writer);
                }
                if builder.source() >= SEGMENT_SOURCE / threads {
                    self.write(&writer, builder.finish());
                }
            }
            if builder.files() > 0 {
                self.write(&writer, builder.finish());
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        self.set_progress(0, 0);
        RefreshOutcome {
            updated: updated.into_inner(),
            removed: changes.removed.len(),
            is_complete: changes.is_complete && next.into_inner() >= changes.changed.len(),
        }
    }

    /// Shows the progress to other processes, which is not essential.
    fn report(&self, writer: &Mutex<Option<&mut LogWriter>>) {
        let progress = self.progress().unwrap_or_default();
        if let Ok(mut writer) = writer.try_lock()
            && let Some(writer) = writer.as_mut()
        {
            writer.report(progress.done, progress.total).unwrap_or_default();
        }
    }

    /// Appends a segment and makes it visible. If it cannot be saved, it is kept in memory.
    fn write(&self, writer: &Mutex<Option<&mut LogWriter>>, bytes: Vec<u8>) {
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let mut saved: Option<SegmentBytes> = None;
        if state.unsaved.is_none()
            && let Some(writer) = writer.as_mut()
        {
            match writer.append(&mut state.loaded, &bytes) {
                Ok(segment) => saved = Some(Arc::new(segment)),
                Err(error) => state.unsaved = Some(error.to_string()),
            }
        }
        state.push(saved.unwrap_or_else(|| Arc::new(bytes)));
        state.publish();
    }

    /// Merges small segments, so that queries stay fast and replaced files do not accumulate.
    fn compact(&self, writer: &mut LogWriter) {
        let mut state = self.state();
        if state.unsaved.is_some() {
            return;
        }
        let Some(segments) = state.index.compacted(MAX_SMALL, SMALL_SEGMENT, MERGED_SEGMENT) else {
            return;
        };
        let bytes = segments.iter().map(|segment| segment.bytes());
        if let Ok(saved) = writer.replace(bytes, &mut state.loaded) {
            drop(segments);
            state.segments.clear();
            saved.into_iter().for_each(|segment| state.push(Arc::new(segment)));
            state.publish();
        }
    }
}

/// Adds a file to a segment. Returns whether it was analysed.
fn add(builder: &mut SegmentBuilder, file: &ChangedFile) -> bool {
    let read_at = now();
    let read = file.location.read_bytes(MAX_FILE);
    let Some(bytes) = read.ok().filter(|bytes| bytes.len() as u64 <= MAX_FILE) else {
        if file.known.is_some() {
            builder.remove(&file.path);
        }
        return false;
    };
    let is_racy = file.modified > read_at - RACY.as_nanos() as i64;
    let stamp = IndexStamp {
        modified: if is_racy { 0 } else { file.modified },
        size: file.size,
        content: IndexStamp::hash(&bytes),
    };
    if file.known.is_some_and(|known| known.content == stamp.content) {
        builder.touch(&file.path, stamp);
        return false;
    }
    // A binary file has no text but is remembered, so that it is not read again.
    let text = text_of(bytes).unwrap_or_default();
    builder.add(&file.path, stamp, &text);
    true
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Lowers the priority of this thread.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    rustix::process::setpriority_process(None, 10).unwrap_or_default();
}
