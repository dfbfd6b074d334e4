//! The arguments of `hew canary`.

use crate::config::HumanDuration;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CanaryCommand {
    /// Record the task of a session: its first prompt, the project before it, and a check
    Add(CanaryAddArgs),
    /// List the recorded tasks
    List,
    /// Remove recorded tasks
    Remove {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Run the recorded tasks and compare them with the baseline; the first run of a model is its baseline
    Run(CanaryRunArgs),
    /// Compare the newest run with the baseline again
    Report {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CanaryAddArgs {
    /// Session id or prefix; by default the newest session of this project
    pub(crate) session: Option<String>,
    /// The shell command that succeeds if the task is solved
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: String,
    /// The name of the task; by default that of the project and a number
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CanaryRunArgs {
    /// Run each task at most this often; fewer if a change of the success rate is established earlier
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Attempts at the same time
    #[arg(long, short, value_name = "COUNT", default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Replace the baseline by this run
    #[arg(long)]
    pub(crate) baseline: bool,
    /// Repeat at this interval, such as 1d or 6h, until interrupted
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<HumanDuration>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
