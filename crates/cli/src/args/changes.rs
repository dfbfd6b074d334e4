//! Arguments of `changes`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChangesArgs {
    /// Session id or prefix; by default the newest session of this project
    pub(crate) session: Option<String>,
    /// Accept these changes, by the ids in the list
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub(crate) accept: Vec<String>,
    /// Reject and revert these changes, by the ids in the list
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub(crate) reject: Vec<String>,
    /// Accept all changes
    #[arg(long, conflicts_with_all = ["accept", "reject", "reject_all"])]
    pub(crate) accept_all: bool,
    /// Reject and revert all changes
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    pub(crate) reject_all: bool,
    /// Only the changes of this file or folder
    #[arg(long, short, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON (`hew schema changes` describes it)
    #[arg(long)]
    pub(crate) json: bool,
}
