//! Changes that the model still writes, put together from what can be seen of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use session::{Glimpse, Op, Sight};

use super::Contents;

/// The changes of one call while they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct Growing {
    edits: BTreeMap<usize, Edit>,
}

#[derive(Debug, Clone, Default)]
struct Edit {
    path: Option<PathBuf>,
    /// The first line of the text that the operations are for; 0 for a new file.
    first_line: usize,
    ops: Vec<Op>,
}

impl Growing {
    /// Takes news about a change.
    pub(super) fn take(&mut self, glimpse: Glimpse) {
        let edit = self.edits.entry(glimpse.edit).or_default();
        if glimpse.path.is_some() {
            edit.path = glimpse.path;
        }
        match glimpse.sight {
            Sight::Edited { first_line, ops } => {
                edit.first_line = first_line;
                edit.ops.extend(ops);
            }
            Sight::Resolving { .. } | Sight::Ambiguous { .. } | Sight::Unresolved | Sight::Finished => {}
        }
    }

    /// The files that are being changed, each once.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in self.edits.values().filter_map(|edit| edit.path.as_ref()) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        paths
    }

    /// What changes as far as it can be seen, change by change, given what stands in the files now.
    pub(super) fn contents(&self, files: &BTreeMap<PathBuf, String>) -> Vec<Contents> {
        let edits = self.edits.values().filter(|edit| !edit.ops.is_empty());
        let contents = edits.filter_map(|edit| {
            let path = edit.path.clone().or_else(|| self.paths().pop())?;
            edit.contents(path, files)
        });
        contents.collect()
    }
}

impl Edit {
    fn contents(&self, path: PathBuf, files: &BTreeMap<PathBuf, String>) -> Option<Contents> {
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
                Op::Keep(bytes) => {
                    after.push_str(rest.get(at..at + bytes)?);
                    at += bytes;
                }
                Op::Delete(bytes) => at += bytes,
                Op::Insert(text) => after.push_str(text),
            }
        }
        let before = rest.get(..at)?.to_owned();
        // The end of the last line is seen last.
        if before.ends_with('\n') && !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        Some(Contents {
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
    fn a_change_is_seen_with_what_it_replaces() {
        let files = BTreeMap::from([(PathBuf::from("a.txt"), "one\ntwo\nthree\n".to_owned())]);
        let mut growing = Growing::default();
        let glimpse = |edit, first_line, ops| Glimpse {
            edit,
            path: Some("a.txt".into()),
            sight: Sight::Edited { first_line, ops },
        };
        growing.take(glimpse(1, 2, vec![Op::Keep(2), Op::Delete(1)]));
        growing.take(glimpse(1, 2, vec![Op::Insert("ice".into()), Op::Keep(1)]));
        growing.take(glimpse(2, 0, vec![Op::Insert("new".into())]));
        let contents = |before: Option<&str>, after: &str| Contents {
            path: "a.txt".into(),
            before: before.map(str::to_owned),
            after: Some(after.into()),
        };
        assert_eq!(
            growing.contents(&files),
            [contents(Some("two\n"), "twice\n"), contents(None, "new")]
        );
    }
}
