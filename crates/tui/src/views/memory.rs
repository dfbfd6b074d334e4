//! Rules files that the model always sees, opened in the user's editor.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::view::ViewContext;
use std::path::PathBuf;

/// The file that is offered if there is none.
const DEFAULT_FILE: &str = "AGENTS.md";

/// The rules files.
pub(crate) struct MemoryPicker;

impl ListSource for MemoryPicker {
    type Item = String;

    fn title(&self) -> String {
        "Memory: rules files that hew always reads".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<String> {
        let mut files = cx.state.info.rules.clone();
        if files.is_empty() {
            files.push(DEFAULT_FILE.into());
        }
        ListItems::Ready(files)
    }

    fn name(&self, file: &String) -> String {
        file.clone()
    }

    fn choose_label(&self) -> &'static str {
        "edit"
    }

    fn choose(&mut self, file: &String, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::EditFile(PathBuf::from(file)))
    }
}
