//! The queue of writes for the writer thread.
//!
//! The queue has no bound of its own: callers wait for receipts, and deltas of a reply are joined.

use crate::draft::{DraftPiece, DraftPieces};
use crate::prune::VersionSelection;
use bytes::Bytes;
use futures::channel::oneshot;
use model::Chunk;
use rusqlite::Connection;
use session::{
    BlobId, CallRecord, Error, Item, ItemId, NewSession, QueuedPromptId, ReplyDraft, RequestRecord, SessionId,
    SurvivalRecord, TurnRecord,
};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a write without urgency is delayed, to share a transaction. The commit takes the rest of the 100 ms that
/// are promised for drafts.
const MAX_DELAY: Duration = Duration::from_millis(90);

/// Delay before drafts that did not fit on a full disk are retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A write operation.
#[derive(Debug)]
pub(crate) enum Write {
    Create(NewSession),
    Append {
        session: SessionId,
        item: Arc<Item>,
        /// The queued prompt that became the item.
        queued: Option<QueuedPromptId>,
    },
    QueuePrompt {
        session: SessionId,
        prompt: session::QueuedPrompt,
    },
    RemoveQueued {
        session: SessionId,
        prompt: QueuedPromptId,
    },
    Roots {
        session: SessionId,
        roots: Vec<PathBuf>,
    },
    Discard {
        session: SessionId,
        reply: ItemId,
    },
    Rewind {
        session: SessionId,
        head: ItemId,
    },
    Title {
        session: SessionId,
        title: String,
    },
    Record {
        session: SessionId,
        record: Box<RequestRecord>,
    },
    Turn {
        session: SessionId,
        record: TurnRecord,
    },
    Call {
        session: SessionId,
        record: Box<CallRecord>,
    },
    Survival(SurvivalRecord),
    /// Chunks of a reply that must be written before a later write.
    DraftPiece(DraftPiece),
    RepairDrafts(SessionId),
    Delete(SessionId),
    /// Deletes the file versions that only this session references.
    ForgetVersions(SessionId, VersionSelection),
    /// Deletes unreferenced file versions.
    DeleteUnreferenced,
    /// No operation; its receipt covers all earlier writes.
    Flush,
}

/// A read, called with the connection or the error that prevents it.
pub(crate) type ReadJob = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

/// A write and its receipt.
pub(crate) struct PendingWrite {
    pub(crate) write: Write,
    pub(crate) receipt: Option<oneshot::Sender<Result<(), Error>>>,
}

/// A blob to be written.
#[derive(Debug)]
pub(crate) struct PendingBlob {
    pub(crate) id: BlobId,
    pub(crate) bytes: Bytes,
}

/// The writes for one transaction, in this order.
#[derive(Default)]
pub(crate) struct WriteBatch {
    pub(crate) blobs: Vec<PendingBlob>,
    pub(crate) writes: Vec<PendingWrite>,
    pub(crate) pieces: Vec<DraftPiece>,
    pub(crate) reads: Vec<ReadJob>,
}

/// What the writer does next.
pub(crate) enum WriterStep {
    Work(WriteBatch),
    /// The requested time has passed: sync the log.
    Sync,
    Close,
}

/// The queue of writes for the writer thread.
#[derive(Default)]
pub(crate) struct WriteQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    blobs: Vec<PendingBlob>,
    writes: Vec<PendingWrite>,
    pieces: DraftPieces,
    reads: Vec<ReadJob>,
    /// Whether a write must not be delayed.
    is_urgent: bool,
    /// When delayed writes are due.
    due: Option<Instant>,
    is_working: bool,
    is_closed: bool,
}

impl WriteQueue {
    /// Enqueues a write and returns the receiver of its result.
    pub(crate) fn write(&self, write: Write) -> oneshot::Receiver<Result<(), Error>> {
        let (sender, receiver) = oneshot::channel();
        self.push(write, Some(sender));
        receiver
    }

    /// Enqueues a write without a receipt.
    pub(crate) fn write_without_receipt(&self, write: Write) {
        self.push(write, None);
    }

    /// Enqueues received chunks of a reply.
    pub(crate) fn draft(&self, session: SessionId, draft: ReplyDraft, chunks: Vec<Chunk>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.pieces.add(session, draft, chunks);
        self.schedule(&mut state);
    }

    /// Starts all pending writes now, because a caller waits.
    pub(crate) fn expedite(&self) {
        let mut state = self.lock();
        if !state.writes.is_empty() {
            state.is_urgent = true;
            self.changed.notify_one();
        }
    }

    /// Enqueues a blob, which is written together with the next write.
    pub(crate) fn blob(&self, blob: PendingBlob) {
        self.lock().blobs.push(blob);
    }

    /// Enqueues a read after all earlier writes.
    pub(crate) fn read(&self, job: ReadJob) {
        let mut state = self.lock();
        // Dropping a job notifies its caller.
        if !state.is_closed {
            state.reads.push(job);
            self.changed.notify_one();
        }
    }

