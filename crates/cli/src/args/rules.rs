//! Arguments of `hew permissions`, `hew trust` and `hew modes`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List rules and saved answers for this project
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a rule such as `run(git push)` to your configuration
    Add {
        /// The rule's effect
        #[arg(value_enum)]
        effect: RuleEffect,
        /// The rule
        rule: String,
        /// Write to the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Revoke a saved answer, or remove a rule from your configuration
    Revoke {
        /// The rule, as `hew permissions list` prints it
        #[arg(required_unless_present = "all")]
        rule: Option<String>,
        /// Revoke all saved answers for this project
        #[arg(long, conflicts_with = "rule")]
        all: bool,
    },
    /// Show the decision for an action, such as `run git push --force`
    Test(PermissionsTestArgs),
    /// Show the decision for an action and its reason
    Explain(PermissionsTestArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PermissionsTestArgs {
    /// The action: read, write, run, escalate, fetch, mcp, mode or task, and its target
    #[arg(
        required = true,
        value_name = "ACTION",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) action: Vec<String>,
    /// The tool; by default the usual one for the action
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Use this mode instead of the configured one
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
    /// Allow without asking
    Allow,
    /// Ask
    Ask,
    /// Deny
    Deny,
}

impl RuleEffect {
    /// The name in rules.
    pub(crate) fn word(self) -> &'static str {
        match self {
            RuleEffect::Allow => "allow",
            RuleEffect::Ask => "ask",
            RuleEffect::Deny => "deny",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TrustArgs {
    /// The folder; by default the project's
    #[arg(value_hint = clap::ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
    /// Revoke trust
    #[arg(long)]
    pub(crate) remove: bool,
    /// List trusted and untrusted folders
    #[arg(long, conflicts_with_all = ["path", "remove"])]
    pub(crate) list: bool,
    /// Print JSON, with --list
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModesArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
