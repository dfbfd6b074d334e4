//! Sessions and file history in SQLite.
//!
//! [`SqliteStore`] stores everything in one file, `hew.db`, which several hew processes may use at the same time. One
//! thread owns the writing connection: all writes enqueued while it was busy are committed in one transaction, then
//! their receipts resolve. No other thread waits for the disk.
//!
//! # Durability
//!
//! - **A killed process** (`kill -9`, a panic, a crash) loses nothing that has a resolved receipt, and at most the
//!   last 100 ms of a streaming reply. A commit is written to the write-ahead log before its receipt resolves, and the
//!   operating system keeps what was written.
//! - **A power cut** never corrupts the database, because SQLite syncs the log before it checkpoints it. Commits are
//!   on the medium once the writer has been idle for a second, at most five seconds after the first of them, and when
//!   the store is closed. A sync per commit would cost several milliseconds per step on common disks, while the
//!   effects of tools on the project's files are not synced either.
//! - **A full disk** makes the receipts of failed writes return an error; everything written before stays, and writing
//!   continues when there is space again. An item is never written without its parent and its file versions.
//!
//! # Write volume
//!
//! Deltas of a streaming reply are joined in memory and written about ten times a second; a reply that finishes sooner
//! is written once. Titles and ledger entries share the transaction of the item that follows them, or are written
//! after the same tenth of a second. The log is checkpointed when the writer is idle, so it stays at a few megabytes.

mod apply;
mod blob;
mod blob_files;
mod bundle;
mod connect;
mod draft;
mod draft_repair;
mod error;
mod lease;
mod measurements;
mod prune;
mod queue;
mod queued_prompts;
mod read;
mod reader;
mod row;
mod schema;
mod segment_log;
mod sql_value;
mod sqlite;
mod subtasks;
mod writer;

pub use bundle::{TextMask, import, set_request_facts};
pub use measurements::{Measurements, TrackedEdit};
pub use segment_log::{LoadedLog, LogSegment, LogVersion, LogWriter, SegmentLog};
pub use sqlite::SqliteStore;