    /// Whether nothing is pending.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        !state.is_working && state.is_empty()
    }

    /// Puts back pieces that could not be written, except those that a pending write supersedes.
    pub(crate) fn requeue(&self, pieces: Vec<DraftPiece>) {
        let mut state = self.lock();
        for piece in pieces {
            let is_settled = state
                .writes
                .iter()
                .any(|waiting| waiting.write.supersedes(piece.draft.id));
            if !is_settled {
                state.pieces.requeue(piece);
            }
        }
        if !state.pieces.is_empty() {
            state.due = Some(Instant::now() + RETRY_DELAY);
        }
    }

    /// Waits for work, at most until `rest`.
    pub(crate) fn next(&self, rest: Option<Instant>) -> WriterStep {
        let mut state = self.lock();
        state.is_working = false;
        loop {
            let now = Instant::now();
            if state.is_ready(now) {
                state.is_working = true;
                return WriterStep::Work(state.take());
            }
            if state.is_closed {
                return WriterStep::Close;
            }
            if rest.is_some_and(|rest| rest <= now) {
                return WriterStep::Sync;
            }
            let wake = [rest, state.due].into_iter().flatten().min();
            state = match wake {
                Some(at) => {
                    let waited = self.changed.wait_timeout(state, at.saturating_duration_since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Rejects further writes and lets the writer end after the pending ones.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Rejects further writes and drops the pending ones, which notifies their callers.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        drop(state.take());
    }

    fn push(&self, write: Write, receipt: Option<oneshot::Sender<Result<(), Error>>>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.take_superseded_drafts(&write);
        let can_wait = write.can_be_delayed();
        state.writes.push(PendingWrite { write, receipt });
        match can_wait {
            true => self.schedule(&mut state),
            false => {
                state.is_urgent = true;
                self.changed.notify_one();
            }
        }
    }

    fn schedule(&self, state: &mut QueueState) {
        if state.due.is_none() {
            state.due = Some(Instant::now() + MAX_DELAY);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Drafts are written after everything else, so a write that replaces a draft removes it here, and a write that
    /// must follow one enqueues it here.
    fn take_superseded_drafts(&mut self, write: &Write) {
        match write {
            Write::Append { item, .. } => drop(self.pieces.take_reply(item.id)),
            Write::Discard { reply, .. } => drop(self.pieces.take_reply(*reply)),
            Write::Delete(session) => drop(self.pieces.take_session(*session)),
            Write::RepairDrafts(session) => {
                let before = self
                    .pieces
                    .take_session(*session)
                    .into_iter()
                    .map(|piece| PendingWrite {
                        write: Write::DraftPiece(piece),
                        receipt: None,
                    });
                self.writes.extend(before);
            }
            Write::Create(_)
            | Write::QueuePrompt { .. }
            | Write::RemoveQueued { .. }
            | Write::Roots { .. }
            | Write::Rewind { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Turn { .. }
            | Write::Call { .. }
            | Write::Survival(_)
            | Write::DraftPiece(_)
            | Write::ForgetVersions(..)
            | Write::DeleteUnreferenced
            | Write::Flush => {}
        }
        if self.pieces.is_empty() && self.writes.is_empty() {
            self.due = None;
        }
    }

    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.blobs.is_empty() && self.pieces.is_empty()
    }

    fn is_ready(&self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        let is_last = self.is_closed && !self.is_empty();
        self.is_urgent || is_due || is_last || !self.reads.is_empty()
    }

    fn take(&mut self) -> WriteBatch {
        self.due = None;
        self.is_urgent = false;
        WriteBatch {
            blobs: std::mem::take(&mut self.blobs),
            writes: std::mem::take(&mut self.writes),
            pieces: self.pieces.take(),
            reads: std::mem::take(&mut self.reads),
        }
    }
}

impl Write {
    /// Whether it may be delayed to share the transaction of the write that usually follows.
    fn can_be_delayed(&self) -> bool {
        match self {
            Write::Discard { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Turn { .. }
            | Write::Call { .. }
            | Write::Survival(_)
            | Write::QueuePrompt { .. }
            | Write::RemoveQueued { .. }
            | Write::Roots { .. } => true,
            Write::Create(_)
            | Write::Append { .. }
            | Write::Rewind { .. }
            | Write::DraftPiece(_)
            | Write::RepairDrafts(_)
            | Write::Delete(_)
            | Write::ForgetVersions(..)
            | Write::DeleteUnreferenced
            | Write::Flush => false,
        }
    }

    /// Whether it replaces the draft of this reply.
    fn supersedes(&self, id: ItemId) -> bool {
        match self {
            Write::Append { item, .. } => item.id == id,
            Write::Discard { reply, .. } => *reply == id,
            Write::Create(_)
            | Write::QueuePrompt { .. }
            | Write::RemoveQueued { .. }
            | Write::Roots { .. }
            | Write::Rewind { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Turn { .. }
            | Write::Call { .. }
            | Write::Survival(_)
            | Write::DraftPiece(_)
            | Write::RepairDrafts(_)
            | Write::Delete(_)
            | Write::ForgetVersions(..)
            | Write::DeleteUnreferenced
            | Write::Flush => false,
        }
    }
}
