//! The arguments of `hew prompt explain`, `hew prompt diff` and `hew cost`.

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptExplain {
    /// The session, and which of its requests: `SESSION:7`, `last:7`, `:7`; all of the newest session's if absent
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) request: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PromptDiff {
    /// A request, as `SESSION:7`, `last:7` or `:7`; the newest if absent. By itself it is compared with the one before it
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) request: Option<String>,
    /// Another one: what it has that the first has not, and the other way round
    #[arg(value_name = "SESSION[:REQUEST]")]
    pub(crate) to: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Cost {
    /// One session, by its id or the beginning of it, or `last`; all of this project if absent
    pub(crate) session: Option<String>,
    /// Add up by this
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) by: By,
    /// Only requests since then: a day as 2026-11-01, or 12h, 7d, 4w ago
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// The sessions of all projects
    #[arg(long, short, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What costs are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Parts of the prompt, and the replies
    Section,
    /// Tools: their descriptions, calls and results in the prompt
    Tool,
    /// Models
    Model,
    /// Days
    Day,
    /// Sessions
    Session,
}
