//! Project context: locates and reads rules, instructions, saved prompts, slash commands and modes.
//!
//! Trust and the user's folders are parameters; nothing here reads the configuration or the environment.

mod commands;
mod error;
mod instructions;
mod modes;
mod origin;
mod project;
mod prompts;
mod rules;
mod seen_files;
mod trust;

pub use commands::CommandCatalog;
pub use error::Error;
pub use modes::{ModeCatalog, load_modes};
pub use origin::{FileOrigin, ReadRefusal, repository_root};
pub use project::{ContextSettings, DiskContext, RunningJobs};
pub use prompts::{PROJECT_PROMPTS, SavedPrompt, USER_PROMPTS, saved_prompts};
pub use rules::{RuleSources, RulesFileSelection};
pub use seen_files::{known_versions, seen_files};
pub use trust::ProjectTrust;
