//! Settings with their values and sources.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::SettingRow;
use crate::keys::KeyAction;
use crate::row::{StyledRow, wrap};
use crate::view::{ViewContext, ViewPlacement};

/// The settings.
pub(crate) struct SettingPicker;

impl ListSource for SettingPicker {
    type Item = SettingRow;

    fn title(&self) -> String {
        "Settings".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<SettingRow> {
        ListItems::Pending(cx.start(cx.backend.settings()))
    }

    fn name(&self, setting: &SettingRow) -> String {
        setting.key.clone()
    }

    fn columns(&self, setting: &SettingRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let value = match setting.value.is_empty() {
            true => StyledRow::new("–", cx.theme.dim),
            false => StyledRow::new(&*setting.value, cx.theme.accent),
        };
        (value, StyledRow::new(&*setting.origin, cx.theme.dim))
    }

    fn detail(&self, setting: &SettingRow, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let mut rows = vec![StyledRow::new(&*setting.key, theme.strong)];
        rows.extend(wrap(
            &StyledRow::new(&*setting.description, theme.text),
            width.into(),
            &StyledRow::empty(),
        ));
        if !setting.choices.is_empty() {
            rows.push(StyledRow::empty());
            let choices = StyledRow::new(format!("one of: {}", setting.choices.join(", ")), theme.dim);
            rows.extend(wrap(&choices, width.into(), &StyledRow::empty()));
        }
        rows
    }

    fn choose_label(&self) -> &'static str {
        "change"
    }

    fn choose(&mut self, setting: &SettingRow, cx: &ViewContext<'_>) -> ListResponse {
        // Some settings have a list of their own, which also changes the open session.
        let list = match setting.key.as_str() {
            "model" => Some(KeyAction::Models),
            "tui.theme" => Some(KeyAction::Themes),
            _ => None,
        };
        if let Some(list) = list {
            return ListResponse::close_and(AppAction::Key(list));
        }
        // A setting with two values is toggled; others are edited.
        if let [one, two] = setting.choices.as_slice() {
            let next = if setting.value == *one { two } else { one };
            let pending = cx.start(cx.backend.change_setting(setting.key.clone(), next.clone()));
            return match setting.key.as_str() {
                "tui.vim" => ListResponse::AwaitAnd(pending, AppAction::SetVim(next == "true")),
                _ => ListResponse::Await(pending),
            };
        }
        let value = setting.value.trim_matches('"').to_owned();
        ListResponse::Ask(KeyAction::Choose, format!("{} =", setting.key), value)
    }

    fn submit_text(&mut self, _: KeyAction, text: String, setting: &SettingRow, cx: &ViewContext<'_>) -> ListResponse {
        ListResponse::Await(cx.start(cx.backend.change_setting(setting.key.clone(), text)))
    }
}
