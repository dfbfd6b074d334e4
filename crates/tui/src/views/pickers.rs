//! Pickers for models, modes and themes.

use super::effort::{EFFORTS, effort_name};
use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::{PickerItem, PickerModel};
use crate::keys::KeyAction;
use crate::row::StyledRow;
use crate::theme::{self, Theme};
use crate::view::ViewContext;
use model::Effort;
use session::Command;

/// The available models.
#[derive(Default)]
pub(crate) struct ModelPicker {
    /// The chosen reasoning effort.
    effort: Option<Effort>,
}

impl ModelPicker {
    /// The effort that a model would get: the chosen one, then that of the session if the user chose one, then the
    /// default of the model.
    fn effort_of(&self, model: PickerModel, cx: &ViewContext<'_>) -> Option<Effort> {
        let info = &cx.state.info;
        let default = info.default_effort.map_or("", effort_name);
        let session = EFFORTS.into_iter().find(|effort| effort_name(*effort) == info.effort);
        let session = session.filter(|effort| effort_name(*effort) != default);
        self.effort.or(session).or(model.default_effort)
    }
}

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

    fn adjusting_actions(&self) -> &'static [KeyAction] {
        &[KeyAction::LessEffort, KeyAction::MoreEffort]
    }

    fn adjustment(&self, choice: &PickerItem, cx: &ViewContext<'_>) -> String {
        let Some(model) = choice.model.filter(|model| model.has_effort) else {
            return String::new();
        };
        let name = self.effort_of(model, cx).map_or("default", effort_name);
        let [less, more] = [KeyAction::LessEffort, KeyAction::MoreEffort].map(|action| cx.keys.hint(action));
        let keys = match (less.as_str(), more.as_str()) {
            ("left", "right") => "←→".to_owned(),
            (less, more) => format!("{less} {more}"),
        };
        format!("{keys} effort: {name}")
    }

    /// Lowers or raises the effort of the selected model.
    fn perform(&mut self, action: KeyAction, choice: &PickerItem, cx: &ViewContext<'_>) -> Option<ListResponse> {
        let model = choice.model.filter(|model| model.has_effort)?;
        let current = self.effort_of(model, cx).unwrap_or(Effort::Medium);
        let at = EFFORTS.iter().position(|effort| *effort == current)?;
        let next = match action {
            KeyAction::LessEffort => at.checked_sub(1),
            _ => Some(at + 1),
        };
        self.effort = next.and_then(|at| EFFORTS.get(at)).copied().or(Some(current));
        Some(ListResponse::Stay)
    }

    /// The suggested models, unless the current one is another.
    fn suggested(&self, entries: &[PickerItem], cx: &ViewContext<'_>) -> usize {
        let is_suggested = |choice: &&PickerItem| choice.model.is_some_and(|model| model.is_suggested);
        let count = entries.iter().take_while(is_suggested).count();
        match count > current(entries, &cx.state.info.model) {
            true => count,
            false => entries.len(),
        }
    }

    fn choose(&mut self, choice: &PickerItem, _: &ViewContext<'_>) -> ListResponse {
        match &choice.unavailable_reason {
            Some(obstacle) => ListResponse::Act(AppAction::Flash(format!(
                "{}: {obstacle}; run /setup to store a key",
                choice.name
            ))),
            None => ListResponse::close_and(AppAction::ChooseModel {
                name: choice.name.clone(),
                effort: self
                    .effort
                    .filter(|_| choice.model.is_some_and(|model| model.has_effort)),
            }),
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
