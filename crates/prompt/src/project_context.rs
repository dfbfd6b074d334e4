//! The source of project context for prompts: rules, facts, saved prompts and slash commands.

use crate::notes::{DeliveredNotes, Fact};
use crate::slash_command::SlashCommand;
use session::Item;
use std::path::PathBuf;
use std::sync::Arc;

/// Provides the project context of a session. All methods may read files; call them on a thread that may block.
pub trait ProjectContext: Send + Sync {
    /// Notes about rules of this mode that differ from those the model has seen.
    fn changed_rules(&self, _mode: &str, _known: &DeliveredNotes) -> Vec<String> {
        Vec::new()
    }

    /// Notes about rules for these files that the model has not seen.
    fn rules_for(&self, _files: &[PathBuf], _known: &DeliveredNotes) -> Vec<String> {
        Vec::new()
    }

    /// Facts about the current state of the project.
    fn facts(&self, _items: &[Arc<Item>], _known: &DeliveredNotes) -> Vec<Fact> {
        Vec::new()
    }

    /// Text to add after each prompt of the user.
    fn reminder(&self) -> Option<String> {
        None
    }

    /// A saved prompt or a rules file by name.
    fn saved_prompt(&self, _name: &str) -> Result<String, UnknownPrompt> {
        Err(UnknownPrompt::default())
    }

    /// Looks up a slash command by name.
    fn find_command(&self, _name: &str) -> CommandLookup {
        CommandLookup::NotACommand
    }
}

/// The result of looking up a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLookup {
    /// A command.
    Command(Box<SlashCommand>),
    /// Not a command: it is a path, or commands are not available.
    NotACommand,
    /// An unknown command.
    Unknown {
        /// Similar names.
        similar: Vec<String>,
    },
}

/// No rule or saved prompt has the requested name.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("no rule or prompt has this name{}", match .saved.as_slice() {
    [] => String::new(),
    names => format!("; saved prompts: {}", names.join(", ")),
})]
pub struct UnknownPrompt {
    /// Names of saved prompts.
    pub saved: Vec<String>,
}

/// An empty context.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContext;

impl ProjectContext for NoContext {}
