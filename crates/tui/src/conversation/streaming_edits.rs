//! Edits that the model is still writing, rendered as a growing diff.

use crate::diff::LineDiff;
use session::{PreviewState, PreviewUpdate, TextOp};
use std::ops::Range;
use std::path::{Path, PathBuf};

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

    /// The files that are being changed, in the order of their first edit.
    pub(super) fn paths(&self) -> Vec<&PathBuf> {
        let mut paths = Vec::new();
        for path in self.edits.iter().filter_map(|edit| edit.path.as_ref()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// The newest edit as a diff against the file's current contents.
    pub(super) fn diff(&self, file: &str) -> Option<LineDiff> {
        let edit = self.edits.iter().rev().find(|edit| !edit.ops.is_empty())?;
        let (range, after) = edit.replacement(file)?;
        Some(LineDiff::between(file.get(range)?, &after, edit.first_line.max(1)))
    }

    /// The contents of a file after all edits. `None` if an edit has no known place, or if two edits overlap.
    pub(super) fn apply_to(&self, path: &Path, file: &str) -> Option<String> {
        if self.edits.iter().any(|edit| edit.path.is_none() || edit.ops.is_empty()) {
            return None;
        }
        let edits = self.edits.iter().filter(|edit| edit.path.as_deref() == Some(path));
        let mut replacements = edits.map(|edit| edit.replacement(file)).collect::<Option<Vec<_>>>()?;
        replacements.sort_by_key(|(range, _)| range.start);
        let mut at = 0;
        let mut after = String::new();
        for (range, text) in &replacements {
            after.push_str(file.get(at..range.start)?);
            after.push_str(text);
            at = range.end;
        }
        after.push_str(file.get(at..)?);
        Some(after)
    }
}

impl StreamedEdit {
    /// The range of the file's contents that this edit replaces, and its new text.
    fn replacement(&self, file: &str) -> Option<(Range<usize>, String)> {
        let start = match self.first_line {
            0 | 1 => 0,
            line => file
                .match_indices('\n')
                .nth(line - 2)
                .map_or(file.len(), |(at, _)| at + 1),
        };
        let rest = if self.first_line == 0 {
            ""
        } else {
            file.get(start..).unwrap_or_default()
        };
        let mut at = 0;
        let mut after = String::new();
        for op in &self.ops {
            match op {
                TextOp::Keep(bytes) => {
                    after.push_str(rest.get(at..at + bytes)?);
                    at += bytes;
                }
                TextOp::Delete(bytes) => at += bytes,
                TextOp::Insert(text) => after.push_str(text),
            }
        }
        rest.get(..at)?;
        Some((start..start + at, after))
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

    #[test]
    fn all_edits_of_a_call_are_applied_to_their_files() {
        let mut edits = StreamingEdits::default();
        let mut edit = |number: usize, path: &str, first_line: usize, ops: Vec<TextOp>| {
            edits.apply(&PreviewUpdate {
                edit: number,
                path: Some(path.into()),
                state: PreviewState::Edited { first_line, ops },
            });
        };
        let replace = |bytes: usize, text: &str| vec![TextOp::Delete(bytes), TextOp::Insert(text.into())];
        edit(1, "a.txt", 3, replace(5, "3"));
        edit(2, "a.txt", 1, replace(3, "1"));
        edit(3, "new.txt", 0, vec![TextOp::Insert("new\n".into())]);
        let apply = |edits: &StreamingEdits, path: &str, file: &str| edits.apply_to(Path::new(path), file);
        assert_eq!(apply(&edits, "a.txt", "one\ntwo\nthree\n").unwrap(), "1\ntwo\n3\n");
        assert_eq!(apply(&edits, "new.txt", "").unwrap(), "new\n");
        assert_eq!(edits.paths().len(), 2);
        // If one of them cannot be shown, nothing is shown as the whole change.
        edits.apply(&PreviewUpdate {
            edit: 4,
            path: Some("a.txt".into()),
            state: PreviewState::Unresolved,
        });
        assert_eq!(apply(&edits, "a.txt", "one\ntwo\nthree\n"), None);
    }
}
