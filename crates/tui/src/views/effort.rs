//! The reasoning effort of the session.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::row::StyledRow;
use crate::view::ViewContext;
use model::Effort;

/// The reasoning efforts.
pub(crate) struct EffortPicker;

/// All efforts, the smallest first.
pub(crate) const EFFORTS: [Effort; 6] = [
    Effort::None,
    Effort::Minimal,
    Effort::Low,
    Effort::Medium,
    Effort::High,
    Effort::Max,
];

impl ListSource for EffortPicker {
    type Item = Option<Effort>;

    fn title(&self) -> String {
        "Reasoning effort".into()
    }

    fn load(&mut self, _: &ViewContext<'_>) -> ListItems<Option<Effort>> {
        let default = std::iter::once(None);
        ListItems::Ready(default.chain(EFFORTS.into_iter().map(Some)).collect())
    }

    fn name(&self, effort: &Option<Effort>) -> String {
        effort.map_or("default", effort_name).to_owned()
    }

    fn columns(&self, effort: &Option<Effort>, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let is_current = effort.map_or("", effort_name) == cx.state.info.effort;
        let mark = if is_current { "current" } else { "" };
        (StyledRow::empty(), StyledRow::new(mark, cx.theme.good))
    }

    fn choose(&mut self, effort: &Option<Effort>, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::SetEffort(*effort))
    }
}

/// The name of an effort in the configuration.
pub(crate) fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}
