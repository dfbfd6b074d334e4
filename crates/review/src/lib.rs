//! Reviewing and restoring the file changes of a session: pending changes, undo, redo, rewind and diff.
//!
//! Results are typed values; front ends render them.

pub mod changes;
mod contents;
pub mod diff;
mod error;
mod history;
mod recovery;
mod restore;
mod rewind;
mod scope;
mod undo;

pub use contents::VersionContents;
pub use error::Error;
pub use history::{FILES_KEPT, SessionAccess, SessionHistory, prompts};
pub use recovery::record_interrupted_command;
pub use restore::{ConflictPolicy, ConflictReason, RestoreConflict, RestorePlan, step_verb};
pub use rewind::{RewindFiles, RewindPlan};
pub use scope::PathScope;
pub use undo::UndoOperation;
