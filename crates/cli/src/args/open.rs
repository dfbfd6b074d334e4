//! Arguments of `hew` alone, which opens the terminal front end.

use super::TurnArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of `hew` without a command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OpenArgs {
    /// Continue the newest session of this project
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// Continue this session, by id or prefix
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// The model, as provider/id or just an id (`hew models` lists them)
    #[arg(global = true, long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The mode (`hew modes` lists them)
    #[arg(global = true, long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// The permission level: actions that need no approval
    #[arg(global = true, long, value_enum, value_name = "LEVEL")]
    pub(crate) permission: Option<crate::config::PermissionLevel>,
    /// The reasoning effort
    #[arg(global = true, long, value_enum)]
    pub(crate) effort: Option<crate::config::EffortName>,
    /// An additional project folder: its rules apply, and its files can be read and changed
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Add a text file, an image or a PDF to the task
    #[arg(long, short, visible_alias = "image", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// Read and print line by line, without a screen: for screen readers and dumb terminals
    #[arg(global = true, long)]
    pub(crate) plain: bool,
    /// Show a session of a running `hew serve`: of this computer, at an address, or of a pairing link
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["file", "add_dir", "plain"])]
    pub(crate) attach: Option<String>,
    /// The first task, in quotes or after `--`
    #[arg(last = true, value_name = "TASK")]
    pub(crate) prompt: Vec<String>,
}

impl OpenArgs {
    /// The options that every command accepts.
    pub(crate) fn for_every_command(&self) -> TurnArgs {
        TurnArgs {
            model: self.model.clone(),
            mode: self.mode.clone(),
            permission: self.permission,
            effort: self.effort,
            ..TurnArgs::default()
        }
    }

    /// The options as turn arguments.
    pub(crate) fn turn(&self) -> TurnArgs {
        TurnArgs {
            add_dir: self.add_dir.clone(),
            file: self.file.clone(),
            ..self.for_every_command()
        }
    }
}
