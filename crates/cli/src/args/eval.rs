//! The arguments of `hew eval`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct EvalArgs {
    /// A folder of tasks, or a JSON file of SWE-bench instances
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub(crate) suite: PathBuf,
    /// Only tasks with this text in their name, or that match this pattern with `*`
    #[arg(long = "task", short, value_name = "PATTERN", value_delimiter = ',')]
    pub(crate) tasks: Vec<String>,
    /// Evaluate these models
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) models: Vec<String>,
    /// Evaluate every model with these arguments of `hew run`, such as `high=--effort=high`
    #[arg(long = "variant", value_name = "NAME=ARGS", allow_hyphen_values = true)]
    pub(crate) variants: Vec<String>,
    /// Evaluate another agent: a shell command, with `{prompt}` or `{prompt_file}` in it or the prompt appended
    #[arg(long = "agent", value_name = "[NAME=]COMMAND")]
    pub(crate) agents: Vec<String>,
    /// Attempts of each task
    #[arg(long = "repeat", short = 'n', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repetitions: u32,
    /// Attempts at the same time; by default one per processor, at most 8
    #[arg(long, short, value_name = "COUNT")]
    pub(crate) jobs: Option<usize>,
    /// The folder for results; existing results in it are continued
    #[arg(long, short, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Start again instead of continuing; the previous results are kept under another name
    #[arg(long)]
    pub(crate) new: bool,
    /// Repeat attempts that ended with an error of the agent
    #[arg(long)]
    pub(crate) retry_errors: bool,
    /// Compare two configurations; by default the first one with each other one
    #[arg(long, value_name = "NAME", num_args = 2)]
    pub(crate) compare: Vec<String>,
    /// Include the results of another folder in the report, to compare with them
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) against: Vec<PathBuf>,
    /// Write the HTML report to this file instead of `report.html` in the folder of results
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// A folder with checkouts of the repositories of SWE-bench instances
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) checkouts: Option<PathBuf>,
    /// A folder outside of the project that other agents may change
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) writable: Vec<PathBuf>,
    /// Keep the working copies
    #[arg(long)]
    pub(crate) keep: bool,
    /// Only list the tasks
    #[arg(long)]
    pub(crate) list: bool,
    /// Only check that each task fails before and passes with its reference solution
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
