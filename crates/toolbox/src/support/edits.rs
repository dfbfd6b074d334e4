//! Applying edits to files.

pub(crate) mod apply_text;
pub(crate) mod edit_agent;
pub(crate) mod edit_tools;
pub(crate) mod format_stats;
pub(crate) mod patch;
pub(crate) mod report;
pub(crate) mod rewrite;
pub(crate) mod transaction;
pub(crate) mod write;
