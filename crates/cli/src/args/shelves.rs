//! Arguments of the commands about what is kept by name: `commands` and `prompts`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct Commands {
    #[command(subcommand)]
    pub(crate) command: Option<CommandsCommand>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CommandsCommand {
    /// List them
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print what the model would be told, without sending anything
    Show {
        /// The command, with or without its slash
        name: String,
        /// Its arguments
        arguments: Vec<String>,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PromptsList {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Prompts {
    /// List the prompts that are kept
    List(PromptsList),
    /// Print a prompt
    Show {
        /// Its name
        name: String,
    },
    /// Keep a prompt: its text comes from the arguments, from stdin, or from your editor
    Add {
        /// Its name; `a:b` puts it into the folder `a`
        name: String,
        /// Its text
        text: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Tell it to the model in every session
        #[arg(long)]
        default: bool,
        /// Keep it in the project, in .hew/prompts
        #[arg(long)]
        project: bool,
    },
    /// Change the text of a prompt, in your editor unless a text is given
    Edit {
        /// Its name
        name: String,
        /// The new text
        text: Vec<String>,
    },
    /// Remove a prompt
    #[command(visible_alias = "rm")]
    Remove {
        /// Its name
        name: String,
    },
    /// Tell a prompt to the model in every session from now on, or no longer
    Default {
        /// Its name
        name: String,
        /// No longer
        #[arg(long)]
        off: bool,
    },
}
