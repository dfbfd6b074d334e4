//! Arguments of `hew stats`.

use analysis::StatsGrouping;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct StatsArgs {
    /// Session id or prefix, or `last`; by default all sessions of this project
    pub(crate) session: Option<String>,
    /// Group by this
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) by: StatsGrouping,
    /// Only what happened since then: a day as 2026-11-01, or 12h, 7d, 4w ago
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Include the sessions of all projects
    #[arg(long, short, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}
