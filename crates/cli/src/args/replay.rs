//! Arguments of `hew replay`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// Session id or prefix, or `last`; `SESSION:NUMBER` with --stream
    pub(crate) session: Option<String>,
    /// Only requests from this item on: its id, or a part of it
    #[arg(long, value_name = "ITEM")]
    pub(crate) from: Option<String>,
    /// Replace a template of the system prompt, such as `rules=my-rules.hbs`
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) template: Vec<String>,
    /// Add a rules file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) rule: Vec<PathBuf>,
    /// Do not offer this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) without: Vec<String>,
    /// Use another model
    #[arg(long, value_name = "MODEL")]
    pub(crate) with_model: Option<String>,
    /// Play the recorded reply of a request at its original speed (see `record` in the configuration)
    #[arg(long, conflicts_with_all = ["from", "template", "rule", "without", "with_model"])]
    pub(crate) stream: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
