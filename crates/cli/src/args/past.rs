//! Arguments of the commands that go back: `undo`, `redo`, `diff` and `rewind`.

use clap::Args;
use std::path::PathBuf;

/// What happens to files that others have changed since, and how much is told.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Going {
    /// Overwrite what others have changed since; `hew redo` brings it back
    #[arg(long, short, conflicts_with = "keep")]
    pub(crate) force: bool,
    /// Leave alone what others have changed since, and go on with the rest
    #[arg(long, short)]
    pub(crate) keep: bool,
    /// Say what would happen, and do nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Undo {
    /// How many turns to take back
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// The session, or the beginning of its id; the newest of this project if absent
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) going: Going,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Redo {
    /// How often
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// The session, or the beginning of its id; the newest of this project if absent
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) going: Going,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Diff {
    /// A session (or the beginning of its id; the newest of this project if absent), then files or folders to keep to
    #[arg(value_name = "SESSION|PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) what: Vec<PathBuf>,
    /// Only what changed after this item: its number in `hew rewind SESSION`, or a part of its id
    #[arg(long, value_name = "ITEM")]
    pub(crate) since: Option<String>,
    /// Only the names of files, with how many lines came and went
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Rewind {
    /// Where to: `SESSION/ITEM`, with the number of a prompt or a part of an item's id; `SESSION` alone lists the prompts
    #[arg(value_name = "SESSION[/ITEM]")]
    pub(crate) to: Option<String>,
    /// Put the files back as well; this is the default
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) files: bool,
    /// Leave the files as they are
    #[arg(long)]
    pub(crate) no_files: bool,
    #[command(flatten)]
    pub(crate) going: Going,
}
