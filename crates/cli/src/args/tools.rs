//! The arguments of `hew tools`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct ToolsArgs {
    /// Use this model instead of the configured one
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools; `hew tools` does the same
    List,
    /// Print a tool's complete description and its aliases
    Show {
        /// The tool's name or an alias
        name: String,
    },
    /// Run a tool under the same rules as the model
    Run {
        /// The tool's name or an alias
        name: String,
        /// Its input as JSON; `-` reads it from stdin
        #[arg(long, short, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}
