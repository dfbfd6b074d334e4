//! Files that were changed outside the session and that an undo or a rewind would overwrite.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::{ConflictChoice, RestoreRequest};
use crate::row::StyledRow;
use crate::view::{ViewContext, ViewPlacement};

/// Named files in the title; more are counted.
const MAX_NAMED: usize = 3;

/// The choices for files with conflicts.
pub(crate) struct ConflictPicker {
    request: RestoreRequest,
    paths: Vec<String>,
}

impl ConflictPicker {
    /// Creates the list for a request that was refused because of these files.
    pub(crate) fn new(request: RestoreRequest, paths: Vec<String>) -> Self {
        ConflictPicker { request, paths }
    }
}

impl ListSource for ConflictPicker {
    type Item = ConflictChoice;

    fn title(&self) -> String {
        let named: Vec<&str> = self.paths.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = self.paths.len().saturating_sub(MAX_NAMED);
        match more {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Inline(6)
    }

    fn load(&mut self, _: &ViewContext<'_>) -> ListItems<ConflictChoice> {
        ListItems::Ready(vec![
            ConflictChoice::Keep,
            ConflictChoice::Overwrite,
            ConflictChoice::Ask,
        ])
    }

    fn name(&self, choice: &ConflictChoice) -> String {
        match choice {
            ConflictChoice::Keep => "Keep".into(),
            ConflictChoice::Overwrite => "Overwrite".into(),
            ConflictChoice::Ask => "Cancel".into(),
        }
    }

    fn columns(&self, choice: &ConflictChoice, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let text = match choice {
            ConflictChoice::Keep => "leave these files as they are now and restore the others",
            ConflictChoice::Overwrite => "replace these files, including the changes made outside the session",
            ConflictChoice::Ask => "change nothing",
        };
        (StyledRow::new(text, cx.theme.dim), StyledRow::empty())
    }

    fn choose(&mut self, choice: &ConflictChoice, _: &ViewContext<'_>) -> ListResponse {
        match choice {
            ConflictChoice::Ask => ListResponse::close(),
            choice => ListResponse::close_and(AppAction::Restore(self.request.clone(), *choice)),
        }
    }
}
