//! Arguments of `hew predict`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct PredictArgs {
    /// The model, as provider/id
    #[arg(long, short, value_name = "MODEL", global = true)]
    pub(crate) model: Option<String>,
    /// The prompt format, such as qwen, starcoder or chat; by default that of the model's family
    #[arg(long, value_name = "FORMAT", global = true)]
    pub(crate) format: Option<String>,
    /// Use stdin and stdout, as always; accepted because editors pass it
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
    #[command(subcommand)]
    pub(crate) command: Option<PredictCommand>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum PredictCommand {
    /// Show how many predictions were requested, shown, accepted and rejected
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure predictions on the commits of a repository
    Eval(PredictEvalArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PredictEvalArgs {
    /// The repository
    #[arg(default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) repository: PathBuf,
    /// The maximum number of edits
    #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
    pub(crate) limit: usize,
    /// Skip this many edits first
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) skip: usize,
    /// Also measure a completion at the cursor without history
    #[arg(long)]
    pub(crate) baseline: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
