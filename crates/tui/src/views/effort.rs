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
        let mark = if is_current(*effort, cx) { "current" } else { "" };
        let about = match effort {
            None => match cx.state.info.default_effort {
                Some(default) => format!("{}, the default of this model", effort_name(default)),
                None => "the default of this model".to_owned(),
            },
            Some(effort) => describe(*effort).to_owned(),
        };
        (StyledRow::new(about, cx.theme.dim), StyledRow::new(mark, cx.theme.good))
    }

    fn initial_row(&self, efforts: &[Option<Effort>], cx: &ViewContext<'_>) -> usize {
        efforts
            .iter()
            .position(|effort| is_current(*effort, cx))
            .unwrap_or_default()
    }

    fn choose(&mut self, effort: &Option<Effort>, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::SetEffort(*effort))
    }
}

fn is_current(effort: Option<Effort>, cx: &ViewContext<'_>) -> bool {
    effort.map_or("", effort_name) == cx.state.info.effort
}

/// What an effort means, as in `hew --help`.
pub(crate) fn describe(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "no reasoning, if the model supports that",
        Effort::Minimal => "as little as possible",
        Effort::Low => "a little",
        Effort::Medium => "the usual amount",
        Effort::High => "a lot",
        Effort::Max => "as much as possible",
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
