//! Arguments of `hew stats`.

use clap::{Args, ValueEnum};
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

/// The grouping of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsGrouping {
    /// Models
    Model,
    /// Days
    Day,
    /// Modes
    Mode,
    /// Projects
    Project,
    /// Sessions
    Session,
    /// Purposes of requests: turns, titles, summaries
    Purpose,
    /// Tools
    Tool,
    /// Edits, by format and by how the old text was found
    Edit,
    /// Turns, by how they ended
    Ending,
}

impl StatsGrouping {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StatsGrouping::Model => "model",
            StatsGrouping::Day => "day",
            StatsGrouping::Mode => "mode",
            StatsGrouping::Project => "project",
            StatsGrouping::Session => "session",
            StatsGrouping::Purpose => "purpose",
            StatsGrouping::Tool => "tool",
            StatsGrouping::Edit => "edit",
            StatsGrouping::Ending => "ending",
        }
    }
}
