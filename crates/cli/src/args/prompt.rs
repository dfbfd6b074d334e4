//! The arguments of `hew prompt`.

use super::{PromptDiffArgs, PromptExplainArgs};
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum PromptSubcommand {
    /// Print the system prompt and the tools, or a request of a session
    Show(PromptShowArgs),
    /// Show what requests contained, what was cached, and what caused cache misses
    Explain(PromptExplainArgs),
    /// Compare two requests
    Diff(PromptDiffArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptShowArgs {
    /// A request such as `last`, `last:7` or `SESSION:7`; by default the first request of a new session
    #[arg(value_name = "SESSION[:REQUEST]", conflicts_with_all = ["mode", "model"])]
    pub(crate) request: Option<String>,
    /// Use this mode instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Use this model instead of the configured one
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON; for a request, the exact body
    #[arg(long)]
    pub(crate) json: bool,
}
