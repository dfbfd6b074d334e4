//! The arguments of `hew prompt explain`, `hew prompt diff` and `hew cost`.

use analysis::CostGrouping;
use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptExplainArgs {
    /// A session or request: `SESSION:7`, `last:7`, `:7`; by default all requests of the newest session
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) request: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptDiffArgs {
    /// A request: `SESSION:7`, `last:7` or `:7`; by default the newest. Alone, it is compared with the previous one
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) request: Option<String>,
    /// The request to compare with
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) to: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CostArgs {
    /// Session id or prefix, or `last`; by default all sessions of this project
    pub(crate) session: Option<String>,
    /// Group by this
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) by: CostGrouping,
    /// Only requests since then: a day as 2026-11-01, or 12h, 7d, 4w ago
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Include the sessions of all projects
    #[arg(long, short, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
