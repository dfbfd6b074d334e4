//! Views next to the conversation, one file each.

pub(crate) mod changes;
pub(crate) mod code_search;
pub(crate) mod conflicts;
pub(crate) mod context;
pub(crate) mod effort;
pub(crate) mod field;
pub(crate) mod help;
pub(crate) mod jobs;
pub(crate) mod list;
pub(crate) mod memory;
pub(crate) mod palette;
pub(crate) mod panels;
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

use crate::backend::PickerItem;
use crate::keys::KeyAction;
use crate::view::{ModalView, ViewContext};
use list::ListView;

/// Opens the view of an action; `commands` are custom commands. `None` if the action opens no view.
pub(crate) fn open(action: KeyAction, commands: &[PickerItem], cx: &ViewContext<'_>) -> Option<Box<dyn ModalView>> {
    Some(match action {
        KeyAction::Palette => Box::new(ListView::new(palette::CommandPalette::new(commands))),
        KeyAction::Help => Box::new(ListView::new(help::HelpPicker {
            first: help::HelpTopic::Keys,
        })),
        KeyAction::Models => Box::new(ListView::new(pickers::ModelPicker::default())),
        KeyAction::Modes => Box::new(ListView::new(pickers::ModePicker)),
        KeyAction::Themes => Box::new(ListView::new(pickers::ThemePicker::new(cx.theme.clone()))),
        KeyAction::Sessions => Box::new(ListView::new(sessions::SessionPicker::default())),
        KeyAction::Rewind => Box::new(ListView::new(rewind::RewindPicker::default())),
        KeyAction::Todo => Box::new(ListView::new(todo::TodoPicker)),
        KeyAction::Jobs => Box::new(ListView::new(jobs::JobPicker)),
        KeyAction::Subagents => Box::new(ListView::new(subagents::SubagentPicker)),
        KeyAction::Servers => Box::new(ListView::new(servers::ServerPicker)),
        KeyAction::Permissions => Box::new(ListView::new(permissions::PermissionPicker)),
        KeyAction::Settings => Box::new(ListView::new(settings::SettingPicker)),
        KeyAction::Changes => Box::new(changes::ChangesView::default()),
        KeyAction::ContextView => Box::new(context::ContextView::default()),
        KeyAction::Setup => Box::new(setup::SetupView::default()),
        KeyAction::Transcript => Box::new(transcript::TranscriptView::default()),
        KeyAction::Search => Box::new(transcript::TranscriptView::searching()),
        KeyAction::ToggleThinking | KeyAction::ToggleDetails => Box::new(transcript::TranscriptView::expanded()),
        _ => return None,
    })
}
