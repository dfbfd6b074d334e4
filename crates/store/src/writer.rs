//! The thread that writes: all that waits becomes one transaction, then every receipt is answered.

use crate::apply;
use crate::draft::Piece;
use crate::fault::{Fault, told};
use crate::queue::{Batch, Blob, Next, Queue, Waiting, Write};
use crate::row;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use session::{BlobId, Error, Item, ItemId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After this long without a write, the log is synced and copied back.
const PAUSE: Duration = Duration::from_secs(1);

/// This long after a write, the log is synced and copied back even if there was no pause.
const LATEST: Duration = Duration::from_secs(5);

/// Bytes of file versions that wait for a disk to have space again. Beyond that, the oldest are given up.
const MOST_UNSAVED: usize = 64 * 1024 * 1024;

/// Items that could not be written and are remembered, so that those after them get the same answer.
const MOST_LOST: usize = 1000;

/// The thread that writes.
pub(crate) struct Writer {
    connection: Connection,
    queue: Arc<Queue>,
    path: PathBuf,
    /// Bytes not yet written.
    blobs: Vec<Blob>,
    /// Why the newest failed write failed.
    trouble: Option<Error>,
    /// Items that could not be written.
    lost: HashMap<ItemId, Error>,
    /// The first and the newest commit since the log was last synced.
    unsynced: Option<(Instant, Instant)>,
}

impl Writer {
    pub(crate) fn new(connection: Connection, queue: Arc<Queue>, path: PathBuf) -> Self {
        Writer {
            connection,
            queue,
            path,
            blobs: Vec::new(),
            trouble: None,
            lost: HashMap::new(),
            unsynced: None,
        }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        loop {
            let rest = self
                .unsynced
                .map(|(first, newest)| (newest + PAUSE).min(first + LATEST));
            match self.queue.next(rest) {
                Next::Work(batch) => self.work(batch),
                Next::Rest => self.sync(),
                Next::Close => break,
            }
        }
    }

    fn work(&mut self, batch: Batch) {
        let Batch {
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
                // Nobody has to wait for a receipt.
                receipt.send(outcome).unwrap_or_default();
            }
        }
        for read in reads {
            read(Ok(&self.connection));
        }
    }

    /// Writes everything in one transaction, or apart where that fails.
    fn write(&mut self, writes: &[Waiting], pieces: Vec<Piece>) -> Vec<Result<(), Error>> {
        let error = match self.together(writes, &pieces) {
            Ok(outcomes) => {
                self.blobs.clear();
                return outcomes;
            }
            Err(error) => error,
        };
        self.trouble = Some(told(&error, &self.path));
        // A database that somebody else keeps locked would make each of them wait again.
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                self.queue.put_back(pieces);
                let outcome = self.left();
                let each = writes.iter().map(|waiting| {
                    note(&mut self.lost, &waiting.write, &outcome);
                    outcome.clone()
                });
                each.collect()
            }
            Some(_) | None => self.apart(writes, pieces),
        }
    }

    fn together(&mut self, writes: &[Waiting], pieces: &[Piece]) -> Result<Vec<Result<(), Error>>, rusqlite::Error> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for blob in &self.blobs {
            apply::blob(&transaction, blob)?;
        }
        let mut outcomes = Vec::with_capacity(writes.len());
        for waiting in writes {
            let outcome = match refused(&waiting.write, &self.lost) {
                Some(error) => Err(error),
                None => match apply::write(&transaction, &waiting.write, &self.path) {
                    Ok(()) => Ok(()),
                    Err(Fault::Refused(error)) => Err(error),
                    Err(Fault::Sqlite(error)) => return Err(error),
                },
            };
            note(&mut self.lost, &waiting.write, &outcome);
            outcomes.push(outcome);
        }
        for piece in pieces {
            apply::piece(&transaction, piece)?;
        }
        transaction.commit()?;
        self.committed();
        Ok(outcomes)
    }

    /// Gives each write a transaction of its own, in order, so that one that fails takes no other with it.
    fn apart(&mut self, writes: &[Waiting], pieces: Vec<Piece>) -> Vec<Result<(), Error>> {
        let mut failed = Vec::new();
        for blob in std::mem::take(&mut self.blobs) {
            if self.alone(|connection, _| Ok(apply::blob(connection, &blob)?)).is_err() {
                failed.push(blob);
            }
        }
        self.blobs = bounded(failed);
        let mut outcomes: Vec<Result<(), Error>> = writes.iter().map(|waiting| self.one(&waiting.write)).collect();
        let mut failed = Vec::new();
        for piece in pieces {
            if self
                .alone(|connection, _| Ok(apply::piece(connection, &piece)?))
                .is_err()
            {
                failed.push(piece);
            }
        }
        if !(failed.is_empty() && self.blobs.is_empty()) {
            let left = self.left();
            for (waiting, outcome) in writes.iter().zip(&mut outcomes) {
                if matches!(waiting.write, Write::Flush) {
                    outcome.clone_from(&left);
                }
            }
        }
        self.queue.put_back(failed);
        outcomes
    }

    fn one(&mut self, write: &Write) -> Result<(), Error> {
        let refused = refused(write, &self.lost).or_else(|| self.missing(write));
        let outcome = match refused {
            Some(error) => Err(error),
            None => self.alone(|connection, path| apply::write(connection, write, path)),
        };
        note(&mut self.lost, write, &outcome);
        outcome
    }

    fn alone(&mut self, apply: impl FnOnce(&Connection, &Path) -> Result<(), Fault>) -> Result<(), Error> {
        let attempt = || -> Result<(), Fault> {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            apply(&transaction, &self.path)?;
            Ok(transaction.commit()?)
        };
        match attempt() {
            Ok(()) => {
                self.committed();
                Ok(())
            }
            Err(fault) => {
                let error = fault.told(&self.path);
                self.trouble = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Why an item cannot be written whose file versions could not be.
    fn missing(&self, write: &Write) -> Option<Error> {
        let Write::Append { item, .. } = write else {
            return None;
        };
        let is_unsaved = |id: BlobId| self.blobs.iter().any(|blob| blob.id == id);
        blobs_of(item).any(is_unsaved).then(|| self.left().err()).flatten()
    }

    fn left(&self) -> Result<(), Error> {
        self.trouble.clone().map_or(Ok(()), Err)
    }

    fn committed(&mut self) {
        let now = Instant::now();
        let first = self.unsynced.map_or(now, |(first, _)| first);
        self.unsynced = Some((first, now));
    }

    /// Syncs the log and copies back what nobody reads any more. Where that fails, the log keeps everything, and the next
    /// pause tries again.
    fn sync(&mut self) {
        self.unsynced = None;
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .unwrap_or_default();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

/// The file versions that an item names.
fn blobs_of(item: &Item) -> impl Iterator<Item = BlobId> {
    let changes = row::changes_of(&item.body).into_owned();
    changes
        .into_iter()
        .flat_map(|change| change.before.into_iter().chain(change.after))
        .filter_map(|version| version.content)
}

/// Why an item cannot be written whose parent could not be.
fn refused(write: &Write, lost: &HashMap<ItemId, Error>) -> Option<Error> {
    match write {
        Write::Append { item, .. } => item.parent.and_then(|parent| lost.get(&parent).cloned()),
        Write::Rewind { head, .. } => lost.get(head).cloned(),
        Write::Create(_)
        | Write::Wait { .. }
        | Write::ForgetWaiting { .. }
        | Write::Roots { .. }
        | Write::Discard { .. }
        | Write::Title { .. }
        | Write::Record { .. }
        | Write::Piece(_)
        | Write::Mend(_)
        | Write::Delete(_)
        | Write::Forget(_)
        | Write::Unnamed
        | Write::Flush => None,
    }
}

/// Remembers an item that could not be written.
fn note(lost: &mut HashMap<ItemId, Error>, write: &Write, outcome: &Result<(), Error>) {
    let Write::Append { item, .. } = write else {
        return;
    };
    match outcome {
        Ok(()) => {
            lost.remove(&item.id);
        }
        Err(error) => {
            if lost.len() >= MOST_LOST {
                lost.clear();
            }
            lost.insert(item.id, error.clone());
        }
    }
}

/// As many of the newest as fit.
fn bounded(mut blobs: Vec<Blob>) -> Vec<Blob> {
    let mut total = 0;
    let kept = blobs
        .iter()
        .rev()
        .take_while(|blob| {
            total += blob.bytes.len();
            total <= MOST_UNSAVED
        })
        .count();
    blobs.split_off(blobs.len() - kept)
}

#[cfg(test)]
mod tests;
