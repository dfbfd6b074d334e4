//! The views beside the conversation, one file each.

pub(crate) mod changes;
pub(crate) mod context;
pub(crate) mod field;
pub(crate) mod help;
pub(crate) mod jobs;
pub(crate) mod list;
pub(crate) mod palette;
pub(crate) mod permissions;
pub(crate) mod pickers;
pub(crate) mod rewind;
pub(crate) mod scroll;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod subagents;
pub(crate) mod todo;
pub(crate) mod transcript;

#[cfg(test)]
mod tests;

use crate::house::Choice;
use crate::keys::Deed;
use crate::view::{Cx, View};
use list::List;

/// The view that a deed opens; `commands` are those that files define. `None` where it opens none.
pub(crate) fn open(deed: Deed, commands: &[Choice], cx: &Cx<'_>) -> Option<Box<dyn View>> {
    Some(match deed {
        Deed::Palette => Box::new(List::new(palette::Palette::new(commands))),
        Deed::Help => Box::new(List::new(help::Help)),
        Deed::Models => Box::new(List::new(pickers::Models)),
        Deed::Modes => Box::new(List::new(pickers::Modes)),
        Deed::Themes => Box::new(List::new(pickers::Themes::new(cx.theme.clone()))),
        Deed::Sessions => Box::new(List::new(sessions::Sessions::default())),
        Deed::Rewind => Box::new(List::new(rewind::Rewind::default())),
        Deed::Todo => Box::new(List::new(todo::Todo)),
        Deed::Jobs => Box::new(List::new(jobs::Jobs)),
        Deed::Subagents => Box::new(List::new(subagents::Subagents)),
        Deed::Servers => Box::new(List::new(servers::Servers)),
        Deed::Permissions => Box::new(List::new(permissions::Permissions)),
        Deed::Settings => Box::new(List::new(settings::Settings)),
        Deed::Changes => Box::new(changes::Changes::default()),
        Deed::ContextView => Box::new(context::Context::default()),
        Deed::Setup => Box::new(setup::Setup::default()),
        Deed::Transcript => Box::new(transcript::Transcript::default()),
        Deed::Search => Box::new(transcript::Transcript::searching()),
        Deed::ToggleThinking | Deed::ToggleDetails => Box::new(transcript::Transcript::unfolded()),
        _ => return None,
    })
}
