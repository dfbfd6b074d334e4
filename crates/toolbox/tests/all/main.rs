//! Tests of each tool in a temporary project, called like a model does.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test prepares files, and a failed preparation is a failed test"
)]

mod browser;
mod code_navigation;
mod diagnostics;
mod edit_instructions;
mod edit_tools;
mod editing_files;
mod fetch_and_download;
mod file_search;
mod file_views;
mod images;
mod jobs;
mod notes_and_skills;
mod patches;
mod paths;
mod peer_aliases;
mod planning;
mod previews;
mod project;
#[cfg(target_os = "linux")]
mod races;
mod reading_files;
mod terminal;
mod tool_names;
mod tool_search;
mod web_search;
mod web_server;
