//! What has been handed over and waits for the writer.
//!
//! The queue is not bounded by itself: whoever writes waits for receipts, and deltas of a reply are joined as they come.

use crate::draft::{Piece, Pieces};
use bytes::Bytes;
use futures::channel::oneshot;
use model::Chunk;
use rusqlite::Connection;
use session::{BlobId, Draft, Error, Item, ItemId, New, Record, SessionId, WaitingId};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long what nobody waits for may wait for company. A commit takes its part of the 100 ms that are promised for drafts.
const BEHIND: Duration = Duration::from_millis(90);

/// How long the writer waits before it tries again to keep what a full disk did not take.
const AGAIN: Duration = Duration::from_secs(1);

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Write {
    Create(New),
    Append {
        session: SessionId,
        item: Arc<Item>,
        /// The waiting prompt that it was.
        heard: Option<WaitingId>,
    },
    Wait {
        session: SessionId,
        waiting: session::Waiting,
    },
    ForgetWaiting {
        session: SessionId,
        waiting: WaitingId,
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
        record: Box<Record>,
    },
    /// What has arrived of a reply, when something else must come after it.
    Piece(Piece),
    Mend(SessionId),
    Delete(SessionId),
    /// Forgets the versions of files that only this session names.
    Forget(SessionId),
    /// Forgets versions of files that nothing names.
    Unnamed,
    /// Nothing by itself: its receipt stands for all that came before.
    Flush,
}

/// Something to be read, with the connection or the reason why there is none.
pub(crate) type Job = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

/// A write and who waits for it.
pub(crate) struct Waiting {
    pub(crate) write: Write,
    pub(crate) receipt: Option<oneshot::Sender<Result<(), Error>>>,
}

/// Bytes to be kept under their name.
#[derive(Debug)]
pub(crate) struct Blob {
    pub(crate) id: BlobId,
    pub(crate) bytes: Bytes,
}

/// All that waited when the writer was ready, to be written in this order.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) blobs: Vec<Blob>,
    pub(crate) writes: Vec<Waiting>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) reads: Vec<Job>,
}

/// What the writer does next.
pub(crate) enum Next {
    Work(Batch),
    /// The time has come that the writer asked to be woken at.
    Rest,
    Close,
}

/// What has been handed over and waits for the writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    blobs: Vec<Blob>,
    writes: Vec<Waiting>,
    pieces: Pieces,
    reads: Vec<Job>,
    /// Whether something must not wait for company.
    is_urgent: bool,
    /// When what can wait is to be written, whatever else comes.
    due: Option<Instant>,
    is_working: bool,
    is_closed: bool,
}

impl Queue {
    /// Hands a write over and says where its outcome will arrive.
    pub(crate) fn write(&self, write: Write) -> oneshot::Receiver<Result<(), Error>> {
        let (sender, receiver) = oneshot::channel();
        self.push(write, Some(sender));
        receiver
    }

    /// Hands a write over whose outcome nobody needs.
    pub(crate) fn write_unheard(&self, write: Write) {
        self.push(write, None);
    }

    /// Hands over what has arrived of a reply.
    pub(crate) fn draft(&self, session: SessionId, draft: Draft, chunks: Vec<Chunk>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.pieces.add(session, draft, chunks);
        self.soon(&mut state);
    }

    /// Has everything that was handed over written now, because somebody waits.
    pub(crate) fn hurry(&self) {
        let mut state = self.lock();
        if !state.writes.is_empty() {
            state.is_urgent = true;
            self.changed.notify_one();
        }
    }

    /// Hands bytes over. They are written with the next write that comes.
    pub(crate) fn blob(&self, blob: Blob) {
        self.lock().blobs.push(blob);
    }

    /// Has something read after all that was handed over before it.
    pub(crate) fn read(&self, job: Job) {
        let mut state = self.lock();
        // A job that is dropped tells whoever waits for it.
        if !state.is_closed {
            state.reads.push(job);
            self.changed.notify_one();
        }
    }

