//! The writer thread: commits all pending writes in one transaction, then resolves their receipts.

use crate::apply;
use crate::draft::DraftPiece;
use crate::error::{StoreError, sqlite_error};
use crate::queue::{PendingBlob, PendingWrite, Write, WriteBatch, WriteQueue, WriterStep};
use crate::row;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use session::{BlobId, Error, Item, ItemId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The log is checkpointed after this long without a write.
const IDLE_BEFORE_SYNC: Duration = Duration::from_secs(1);

/// The log is checkpointed at most this long after a write.
const MAX_BEFORE_SYNC: Duration = Duration::from_secs(5);

/// Limit for unwritten blobs while the disk is full. Beyond it, the oldest are dropped.
const MAX_UNSAVED_BYTES: usize = 64 * 1024 * 1024;

/// Limit for remembered failed items; their descendants fail with the same error.
const MAX_FAILED_ITEMS: usize = 1000;

/// The writer thread.
pub(crate) struct DbWriter {
    connection: Connection,
    queue: Arc<WriteQueue>,
    path: PathBuf,
    /// Blobs not yet written.
    blobs: Vec<PendingBlob>,
    /// The error of the most recent failed write.
    last_error: Option<Error>,
    /// Items that could not be written, with their errors.
    failed_items: HashMap<ItemId, Error>,
    /// The first and the newest commit since the last checkpoint.
    unsynced: Option<(Instant, Instant)>,
}

impl DbWriter {
    pub(crate) fn new(connection: Connection, queue: Arc<WriteQueue>, path: PathBuf) -> Self {
        DbWriter {
            connection,
            queue,
            path,
            blobs: Vec::new(),
            last_error: None,
            failed_items: HashMap::new(),
            unsynced: None,
        }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        loop {
            let rest = self
                .unsynced
                .map(|(first, newest)| (newest + IDLE_BEFORE_SYNC).min(first + MAX_BEFORE_SYNC));
            match self.queue.next(rest) {
                WriterStep::Work(batch) => self.work(batch),
                WriterStep::Sync => self.sync(),
                WriterStep::Close => break,
            }
        }
    }

    fn work(&mut self, batch: WriteBatch) {
        let WriteBatch {
            blobs,
            writes,
            pieces,
            reads,
        } = batch;
        self.blobs.extend(blobs);
        let is_empty = self.blobs.is_empty()
            && pieces.is_empty()
            && writes.iter().all(|waiting| matches!(waiting.write, Write::Flush));
        let outcomes = match is_empty {
            true => writes.iter().map(|_| Ok(())).collect(),
            false => self.write(&writes, pieces),
        };
        for (waiting, outcome) in writes.into_iter().zip(outcomes) {
            if let Some(receipt) = waiting.receipt {
                // The caller may have dropped the receipt.
                receipt.send(outcome).unwrap_or_default();
            }
        }
        for read in reads {
            read(Ok(&self.connection));
        }
    }

    /// Writes everything in one transaction, or separately if that fails.
    fn write(&mut self, writes: &[PendingWrite], pieces: Vec<DraftPiece>) -> Vec<Result<(), Error>> {
        let error = match self.write_together(writes, &pieces) {
            Ok(outcomes) => {
                self.blobs.clear();
                return outcomes;
            }
            Err(error) => error,
        };
        self.last_error = Some(sqlite_error(&error, &self.path));
        // With a locked database, each separate write would wait again.
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                self.queue.requeue(pieces);
                let outcome = self.last_result();
                let each = writes.iter().map(|waiting| {
                    track_failure(&mut self.failed_items, &waiting.write, &outcome);
                    outcome.clone()
                });
                each.collect()
            }
            Some(_) | None => self.write_separately(writes, pieces),
        }
    }

    fn write_together(
        &mut self,
        writes: &[PendingWrite],
        pieces: &[DraftPiece],
    ) -> Result<Vec<Result<(), Error>>, rusqlite::Error> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for blob in &self.blobs {
            apply::insert_blob(&transaction, blob)?;
        }
        let mut outcomes = Vec::with_capacity(writes.len());
        for waiting in writes {
            let outcome = match parent_error(&waiting.write, &self.failed_items) {
                Some(error) => Err(error),
                None => match apply::apply(&transaction, &waiting.write, &self.path) {
                    Ok(()) => Ok(()),
                    Err(StoreError::Rejected(error)) => Err(error),
                    Err(StoreError::Sqlite(error)) => return Err(error),
                },
            };
            track_failure(&mut self.failed_items, &waiting.write, &outcome);
            outcomes.push(outcome);
        }
        for piece in pieces {
            apply::insert_draft(&transaction, piece)?;
        }
        transaction.commit()?;
        self.note_commit();
        Ok(outcomes)
    }

    /// Runs each write in its own transaction, in order, so that a failure does not affect the others.
    fn write_separately(&mut self, writes: &[PendingWrite], pieces: Vec<DraftPiece>) -> Vec<Result<(), Error>> {
        let mut failed = Vec::new();
        for blob in std::mem::take(&mut self.blobs) {
            if self
                .in_own_transaction(|connection, _| Ok(apply::insert_blob(connection, &blob)?))
                .is_err()
            {
                failed.push(blob);
            }
        }
        self.blobs = keep_newest(failed);
        let mut outcomes: Vec<Result<(), Error>> =
            writes.iter().map(|waiting| self.write_one(&waiting.write)).collect();
        let mut failed = Vec::new();
        for piece in pieces {
            if self
                .in_own_transaction(|connection, _| Ok(apply::insert_draft(connection, &piece)?))
                .is_err()
            {
                failed.push(piece);
            }
        }
        if !(failed.is_empty() && self.blobs.is_empty()) {
            let left = self.last_result();
            for (waiting, outcome) in writes.iter().zip(&mut outcomes) {
                if matches!(waiting.write, Write::Flush) {
                    outcome.clone_from(&left);
                }
            }
        }
        self.queue.requeue(failed);
        outcomes
    }

    fn write_one(&mut self, write: &Write) -> Result<(), Error> {
        let refused = parent_error(write, &self.failed_items).or_else(|| self.unsaved_blob_error(write));
        let outcome = match refused {
            Some(error) => Err(error),
            None => self.in_own_transaction(|connection, path| apply::apply(connection, write, path)),
        };
        track_failure(&mut self.failed_items, write, &outcome);
        outcome
    }

    fn in_own_transaction(
        &mut self,
        apply: impl FnOnce(&Connection, &Path) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let attempt = || -> Result<(), StoreError> {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            apply(&transaction, &self.path)?;
            Ok(transaction.commit()?)
        };
        match attempt() {
            Ok(()) => {
                self.note_commit();
                Ok(())
            }
            Err(fault) => {
                let error = fault.to_session_error(&self.path);
                self.last_error = Some(error.clone());
                Err(error)
            }
        }
    }

    /// The error for an item with file versions that could not be written.
    fn unsaved_blob_error(&self, write: &Write) -> Option<Error> {
        let Write::Append { item, .. } = write else {
            return None;
        };
        let is_unsaved = |id: BlobId| self.blobs.iter().any(|blob| blob.id == id);
        blobs_of(item)
            .any(is_unsaved)
            .then(|| self.last_result().err())
            .flatten()
    }

    fn last_result(&self) -> Result<(), Error> {
        self.last_error.clone().map_or(Ok(()), Err)
    }

    fn note_commit(&mut self) {
        let now = Instant::now();
        let first = self.unsynced.map_or(now, |(first, _)| first);
        self.unsynced = Some((first, now));
    }

    /// Checkpoints the log. If that fails, the log keeps everything and the next checkpoint retries.
    fn sync(&mut self) {
        self.unsynced = None;
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .unwrap_or_default();
    }
}

