//! The arguments of `hew search` and `hew index`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArgs {
    /// What to find: a question, words or a symbol
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Only this file or folder of the project
    #[arg(long, short, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) path: Option<String>,
    /// Only files with this extension or language, such as `rs` or `rust`; may be repeated
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Compare words only, without the embedding
    #[arg(long)]
    pub(crate) words_only: bool,
    /// Show the values from which the order follows
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum IndexCommand {
    /// Show the size and the state of the index
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring the index up to date with the files
    Build,
    /// Delete the index; it is built again when it is needed
    Clear,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SessionsSearchArgs {
    /// What to find
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Search the sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Maximum number of sessions
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
