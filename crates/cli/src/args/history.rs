//! Arguments of the commands that go back: `undo`, `redo`, `diff` and `rewind`.

use clap::Args;
use std::path::PathBuf;

/// How to handle files that were changed since, and output options.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RestoreArgs {
    /// Overwrite files that were changed since; `hew redo` restores them
    #[arg(long, short, conflicts_with = "keep")]
    pub(crate) force: bool,
    /// Skip files that were changed since
    #[arg(long, short)]
    pub(crate) keep: bool,
    /// Show what would happen without doing it
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UndoArgs {
    /// The number of turns to undo
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// Session id or prefix; by default the newest session of this project
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) going: RestoreArgs,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RedoArgs {
    /// The number of undone turns to redo
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// Session id or prefix; by default the newest session of this project
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) going: RestoreArgs,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DiffArgs {
    /// Session id or prefix (by default the newest of this project), then files or folders
    #[arg(value_name = "SESSION|PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) what: Vec<PathBuf>,
    /// Only changes after this item: its number in `hew rewind SESSION`, or a part of its id
    #[arg(long, value_name = "ITEM")]
    pub(crate) since: Option<String>,
    /// Only file names with added and removed lines
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RewindArgs {
    /// `SESSION/ITEM`, with a prompt's number or a part of an item's id; `SESSION` alone lists the prompts
    #[arg(value_name = "SESSION[/ITEM]")]
    pub(crate) to: Option<String>,
    /// Restore the files too; this is the default
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) files: bool,
    /// Keep the files unchanged
    #[arg(long)]
    pub(crate) no_files: bool,
    #[command(flatten)]
    pub(crate) going: RestoreArgs,
}