impl Drop for DbWriter {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

/// The blobs that an item references.
fn blobs_of(item: &Item) -> impl Iterator<Item = BlobId> {
    let changes = row::changes_of(&item.body).into_owned();
    changes
        .into_iter()
        .flat_map(|change| change.before.into_iter().chain(change.after))
        .filter_map(|version| version.content)
}

/// The error of a parent or head that could not be written.
fn parent_error(write: &Write, failed: &HashMap<ItemId, Error>) -> Option<Error> {
    match write {
        Write::Append { item, .. } => item.parent.and_then(|parent| failed.get(&parent).cloned()),
        Write::Rewind { head, .. } => failed.get(head).cloned(),
        Write::Create(_)
        | Write::QueuePrompt { .. }
        | Write::RemoveQueued { .. }
        | Write::Roots { .. }
        | Write::Discard { .. }
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
        | Write::Flush => None,
    }
}

/// Updates the failed items after a write.
fn track_failure(failed: &mut HashMap<ItemId, Error>, write: &Write, outcome: &Result<(), Error>) {
    let Write::Append { item, .. } = write else {
        return;
    };
    match outcome {
        Ok(()) => {
            failed.remove(&item.id);
        }
        Err(error) => {
            if failed.len() >= MAX_FAILED_ITEMS {
                failed.clear();
            }
            failed.insert(item.id, error.clone());
        }
    }
}

/// The newest blobs that fit the limit.
fn keep_newest(mut blobs: Vec<PendingBlob>) -> Vec<PendingBlob> {
    let mut total = 0;
    let kept = blobs
        .iter()
        .rev()
        .take_while(|blob| {
            total += blob.bytes.len();
            total <= MAX_UNSAVED_BYTES
        })
        .count();
    blobs.split_off(blobs.len() - kept)
}

#[cfg(test)]
mod tests;
