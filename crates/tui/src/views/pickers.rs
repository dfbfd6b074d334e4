//! Pickers for models, modes and themes.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::PickerItem;
use crate::row::StyledRow;
use crate::theme::{self, Theme};
use crate::view::ViewContext;
use session::Command;

/// The available models.
pub(crate) struct ModelPicker;

/// The available modes.
pub(crate) struct ModePicker;

/// The available themes.
pub(crate) struct ThemePicker {
    before: Theme,
}

impl ThemePicker {
    /// Creates the list with the current theme.
    pub(crate) fn new(before: Theme) -> Self {
        ThemePicker { before }
    }
}

fn about(choice: &PickerItem, is_current: bool, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
    let about = match &choice.unavailable_reason {
        Some(obstacle) => StyledRow::new(format!("{obstacle} · {}", choice.description), cx.theme.dim),
        None => StyledRow::new(&*choice.description, cx.theme.dim),
    };
    let now = if is_current {
        StyledRow::new("current", cx.theme.good)
    } else {
        StyledRow::empty()
    };
    (about, now)
}

fn current(entries: &[PickerItem], name: &str) -> usize {
    entries.iter().position(|choice| choice.name == name).unwrap_or(0)
}

impl ListSource for ModelPicker {
    type Item = PickerItem;

    fn title(&self) -> String {
        "Models (prices per million tokens)".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<PickerItem> {
        ListItems::Pending(cx.start(cx.backend.models()))
    }

    fn name(&self, choice: &PickerItem) -> String {
        choice.name.clone()
    }

    fn columns(&self, choice: &PickerItem, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        about(choice, choice.name == cx.state.info.model, cx)
    }

    fn initial_row(&self, entries: &[PickerItem], cx: &ViewContext<'_>) -> usize {
        current(entries, &cx.state.info.model)
    }

    fn choose(&mut self, choice: &PickerItem, _: &ViewContext<'_>) -> ListResponse {
        match &choice.unavailable_reason {
            Some(obstacle) => ListResponse::Act(AppAction::Flash(format!(
                "{}: {obstacle}; run /setup to store a key",
                choice.name
            ))),
            None => ListResponse::close_and(AppAction::Send(Command::SetModel {
                name: choice.name.clone(),
            })),
        }
    }

    fn empty_text(&self) -> &'static str {
        "no models available; run /setup"
    }
}

impl ListSource for ModePicker {
    type Item = PickerItem;

    fn title(&self) -> String {
        "Modes".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<PickerItem> {
        ListItems::Pending(cx.start(cx.backend.modes()))
    }

    fn name(&self, choice: &PickerItem) -> String {
        choice.name.clone()
    }

    fn columns(&self, choice: &PickerItem, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        about(choice, choice.name == cx.state.info.mode, cx)
    }

    fn initial_row(&self, entries: &[PickerItem], cx: &ViewContext<'_>) -> usize {
        current(entries, &cx.state.info.mode)
    }

    fn choose(&mut self, choice: &PickerItem, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::Send(Command::SetMode {
            name: choice.name.clone(),
        }))
    }
}

impl ListSource for ThemePicker {
    type Item = String;

    fn title(&self) -> String {
        "Themes".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<String> {
        let own = cx.backend.user_themes();
        let built_in = theme::NAMES.iter().map(|name| (*name).to_owned());
        ListItems::Ready(built_in.chain(own.into_keys()).collect())
    }

    fn name(&self, name: &String) -> String {
        name.clone()
    }

    /// A sample line in the theme's styles.
    fn columns(&self, name: &String, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let now = if *name == self.before.name {
            StyledRow::new("current", cx.theme.good)
        } else {
            StyledRow::empty()
        };
        let Ok(theme) = Theme::find(name, &cx.backend.user_themes()) else {
            return (StyledRow::new("invalid theme", cx.theme.bad), now);
        };
        let sample = StyledRow::new("accent ", theme.accent)
            .push("good ", theme.good)
            .push("warn ", theme.warn)
            .push("bad ", theme.bad)
            .push(" + added ", theme.added)
            .push(" - removed ", theme.removed)
            .push(" dim", theme.dim);
        (sample, now)
    }

    fn initial_row(&self, entries: &[String], _: &ViewContext<'_>) -> usize {
        entries.iter().position(|name| *name == self.before.name).unwrap_or(0)
    }

    fn choose(&mut self, name: &String, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::SetTheme(name.clone()))
    }
}
