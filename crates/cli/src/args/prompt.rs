//! The arguments of `hew prompt`.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Prompt {
    /// Print what the model is told: the system prompt and the tools
    Show(PromptShow),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptShow {
    /// For this mode, instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// For this model, instead of the configured one
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
