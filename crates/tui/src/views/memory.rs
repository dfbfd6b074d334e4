//! Rules files that the model always sees, opened in the user's editor.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::RulesFileRow;
use crate::row::StyledRow;
use crate::view::ViewContext;

/// The rules files.
pub(crate) struct MemoryPicker;

impl ListSource for MemoryPicker {
    type Item = RulesFileRow;

    fn title(&self) -> String {
        "Memory: rules files that hew always reads".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<RulesFileRow> {
        ListItems::Pending(cx.start(cx.backend.rules_files()))
    }

    fn name(&self, file: &RulesFileRow) -> String {
        file.name.clone()
    }

    fn columns(&self, file: &RulesFileRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        (StyledRow::new(&*file.description, cx.theme.dim), StyledRow::empty())
    }

    fn choose_label(&self) -> &'static str {
        "edit"
    }

    fn choose(&mut self, file: &RulesFileRow, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::EditFile(file.path.clone()))
    }
}
