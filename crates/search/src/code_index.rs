//! The index of one project.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use index::search::{IndexStamp, SearchIndex, Segment, SegmentBytes};
use providers::EmbeddingModel;
use store::{LoadedLog, SegmentLog};
use workspace::{StopGuard, StopSignal, Workspace};

use crate::Error;
use crate::background::UpdateWorker;
use crate::embedding_order::EmbeddingOrder;

/// No update of one process takes longer.
const MAX_UPDATE: Duration = Duration::from_secs(3600);

/// The index of a project. Clones share it. Creating one reads nothing.
#[derive(Debug, Clone)]
pub struct CodeIndex {
    shared: Arc<SharedIndex>,
    /// Ends updates in the background with the last clone. The worker itself has none.
    _stop: Option<Arc<StopGuard>>,
}

#[derive(Debug)]
struct SharedIndex {
    workspace: Workspace,
    log: SegmentLog,
    /// Begins the names of the indexes of all worktrees of the repository.
    prefix: String,
    /// Held while the index is updated.
    updating: Mutex<()>,
    state: Mutex<IndexState>,
    progress: Progress,
    worker: UpdateWorker,
    /// Vectors of an embedding model.
    vectors: SegmentLog,
    embedding: Option<EmbeddingOrder>,
    stop: StopSignal,
}

/// The state in memory.
#[derive(Debug, Default)]
pub(crate) struct IndexState {
    pub(crate) loaded: LoadedLog,
    pub(crate) segments: Vec<Segment>,
    pub(crate) index: Arc<SearchIndex>,
    pub(crate) is_loaded: bool,
    /// Why the index is not saved.
    pub(crate) unsaved: Option<String>,
    /// Why the last search was not ordered by the embedding model.
    pub(crate) embedding_error: Option<String>,
}

#[derive(Debug, Default)]
struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
}

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Files analysed.
    pub done: usize,
    /// Files to analyse; 0 while they are counted.
    pub total: usize,
}

impl IndexProgress {
    /// A few words, such as `indexing 120 of 3000 files`.
    pub fn describe(self) -> String {
        match self.total {
            0 => "indexing".into(),
            1 => format!("indexing {} of 1 file", self.done),
            total => format!("indexing {} of {total} files", self.done),
        }
    }
}

/// The state of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// The index file.
    pub path: PathBuf,
    /// The number of files.
    pub files: usize,
    /// The number of chunks.
    pub chunks: usize,
    /// The number of lines.
    pub lines: usize,
    /// The size of the index in bytes.
    pub bytes: usize,
    /// The number of segments.
    pub segments: usize,
    /// The size of the indexed files in bytes.
    pub source_bytes: u64,
    /// Whether a damaged part of the file is ignored.
    pub is_damaged: bool,
    /// Why the index is not saved.
    pub unsaved: Option<String>,
    /// How far an update is, by this process or another one.
    pub progress: Option<IndexProgress>,
}

impl CodeIndex {
    /// The index of a project, in a cache folder.
    pub fn new(workspace: Workspace, cache: &Path) -> Self {
        Self::with_embedding(workspace, cache, None)
    }

    /// The index of a project, whose results are ordered with the help of an embedding model.
    pub fn with_embedding(workspace: Workspace, cache: &Path, model: Option<EmbeddingModel>) -> Self {
        let root = workspace.root().as_os_str().as_encoded_bytes();
        let mut key = root.to_vec();
        for folder in workspace.more() {
            key.push(0);
            key.extend(folder.as_os_str().as_encoded_bytes());
        }
        let repository = workspace.git().and_then(|git| {
            // Worktrees share the git directory; the folder inside the repository distinguishes sub-projects.
            let inside = workspace
                .root()
                .strip_prefix(&git.root)
                .ok()?
                .as_os_str()
                .as_encoded_bytes()
                .to_vec();
            let mut key = git.folder?.as_os_str().as_encoded_bytes().to_vec();
            key.push(0);
            key.extend(inside);
            Some(key)
        });
        let prefix = format!("{:016x}-", IndexStamp::hash(repository.as_deref().unwrap_or(root)));
        let name = format!("{prefix}{:016x}", IndexStamp::hash(&key));
        let folder = cache.join("search");
        let vectors = SegmentLog::new(folder.join(format!("{name}-embeddings.vectors")));
        let embedding = model.map(|model| EmbeddingOrder::new(model, vectors.clone()));
        let stop = StopSignal::after(MAX_UPDATE);
        Self {
            _stop: Some(Arc::new(stop.on_drop())),
            shared: Arc::new(SharedIndex {
                workspace,
                log: SegmentLog::new(folder.join(format!("{name}.index"))),
                prefix,
                updating: Mutex::default(),
                state: Mutex::default(),
                progress: Progress::default(),
                worker: UpdateWorker::default(),
                vectors,
                embedding,
                stop,
            }),
        }
    }

