//! Arguments of `hew commands` and `hew prompts`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct CommandsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CommandsSubcommand>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CommandsSubcommand {
    /// List slash commands
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print the expanded prompt without sending it
    Show {
        /// The command, with or without its slash
        name: String,
        /// Its arguments
        arguments: Vec<String>,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PromptsListArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum PromptsCommand {
    /// List saved prompts
    List(PromptsListArgs),
    /// Print a prompt
    Show {
        /// Its name
        name: String,
    },
    /// Save a prompt from the arguments, stdin or your editor
    Add {
        /// Its name; `a:b` puts it into the folder `a`
        name: String,
        /// Its text
        text: Vec<String>,
        /// A description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Send it in every session
        #[arg(long)]
        default: bool,
        /// Save it in the project, in .hew/prompts
        #[arg(long)]
        project: bool,
    },
    /// Edit a prompt, in your editor unless a text is given
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
    /// Send a prompt in every session, or stop doing so
    Default {
        /// Its name
        name: String,
        /// Stop sending it
        #[arg(long)]
        off: bool,
    },
}
