//! Arguments of the commands about the Agent Client Protocol.

use crate::args::Turn;
use crate::config::{Layer, Permission};
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Acp {
    /// The model of new sessions, as provider/id
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The mode of new sessions
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// What may happen without a question
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) permission: Option<Permission>,
}

impl Acp {
    /// The flags that set configuration keys.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let turn = Turn {
            model: self.model.clone(),
            mode: self.mode.clone(),
            permission: self.permission,
            ..Turn::default()
        };
        turn.layers()
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Agents {
    /// List the agents that are configured
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Start an agent, and show what it says of itself
    Test {
        /// The agent; all if absent
        name: Option<String>,
        /// Also have it answer this prompt, in a session of its own
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
