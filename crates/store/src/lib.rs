//! Sessions and file history in SQLite.
//!
//! [`Sqlite`] keeps everything in one file, `hew.db`, which several hew processes may use at once. One thread owns the
//! writing connection: whatever has been handed over while it was busy goes into one transaction, and then every receipt
//! is answered. Nobody else waits for the disk.
//!
//! # What survives what
//!
//! - **A killed process** (`kill -9`, a panic, a crash): everything whose receipt was answered, and of a reply that still
//!   streams all but the last 100 ms. A commit is written to the write-ahead log before its receipt is answered, and the
//!   operating system keeps what was written.
//! - **A power cut**: the database is always whole, because SQLite syncs the log before it copies from it, and the other way
//!   round. Commits are on the medium once the writer has been idle for a second, five seconds after the first of them at
//!   the latest, and when the store is closed. A sync per commit would buy those seconds at a price of several
//!   milliseconds per step on common disks, while the effects of a tool on the project's files are not synced either.
//! - **A full disk**: the receipts of what could not be written say so; what was written stays, and writing goes on when
//!   there is space again. An item is never written without the item before it or the file versions that it names.
//!
//! # How much is written
//!
//! Deltas of a streaming reply are joined in memory and written about ten times a second; a reply that finishes sooner is
//! written once. Titles and ledger entries that nobody waits for share the transaction of the item that follows them, or
//! are written after the same tenth of a second. The log is copied back when the writer pauses, so it stays a few megabytes
//! in size.

mod apply;
mod beside;
mod blob;
mod connect;
mod draft;
mod fault;
mod files;
mod lease;
mod mend;
mod prune;
mod queue;
mod read;
mod reader;
mod row;
mod schema;
mod sqlite;
mod subtasks;
mod value;
mod writer;

pub use sqlite::Sqlite;
