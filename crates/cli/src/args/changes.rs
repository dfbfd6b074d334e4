//! Arguments of `changes`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Changes {
    /// The session, or the beginning of its id; the newest of this project if absent
    pub(crate) session: Option<String>,
    /// Take these changes as good, by the ids beside them in the list
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub(crate) accept: Vec<String>,
    /// Take back these changes, by the ids beside them in the list
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub(crate) reject: Vec<String>,
    /// Take every change as good
    #[arg(long, conflicts_with_all = ["accept", "reject", "reject_all"])]
    pub(crate) accept_all: bool,
    /// Take back every change
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    pub(crate) reject_all: bool,
    /// Only the changes of this file or folder
    #[arg(long, short, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON (`hew schema changes` describes it)
    #[arg(long)]
    pub(crate) json: bool,
}

impl Changes {
    /// Whether something is to be decided, or only listed.
    pub(crate) fn decides(&self) -> bool {
        self.accept_all || self.reject_all || !self.accept.is_empty() || !self.reject.is_empty()
    }
}
