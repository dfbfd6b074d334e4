//! A change that the model still writes, seen as a difference that grows.

use crate::diff::Diff;
use session::{Glimpse, Op, Sight};
use std::path::PathBuf;

/// The changes of one call while they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct Growing {
    edits: Vec<Edit>,
}

/// One change.
#[derive(Debug, Clone, Default)]
struct Edit {
    number: usize,
    path: Option<PathBuf>,
    /// The first line of the text that the operations are for; 0 for a new file.
    first_line: usize,
    ops: Vec<Op>,
}

impl Growing {
    /// Takes news about a change.
    pub(super) fn take(&mut self, glimpse: &Glimpse) {
        let at = match self.edits.iter().position(|edit| edit.number == glimpse.edit) {
            Some(at) => at,
            None => {
                self.edits.push(Edit {
                    number: glimpse.edit,
                    ..Edit::default()
                });
                self.edits.len() - 1
            }
        };
        let Some(edit) = self.edits.get_mut(at) else {
            return;
        };
        if glimpse.path.is_some() {
            edit.path.clone_from(&glimpse.path);
        }
        match &glimpse.sight {
            Sight::Edited { first_line, ops } => {
                edit.first_line = *first_line;
                edit.ops.extend(ops.iter().cloned());
            }
            Sight::Resolving { .. } | Sight::Ambiguous { .. } | Sight::Unresolved | Sight::Finished => {}
        }
    }

    /// The file that is being changed.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        self.edits.iter().rev().find_map(|edit| edit.path.as_ref())
    }

    /// The newest change as far as it can be seen, given what stands in the file now.
    pub(super) fn diff(&self, file: &str) -> Option<Diff> {
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
                Op::Keep(bytes) => {
                    after.push_str(rest.get(at..at + bytes)?);
                    at += bytes;
                }
                Op::Delete(bytes) => at += bytes,
                Op::Insert(text) => after.push_str(text),
            }
        }
        Some(Diff::between(rest.get(..at)?, &after, edit.first_line.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use crate::theme::Theme;

    #[test]
    fn a_change_grows_with_its_operations() {
        let file = "one\ntwo\nthree\n";
        let mut growing = Growing::default();
        assert_eq!(growing.diff(file), None);
        let mut take = |ops: Vec<Op>| {
            growing.take(&Glimpse {
                edit: 1,
                path: Some("a.txt".into()),
                sight: Sight::Edited { first_line: 2, ops },
            });
            let rows = growing.diff(file).unwrap().rows(40, 9, &Theme::default());
            rows.iter().map(Row::text).collect::<Vec<_>>()
        };
        assert_eq!(take(vec![Op::Keep(2), Op::Delete(1), Op::Insert("i".into())]).len(), 2);
        let rows = take(vec![Op::Insert("ce".into()), Op::Keep(1)]);
        assert_eq!(rows, ["  2 - two", "  2 + twice"]);
    }
}
