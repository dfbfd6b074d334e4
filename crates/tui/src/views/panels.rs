//! Panels, which keep live context in the prompt: list, open and close.

use super::list::{ListItems, ListResponse, ListSource};
use crate::backend::PanelRow;
use crate::row::StyledRow;
use crate::view::ViewContext;

/// The panels.
pub(crate) struct PanelPicker;

impl ListSource for PanelPicker {
    type Item = PanelRow;

    fn title(&self) -> String {
        "Panels".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<PanelRow> {
        ListItems::Pending(cx.start(cx.backend.panels()))
    }

    fn name(&self, panel: &PanelRow) -> String {
        panel.name.clone()
    }

    fn marker(&self, panel: &PanelRow, cx: &ViewContext<'_>) -> Option<StyledRow> {
        Some(match panel.is_open {
            true => StyledRow::new("● ", cx.theme.good),
            false => StyledRow::new("○ ", cx.theme.dim),
        })
    }

    fn columns(&self, panel: &PanelRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let state = if panel.is_open { "open" } else { "closed" };
        (StyledRow::empty(), StyledRow::new(state, cx.theme.dim))
    }

    fn choose_label(&self) -> &'static str {
        "open or close"
    }

    fn choose(&mut self, panel: &PanelRow, cx: &ViewContext<'_>) -> ListResponse {
        ListResponse::Await(cx.start(cx.backend.toggle_panel(panel.clone())))
    }

    fn empty_text(&self) -> &'static str {
        "no session is open"
    }
}
