//! Arguments of `hew replay`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// Session id or prefix, `last`, or a file of `hew sessions export --bundle`; `SESSION:NUMBER` with --stream
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
    /// Build the requests from the log, without a model (the default)
    #[arg(long, conflicts_with = "live")]
    pub(crate) offline: bool,
    /// Let the model answer again from --from on (by default from the first prompt), in a copy of the project
    #[arg(long, conflicts_with_all = ["stream", "run_tools"])]
    pub(crate) live: bool,
    /// Run the tool calls again in a copy of the project as it was before the session, and compare their results
    #[arg(long, conflicts_with = "stream")]
    pub(crate) run_tools: bool,
    /// With --run-tools, approve all calls
    #[arg(long, requires = "run_tools")]
    pub(crate) yes: bool,
    /// Play the recorded reply of a request at its original speed (see `record` in the configuration)
    #[arg(long, conflicts_with_all = ["from", "template", "rule", "without", "with_model"])]
    pub(crate) stream: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
