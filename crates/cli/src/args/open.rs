//! Arguments of `hew` alone, which opens the terminal front end.

use super::Turn;
use clap::Args;
use std::path::PathBuf;

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
    /// How hard the model is asked to think
    #[arg(long, value_enum)]
    pub(crate) effort: Option<crate::config::Effort>,
    /// Another folder that belongs to the project: its rules hold, and files there may be read and changed like the others
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Add a text file, an image or a PDF to the task
    #[arg(long, short, visible_alias = "image", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// What to do first, in quotes, or after `--`
    #[arg(last = true, value_name = "TASK")]
    pub(crate) prompt: Vec<String>,
}

impl Open {
    /// The same as arguments of a turn.
    pub(crate) fn turn(&self) -> Turn {
        Turn {
            model: self.model.clone(),
            mode: self.mode.clone(),
            permission: self.permission,
            effort: self.effort,
            add_dir: self.add_dir.clone(),
            file: self.file.clone(),
            ..Turn::default()
        }
    }
}