    /// Whether everything handed over has been dealt with.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.lock();
        !state.is_working && state.is_empty()
    }

    /// Puts back pieces that could not be written, except those that are no longer wanted.
    pub(crate) fn put_back(&self, pieces: Vec<Piece>) {
        let mut state = self.lock();
        for piece in pieces {
            let is_settled = state.writes.iter().any(|waiting| waiting.write.settles(piece.draft.id));
            if !is_settled {
                state.pieces.put_back(piece);
            }
        }
        if !state.pieces.is_empty() {
            state.due = Some(Instant::now() + AGAIN);
        }
    }

    /// Waits for work, until it is time to rest at the latest.
    pub(crate) fn next(&self, rest: Option<Instant>) -> Next {
        let mut state = self.lock();
        state.is_working = false;
        loop {
            let now = Instant::now();
            if state.is_ready(now) {
                state.is_working = true;
                return Next::Work(state.take());
            }
            if state.is_closed {
                return Next::Close;
            }
            if rest.is_some_and(|rest| rest <= now) {
                return Next::Rest;
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

    /// Takes nothing more, and has the writer end once all that was handed over is written.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Takes nothing more and forgets what waits, because nobody will write it: whoever waits for it is told.
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
        state.make_way(&write);
        let can_wait = write.can_wait();
        state.writes.push(Waiting { write, receipt });
        match can_wait {
            true => self.soon(&mut state),
            false => {
                state.is_urgent = true;
                self.changed.notify_one();
            }
        }
    }

    fn soon(&self, state: &mut State) {
        if state.due.is_none() {
            state.due = Some(Instant::now() + BEHIND);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drafts are written after everything else. What must come after a draft, or instead of it, sees to that here.
    fn make_way(&mut self, write: &Write) {
        match write {
            Write::Append { item, .. } => drop(self.pieces.take_reply(item.id)),
            Write::Discard { reply, .. } => drop(self.pieces.take_reply(*reply)),
            Write::Delete(session) => drop(self.pieces.take_session(*session)),
            Write::Mend(session) => {
                let before = self.pieces.take_session(*session).into_iter().map(|piece| Waiting {
                    write: Write::Piece(piece),
                    receipt: None,
                });
                self.writes.extend(before);
            }
            Write::Create(_)
            | Write::Wait { .. }
            | Write::ForgetWaiting { .. }
            | Write::Roots { .. }
            | Write::Rewind { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Piece(_)
            | Write::Forget(_)
            | Write::Unnamed
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

    fn take(&mut self) -> Batch {
        self.due = None;
        self.is_urgent = false;
        Batch {
            blobs: std::mem::take(&mut self.blobs),
            writes: std::mem::take(&mut self.writes),
            pieces: self.pieces.take(),
            reads: std::mem::take(&mut self.reads),
        }
    }
}

impl Write {
    /// Whether it may wait a little, for the write that usually follows it to share a transaction.
    fn can_wait(&self) -> bool {
        match self {
            Write::Discard { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Wait { .. }
            | Write::ForgetWaiting { .. }
            | Write::Roots { .. } => true,
            Write::Create(_)
            | Write::Append { .. }
            | Write::Rewind { .. }
            | Write::Piece(_)
            | Write::Mend(_)
            | Write::Delete(_)
            | Write::Forget(_)
            | Write::Unnamed
            | Write::Flush => false,
        }
    }

    /// Whether it makes the draft of this reply unnecessary.
    fn settles(&self, id: ItemId) -> bool {
        match self {
            Write::Append { item, .. } => item.id == id,
            Write::Discard { reply, .. } => *reply == id,
            Write::Create(_)
            | Write::Wait { .. }
            | Write::ForgetWaiting { .. }
            | Write::Roots { .. }
            | Write::Rewind { .. }
            | Write::Title { .. }
            | Write::Record { .. }
            | Write::Piece(_)
            | Write::Mend(_)
            | Write::Delete(_)
            | Write::Forget(_)
            | Write::Unnamed
            | Write::Flush => false,
        }
    }
}
