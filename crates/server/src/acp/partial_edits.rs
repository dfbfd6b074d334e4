//! Reconstructs changes that the model is still writing from preview updates.

use std::collections::BTreeMap;
use std::path::PathBuf;

use session::{PreviewState, PreviewUpdate, TextOp};

use super::ChangeContents;

/// The partial changes of one call.
#[derive(Debug, Clone, Default)]
pub(super) struct PartialEdits {
    edits: BTreeMap<usize, PartialEdit>,
}

#[derive(Debug, Clone, Default)]
struct PartialEdit {
    path: Option<PathBuf>,
    /// The first line that the operations apply to; 0 for a new file.
    first_line: usize,
    ops: Vec<TextOp>,
}

impl PartialEdits {
    /// Applies a preview update.
    pub(super) fn apply(&mut self, glimpse: PreviewUpdate) {
        let edit = self.edits.entry(glimpse.edit).or_default();
        if glimpse.path.is_some() {
            edit.path = glimpse.path;
        }
        match glimpse.state {
            PreviewState::Edited { first_line, ops } => {
                edit.first_line = first_line;
                edit.ops.extend(ops);
            }
            PreviewState::Resolving { .. }
            | PreviewState::Ambiguous { .. }
            | PreviewState::Unresolved
            | PreviewState::Finished => {}
        }
    }

    /// The affected files, without duplicates.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in self.edits.values().filter_map(|edit| edit.path.as_ref()) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        paths
    }

    /// The first line of each edit that was located, with its file.
    pub(super) fn places(&self) -> impl Iterator<Item = (PathBuf, Option<usize>)> {
        let located = self.edits.values().filter(|edit| !edit.ops.is_empty());
        located.filter_map(|edit| Some((edit.path.clone()?, Some(edit.first_line.max(1)))))
    }

    /// The changes so far, given the current content of the files.
    pub(super) fn contents(&self, files: &BTreeMap<PathBuf, String>) -> Vec<ChangeContents> {
        let edits = self.edits.values().filter(|edit| !edit.ops.is_empty());
        let contents = edits.filter_map(|edit| {
            let path = edit.path.clone().or_else(|| self.paths().pop())?;
            edit.contents(path, files)
        });
        contents.collect()
    }
}

impl PartialEdit {
    fn contents(&self, path: PathBuf, files: &BTreeMap<PathBuf, String>) -> Option<ChangeContents> {
        let file = files.get(&path).map_or("", String::as_str);
        let start = match self.first_line {
            0 | 1 => 0,
            line => {
                let mut ends = file.match_indices('\n');
                ends.nth(line - 2).map_or(file.len(), |(at, _)| at + 1)
            }
        };
        let rest = match self.first_line {
            0 => "",
            _ => file.get(start..)?,
        };
        let (mut at, mut after) = (0, String::new());
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
        let before = rest.get(..at)?.to_owned();
        // The line break of the last line arrives last.
        if before.ends_with('\n') && !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        Some(ChangeContents {
            path,
            before: (self.first_line > 0).then_some(before),
            after: Some(after),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_replaced_text() {
        let files = BTreeMap::from([(PathBuf::from("a.txt"), "one\ntwo\nthree\n".to_owned())]);
        let mut growing = PartialEdits::default();
        let glimpse = |edit, first_line, ops| PreviewUpdate {
            edit,
            path: Some("a.txt".into()),
            state: PreviewState::Edited { first_line, ops },
        };
        growing.apply(glimpse(1, 2, vec![TextOp::Keep(2), TextOp::Delete(1)]));
        growing.apply(glimpse(1, 2, vec![TextOp::Insert("ice".into()), TextOp::Keep(1)]));
        growing.apply(glimpse(2, 0, vec![TextOp::Insert("new".into())]));
        let contents = |before: Option<&str>, after: &str| ChangeContents {
            path: "a.txt".into(),
            before: before.map(str::to_owned),
            after: Some(after.into()),
        };
        let places: Vec<_> = growing.places().collect();
        assert_eq!(places, [("a.txt".into(), Some(2)), ("a.txt".into(), Some(1))]);
        assert_eq!(
            growing.contents(&files),
            [contents(Some("two\n"), "twice\n"), contents(None, "new")]
        );
    }
}
