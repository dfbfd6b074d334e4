//! Arguments of `hew acp` and `hew agents`.

use crate::args::TurnArgs;
use crate::config::PermissionLevel;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AcpArgs {
    /// The model of new sessions, as provider/id
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The mode of new sessions
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// The permission level: actions that need no approval
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) permission: Option<PermissionLevel>,
}

impl AcpArgs {
    /// The options of the turns of new sessions.
    pub(crate) fn turn(self) -> TurnArgs {
        TurnArgs {
            model: self.model,
            mode: self.mode,
            permission: self.permission,
            ..TurnArgs::default()
        }
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the configured agents
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Start an agent and show its capabilities
    Test {
        /// The agent; all if absent
        name: Option<String>,
        /// Also send this prompt in a new session
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
