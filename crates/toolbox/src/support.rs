//! Code shared by several tools.

pub(crate) mod arguments;
pub(crate) mod browser;
pub(crate) mod checkers;
pub(crate) mod code_server;
pub(crate) mod commands;
pub(crate) mod context_source;
pub(crate) mod edits;
pub(crate) mod file_view;
pub(crate) mod jobs;
pub(crate) mod mode_names;
pub(crate) mod model_profiles;
pub(crate) mod notes;
pub(crate) mod partial_file;
pub(crate) mod peer_aliases;
pub(crate) mod preview;
pub(crate) mod project;
pub(crate) mod skills;
pub(crate) mod spill;
pub(crate) mod symbols;
pub(crate) mod text;
pub(crate) mod web;
