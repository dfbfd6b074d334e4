//! Arguments of the commands about permissions, trust and modes.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Permissions {
    /// List the rules and the answers that are remembered for this project
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a rule such as `run(git push)` to your configuration
    Add {
        /// What the rule does
        #[arg(value_enum)]
        effect: RuleEffect,
        /// The rule
        rule: String,
        /// Write to the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Take back a remembered answer, or remove a rule from your configuration
    Revoke {
        /// The rule, as `hew permissions list` prints it
        #[arg(required_unless_present = "all")]
        rule: Option<String>,
        /// Take back all answers that count in this project
        #[arg(long, conflicts_with = "rule")]
        all: bool,
    },
    /// Say what would be decided about something, such as `run git push --force`
    Test(Test),
    /// Say what would be decided about something, and what decides it
    Explain(Test),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Test {
    /// What is done: read, write, run, escalate, fetch, mcp, mode or task, and with what
    #[arg(
        required = true,
        value_name = "DEED",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) deed: Vec<String>,
    /// The tool that does it; the usual one if absent
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// In this mode instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Fail unless this is the decision
    #[arg(long, value_enum, value_name = "DECISION")]
    pub(crate) expect: Option<RuleEffect>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleEffect {
    /// It happens without a question
    Allow,
    /// You are asked
    Ask,
    /// It does not happen
    Deny,
}

impl RuleEffect {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            RuleEffect::Allow => "allow",
            RuleEffect::Ask => "ask",
            RuleEffect::Deny => "deny",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Trust {
    /// The folder; the project's if absent
    #[arg(value_hint = clap::ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    pub(crate) remove: bool,
    /// List what was said about folders
    #[arg(long, conflicts_with_all = ["path", "remove"])]
    pub(crate) list: bool,
    /// Print JSON, with --list
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Modes {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
