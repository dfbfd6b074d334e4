//! Edits that the model is still writing, rendered as a growing diff.

use crate::diff::LineDiff;
use session::{PreviewState, PreviewUpdate, TextOp};
use std::path::PathBuf;

/// The edits of one call.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamingEdits {
    edits: Vec<StreamedEdit>,
}

/// One edit.
#[derive(Debug, Clone, Default)]
struct StreamedEdit {
    number: usize,
    path: Option<PathBuf>,
    /// The first line that the operations apply to; 0 for a new file.
    first_line: usize,
    ops: Vec<TextOp>,
}

impl StreamingEdits {
    /// Applies a preview update.
    pub(super) fn apply(&mut self, update: &PreviewUpdate) {
        let at = match self.edits.iter().position(|edit| edit.number == update.edit) {
            Some(at) => at,
            None => {
                self.edits.push(StreamedEdit {
                    number: update.edit,
                    ..StreamedEdit::default()
                });
                self.edits.len() - 1
            }
        };
        let Some(edit) = self.edits.get_mut(at) else {
            return;
        };
        if update.path.is_some() {
            edit.path.clone_from(&update.path);
        }
        match &update.state {
            PreviewState::Edited { first_line, ops } => {
                edit.first_line = *first_line;
                edit.ops.extend(ops.iter().cloned());
            }
            PreviewState::Resolving { .. }
            | PreviewState::Ambiguous { .. }
            | PreviewState::Unresolved
            | PreviewState::Finished => {}
        }
    }

    /// The file that is being changed.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        self.edits.iter().rev().find_map(|edit| edit.path.as_ref())
    }

    /// The newest edit as a diff against the file's current contents.
    pub(super) fn diff(&self, file: &str) -> Option<LineDiff> {
        let edit = self.edits.iter().rev().find(|edit| !edit.ops.is_empty())?;
        let start = match edit.first_line {
            0 | 1 => 0,
            line => file
                .match_indices('\n')
                .nth(line - 2)
                .map_or(file.len(), |(at, _)| at + 1),
        };
        let rest = if edit.first_line == 0 {
            ""
        } else {
            file.get(start..).unwrap_or_default()
        };
        let mut at = 0;
        let mut after = String::new();
        for op in &edit.ops {
            match op {
                TextOp::Keep(bytes) => {
                    after.push_str(rest.get(at..at + bytes)?);
                    at += bytes;
                }
                TextOp::Delete(bytes) => at += bytes,
                TextOp::Insert(text) => after.push_str(text),
            }
        }
        Some(LineDiff::between(rest.get(..at)?, &after, edit.first_line.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::render_context;
    use crate::row::StyledRow;
    use crate::test_support::{FakeBackend, ViewHarness};

    #[test]
    fn a_change_grows_with_its_operations() {
        let file = "one\ntwo\nthree\n";
        let harness = ViewHarness::new(FakeBackend::default());
        let mut edits = StreamingEdits::default();
        assert_eq!(edits.diff(file), None);
        let mut take = |ops: Vec<TextOp>| {
            edits.apply(&PreviewUpdate {
                edit: 1,
                path: Some("a.txt".into()),
                state: PreviewState::Edited { first_line: 2, ops },
            });
            let rows = edits.diff(file).unwrap().rows(40, 9, render_context(&harness.cx()));
            rows.iter().map(StyledRow::text).collect::<Vec<_>>()
        };
        assert_eq!(
            take(vec![TextOp::Keep(2), TextOp::Delete(1), TextOp::Insert("i".into())]).len(),
            2
        );
        let rows = take(vec![TextOp::Insert("ce".into()), TextOp::Keep(1)]);
        assert_eq!(rows, ["  2 - two", "  2 + twice"]);
    }
}
