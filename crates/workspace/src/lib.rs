//! The project on disk: read, write, ignore, search.
//!
//! A [`Workspace`] turns what a model calls a file into a [`Location`], a resolved path that knows whether it lies inside
//! the project. Everything else starts from a `Location`, so no unresolved path is ever opened. All functions block;
//! asynchronous callers run them on a blocking thread and cancel searches by dropping a [`StopOnDrop`].

mod buffers;
pub mod checkpoint;
mod encoding;
mod error;
mod files;
mod find;
mod git;
mod glob;
mod grep;
mod hiding;
mod list;
mod location;
mod read;
mod remove;
mod scratch;
mod similar;
mod sketch;
mod snapshot;
mod stop;
mod tree;
mod walk;
mod workspace;
mod write;

pub use buffers::Buffers;
pub use encoding::Encoding;
pub use error::Error;
pub use files::Files;
pub use find::{Find, Found};
pub use git::{Git, Head, blob_name};
pub use grep::{Case, FileMatches, Grep, Line as GrepLine, LineKind, Matches};
pub use hiding::Cover;
pub use list::{Entry, Kind, Listing, Tracked};
pub use location::{Location, Place};
pub use read::{Excerpt, Line, MAX_FILE, Text, Window};
pub use remove::Removed;
pub use scratch::{Scratch, Sheet};
pub use snapshot::Snapshot;
pub use stop::{Ended, Stop, StopOnDrop};
pub use tree::{Bounds, Leaf, LeafContent, Made};
pub use walk::Page;
pub use workspace::Workspace;
pub use write::{Expect, Written};
