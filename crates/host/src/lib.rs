//! Opens sessions: the configuration and a request become a running session.

pub mod accounts;
pub mod acp_agents;
pub mod atomic;
pub mod attachments;
pub mod bundle;
pub mod code_search;
pub mod config;
pub mod confinement;
mod denied_paths;
mod edit_formats;
pub mod environment;
pub mod failure;
mod git_config;
mod git_control;
mod git_remotes;
pub mod grants;
pub mod hooks;
mod images;
pub mod keys;
pub mod language_servers;
pub mod log;
pub mod long_results;
pub mod mcp_cache;
pub mod mcp_servers;
pub mod models;
pub mod nearest;
mod open_session;
mod panels;
mod path_scan;
pub mod paths;
pub mod permissions;
pub mod program;
pub mod project;
pub mod project_context;
pub mod project_programs;
pub mod redaction;
pub mod replay;
mod roots;
pub mod saved_prompts;
mod session_flags;
pub mod sessions;
pub mod survival;
pub mod system_prompt;
mod telemetry;
pub mod text;
pub mod tools;
pub mod trust;
pub mod trust_question;
pub mod validate;
mod web;

pub use session_flags::SessionFlags;

pub use open_session::{
    ClientServices, ModelOrigin, RunningSession, SessionProject, SessionRef, SessionRequest, SessionResources,
    checkpoint_limits, is_complete, open,
};
