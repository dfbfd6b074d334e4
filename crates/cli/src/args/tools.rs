//! The arguments of `hew tools`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct Tools {
    /// As they are for this model, instead of the configured one
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Print all that a model is told about a tool, and its other names
    Show {
        /// The tool, by any of its names
        name: String,
    },
    /// Run a tool by hand, under the rules that hold for the model
    Run {
        /// The tool, by any of its names
        name: String,
        /// Its input as JSON; `-` reads it from stdin
        #[arg(long, short, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}