    pub(crate) fn embedding(&self) -> Option<&EmbeddingOrder> {
        self.shared.embedding.as_ref()
    }

    /// Why the last search was not ordered by the configured embedding model.
    pub fn embedding_error(&self) -> Option<String> {
        self.state().embedding_error.clone()
    }

    pub(crate) fn worker(&self) -> &UpdateWorker {
        &self.shared.worker
    }

    /// The same index for its worker, and when that must end.
    pub(crate) fn for_worker(&self) -> (Self, StopSignal) {
        let index = Self {
            shared: Arc::clone(&self.shared),
            _stop: None,
        };
        (index, self.shared.stop.clone())
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.shared.workspace
    }

    pub(crate) fn log(&self) -> &SegmentLog {
        &self.shared.log
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, IndexState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a running update and prevents others.
    pub(crate) fn begin_update(&self) -> MutexGuard<'_, ()> {
        self.shared.updating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_progress(&self, done: usize, total: usize) {
        self.shared.progress.done.store(done, Ordering::Relaxed);
        self.shared.progress.total.store(total, Ordering::Relaxed);
    }

    /// Counts an analysed file and returns how many there are.
    pub(crate) fn count_done(&self) -> usize {
        self.shared.progress.done.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How far a running update of this process or another one is.
    pub fn progress(&self) -> Option<IndexProgress> {
        let own = IndexProgress {
            done: self.shared.progress.done.load(Ordering::Relaxed),
            total: self.shared.progress.total.load(Ordering::Relaxed),
        };
        let of_other = || {
            let (done, total) = self.log().writer_progress()?;
            Some(IndexProgress { done, total })
        };
        Some(own).filter(|own| own.total > 0).or_else(of_other)
    }

    /// Whether the project has an index file.
    pub fn exists(&self) -> bool {
        self.log().version() != store::LogVersion::default()
    }

    /// The index in memory.
    pub fn current(&self) -> Arc<SearchIndex> {
        Arc::clone(&self.state().index)
    }

    /// Loads the index file, if it changed since it was last loaded. A missing, damaged or unreadable file is an empty
    /// index.
    pub fn load(&self) -> Arc<SearchIndex> {
        let mut state = self.state();
        let is_current = state.is_loaded && (state.unsaved.is_some() || state.loaded.version == self.log().version());
        if !is_current {
            match self.log().load() {
                Ok(loaded) => state.adopt(loaded),
                Err(error) => {
                    state.unsaved = Some(error.to_string());
                    state.is_loaded = true;
                }
            }
        }
        Arc::clone(&state.index)
    }

    /// Copies the index of another worktree, if this project has none.
    pub(crate) fn copy_sibling(&self) -> std::io::Result<()> {
        self.log().copy_sibling(&self.shared.prefix)
    }

    /// The state of the index file.
    pub fn status(&self) -> IndexStatus {
        let index = self.load();
        let state = self.state();
        let (mut lines, mut source_bytes) = (0, 0);
        for file in index.files() {
            lines += file.lines;
            source_bytes += file.stamp.size;
        }
        IndexStatus {
            path: self.log().path().to_owned(),
            files: index.file_count(),
            chunks: index.chunk_count(),
            lines,
            bytes: index.size(),
            segments: index.segment_count(),
            source_bytes,
            is_damaged: state.loaded.is_damaged,
            unsaved: state.unsaved.clone(),
            progress: self.progress(),
        }
    }

    /// Deletes the index file.
    pub fn clear(&self) -> Result<(), Error> {
        let _update = self.begin_update();
        let cleared = self.log().clear().and(self.shared.vectors.clear());
        *self.state() = IndexState::default();
        cleared.map_err(|source| self.storage_error(source))
    }

    pub(crate) fn storage_error(&self, source: std::io::Error) -> Error {
        Error::Storage {
            path: self.log().path().display().to_string(),
            source,
        }
    }
}

impl IndexState {
    /// Uses the content of the index file. Segments of another format are ignored, with all later ones.
    pub(crate) fn adopt(&mut self, loaded: LoadedLog) {
        let segments = loaded
            .segments
            .iter()
            .map_while(|segment| Segment::open(Arc::new(segment.clone())).ok());
        self.segments = segments.collect();
        self.is_loaded = true;
        self.unsaved = None;
        let is_foreign = self.segments.len() < loaded.segments.len();
        self.loaded = loaded;
        if is_foreign {
            // Another release wrote it: it is replaced as a whole.
            self.segments.clear();
            self.loaded = LoadedLog::default();
        }
        self.publish();
    }

    /// Adds a segment to the index in memory.
    pub(crate) fn push(&mut self, bytes: SegmentBytes) {
        if let Ok(segment) = Segment::open(bytes) {
            self.segments.push(segment);
        }
    }

    /// Makes the segments visible to queries.
    pub(crate) fn publish(&mut self) {
        self.index = Arc::new(SearchIndex::new(self.segments.clone()));
    }
}
