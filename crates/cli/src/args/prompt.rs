//! The arguments of `hew prompt`.

use super::{PromptDiff, PromptExplain};
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Prompt {
    /// Print what the model is told: the system prompt and the tools, or a request of a session as it was
    Show(PromptShow),
    /// Say what requests were made of, what came from the cache, and what broke it
    Explain(PromptExplain),
    /// Compare two requests of sessions
    Diff(PromptDiff),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptShow {
    /// A request of a session, such as `last`, `last:7` or `SESSION:7`; what a new session would begin with if absent
    #[arg(value_name = "SESSION[:REQUEST]", conflicts_with_all = ["mode", "model"])]
    pub(crate) request: Option<String>,
    /// For this mode, instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// For this model, instead of the configured one
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON; of a request, the very body that was sent
    #[arg(long)]
    pub(crate) json: bool,
}
