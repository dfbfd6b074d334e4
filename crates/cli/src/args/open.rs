//! Arguments of `hew` alone, which opens the terminal front end.

use super::Turn;
use clap::Args;

/// What `hew` takes without a command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Open {
    /// Go on with the newest session of this project
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// Go on with this session: its id, or the beginning of it
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// The model, as provider/id or just an id (`hew models` lists them)
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The way of working (`hew modes` lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// What is allowed without asking
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) permission: Option<crate::config::Permission>,
}

impl Open {
    /// The same as arguments of a turn.
    pub(crate) fn turn(&self) -> Turn {
        Turn {
            model: self.model.clone(),
            mode: self.mode.clone(),
            permission: self.permission,
            ..Turn::default()
        }
    }
}
