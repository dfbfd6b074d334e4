//! The command palette: built-in commands, custom commands and key actions.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::PickerItem;
use crate::keys::{KeyAction, KeyContext};
use crate::row::StyledRow;
use crate::slash::{COMMANDS, SlashOutcome};
use crate::view::ViewContext;

/// The command palette.
pub(crate) struct CommandPalette {
    commands: Vec<PickerItem>,
}

/// An entry of the palette.
#[derive(Debug, Clone)]
pub(crate) enum PaletteEntry {
    /// A built-in command, by index.
    BuiltIn(usize),
    /// A custom command.
    Custom(PickerItem),
    /// A key action without a command.
    Key(KeyAction),
}

impl CommandPalette {
    pub(crate) fn new(commands: &[PickerItem]) -> Self {
        CommandPalette {
            commands: commands.to_vec(),
        }
    }
}

/// Actions without a command that are useful in any context.
const KEY_ACTIONS: &[KeyAction] = &[
    KeyAction::NextMode,
    KeyAction::Background,
    KeyAction::ToggleThinking,
    KeyAction::ToggleDetails,
    KeyAction::HistorySearch,
    KeyAction::PasteImage,
    KeyAction::Suspend,
    KeyAction::Redraw,
];

impl ListSource for CommandPalette {
    type Item = PaletteEntry;

    fn title(&self) -> String {
        "Commands".into()
    }

    fn load(&mut self, _: &ViewContext<'_>) -> ListItems<PaletteEntry> {
        let built_in = (0..COMMANDS.len()).map(PaletteEntry::BuiltIn);
        let files = self.commands.iter().cloned().map(PaletteEntry::Custom);
        let bare = KEY_ACTIONS.iter().copied().map(PaletteEntry::Key);
        ListItems::Ready(built_in.chain(files).chain(bare).collect())
    }

    fn name(&self, entry: &PaletteEntry) -> String {
        match entry {
            PaletteEntry::BuiltIn(index) => format!("/{}", COMMANDS[*index].name),
            PaletteEntry::Custom(choice) => format!("/{}", choice.name),
            PaletteEntry::Key(action) => action.binding().name.to_owned(),
        }
    }

    fn columns(&self, entry: &PaletteEntry, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let (about, action) = match entry {
            PaletteEntry::BuiltIn(index) => (COMMANDS[*index].description, COMMANDS[*index].key_action()),
            PaletteEntry::Custom(choice) => (choice.description.as_str(), None),
            PaletteEntry::Key(action) => (action.binding().description, Some(*action)),
        };
        // Keys of other contexts would mislead here.
        let everywhere =
            |action: &KeyAction| matches!(action.binding().context, KeyContext::Everywhere | KeyContext::Composer);
        let key = action
            .filter(everywhere)
            .map(|action| cx.keys.hint(action))
            .unwrap_or_default();
        (StyledRow::new(about, cx.theme.dim), StyledRow::new(key, cx.theme.dim))
    }

    fn choose_label(&self) -> &'static str {
        "run"
    }

    fn choose(&mut self, entry: &PaletteEntry, cx: &ViewContext<'_>) -> ListResponse {
        match entry {
            PaletteEntry::BuiltIn(index) => {
                let command = &COMMANDS[*index];
                // A command with required arguments is inserted into the composer.
                if command.arguments.starts_with(char::is_alphabetic) {
                    return ListResponse::close_and(AppAction::SetInput(format!("/{} ", command.name)));
                }
                match command.run("", cx) {
                    SlashOutcome::Action(action) => ListResponse::close_and(action),
                    SlashOutcome::Invalid(why) => ListResponse::close_and(AppAction::Flash(why)),
                    SlashOutcome::NotBuiltIn => ListResponse::close(),
                }
            }
            PaletteEntry::Custom(choice) => ListResponse::close_and(AppAction::SetInput(format!("/{} ", choice.name))),
            PaletteEntry::Key(action) => ListResponse::close_and(AppAction::Key(*action)),
        }
    }
}

/// Key actions that are reachable through the palette.
#[cfg(test)]
pub(super) fn reachable() -> Vec<KeyAction> {
    let slashes = COMMANDS.iter().filter_map(|command| command.key_action());
    slashes.chain(KEY_ACTIONS.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::BINDINGS;

    #[test]
    fn every_global_action_is_in_the_palette() {
        let known = reachable();
        let missing: Vec<&str> = BINDINGS
            .iter()
            .filter(|binding| binding.context == KeyContext::Everywhere && !known.contains(&binding.action))
            .map(|binding| binding.name)
            .collect();
        // These end or close something, or are the palette itself.
        assert_eq!(missing, ["interrupt", "cancel", "palette"]);
    }
}
