//! Whole turns in memory: a scripted model, the real loop, small tools, a store in memory.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounting;
mod approval;
mod autonomy;
mod compaction;
mod fixture;
mod hooks;
mod interruption;
mod memory_store;
mod modes;
mod panels;
mod project_context;
mod prompt_submission;
mod subtasks;
mod tool_calls;
mod turn_ends;
