//! The recent edits of a user, merged where they are close, as unified diffs for a prompt.

use std::collections::VecDeque;

use edit::unified_diff;

use crate::{BufferEdit, EditorBuffer};

/// The maximum number of entries; the oldest is dropped.
const MAX_ENTRIES: usize = 10;
/// Edits of one buffer within this number of lines are merged.
const MERGE_LINES: usize = 8;
/// After a pause of this many milliseconds, an edit starts a new entry even if it is close.
const PAUSE_MS: u64 = 30_000;
/// A region above this size is not recorded.
const MAX_REGION: usize = 6_144;
/// Unchanged lines around a region in its diff.
const CONTEXT_LINES: usize = 3;

/// The origin of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditSource {
    /// The user typed it.
    User,
    /// The user accepted a prediction.
    Prediction,
}

/// One region that was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The path of the file, for display.
    pub path: String,
    /// The origin of the edits.
    pub source: EditSource,
    /// The lines of the region before the first edit.
    pub old: String,
    /// The lines of the region after the last edit.
    pub new: String,
    /// The first line of the region in the buffer, counted from 0.
    first_line: usize,
    above: String,
    below: String,
    last_ms: u64,
}

impl HistoryEntry {
    /// The change as a unified diff with three lines of context.
    pub fn diff(&self) -> String {
        let old = format!("{}{}{}", self.above, self.old, self.below);
        let new = format!("{}{}{}", self.above, self.new, self.below);
        let mut diff = format!("--- a/{0}\n+++ b/{0}\n", self.path);
        for line in unified_diff(&old, &new, CONTEXT_LINES).text.split_inclusive('\n') {
            // Line numbers would be those of the region, and models do not need them.
            diff.push_str(if line.starts_with("@@") { "@@\n" } else { line });
        }
        diff
    }

    fn new_lines(&self) -> usize {
        self.new.split_inclusive('\n').count()
    }
}

/// The recent edits, oldest first.
#[derive(Debug, Clone, Default)]
pub struct EditHistory {
    entries: VecDeque<HistoryEntry>,
}

impl EditHistory {
    /// The entries, oldest first. Entries without an effective change are left out.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &HistoryEntry> {
        self.entries.iter().filter(|entry| entry.old != entry.new)
    }

    /// Records an edit that `buffer` already contains, made at a time in milliseconds.
    pub fn record(&mut self, path: &str, buffer: &EditorBuffer, edit: &BufferEdit, source: EditSource, now_ms: u64) {
        if edit.removed == edit.inserted {
            return;
        }
        let region = EditedLines::of(buffer, edit);
        let previous = self.entries.back().filter(|entry| {
            entry.path == path
                && entry.source == source
                && now_ms.saturating_sub(entry.last_ms) < PAUSE_MS
                && region.is_near(entry)
        });
        let merged = previous.map(|entry| region.merge(entry, buffer));
        let (first, old, new_lines) = match merged {
            Some(merged) => {
                self.entries.pop_back();
                merged
            }
            None => (region.first, region.old.clone(), region.new_lines),
        };
        let last = first + new_lines;
        let new = buffer.lines(first..last).to_owned();
        if old.len().max(new.len()) > MAX_REGION {
            return;
        }
        self.entries.push_back(HistoryEntry {
            path: path.to_owned(),
            source,
            old,
            new,
            first_line: first,
            above: buffer.lines(first.saturating_sub(CONTEXT_LINES)..first).to_owned(),
            below: buffer.lines(last..last + CONTEXT_LINES).to_owned(),
            last_ms: now_ms,
        });
        if self.entries.len() > MAX_ENTRIES {
            self.entries.pop_front();
        }
    }

    /// Whether a region of `path` that reads `old` now and `new` after a prediction would return to a state that the
    /// user just left.
    pub fn reverts(&self, path: &str, buffer: &EditorBuffer, predicted: &EditorBuffer) -> bool {
        self.entries()
            .rev()
            .filter(|entry| entry.path == path && entry.source == EditSource::User)
            .take(2)
            .any(|entry| {
                let old_lines = entry.old.split_inclusive('\n').count();
                let lines = entry.first_line..entry.first_line + entry.new_lines();
                let restored = entry.first_line..entry.first_line + old_lines;
                buffer.lines(lines) == entry.new
                    && predicted.lines(restored) == entry.old
                    && predicted.line_count() + entry.new_lines() == buffer.line_count() + old_lines
            })
    }
}

/// The whole lines that an edit changed.
struct EditedLines {
    /// The first line.
    first: usize,
    /// The lines before the edit.
    old: String,
    /// The number of lines before and after the edit.
    old_lines: usize,
    new_lines: usize,
}

impl EditedLines {
    fn of(buffer: &EditorBuffer, edit: &BufferEdit) -> Self {
        let first = buffer.line_of(edit.start);
        let end = edit.start + edit.inserted.len();
        let last = buffer.line_of(end);
        let start_of_first = buffer.line_span(first..first + 1).start;
        let end_of_last = buffer.line_span(last..last + 1).end;
        let old = format!(
            "{}{}{}",
            &buffer.text()[start_of_first..edit.start],
            edit.removed,
            &buffer.text()[end..end_of_last]
        );
        EditedLines {
            first,
            old_lines: edit.removed.matches('\n').count() + 1,
            new_lines: last + 1 - first,
            old,
        }
    }

    fn is_near(&self, entry: &HistoryEntry) -> bool {
        let (start, end) = (entry.first_line, entry.first_line + entry.new_lines());
        self.first <= end + MERGE_LINES && self.first + self.old_lines + MERGE_LINES >= start
    }

    /// The union with an earlier region: its first line, its text before both edits and its lines after both.
    fn merge(&self, entry: &HistoryEntry, buffer: &EditorBuffer) -> (usize, String, usize) {
        // Lines of the buffer before this edit: those of the edited region, and those around it, which are unchanged.
        let old: Vec<&str> = self.old.split_inclusive('\n').collect();
        let before = |line: usize| -> &str {
            if line < self.first {
                buffer.lines(line..line + 1)
            } else if line < self.first + self.old_lines {
                old.get(line - self.first).copied().unwrap_or_default()
            } else {
                let now = line + self.new_lines - self.old_lines;
                buffer.lines(now..now + 1)
            }
        };
        let (entry_first, entry_last) = (entry.first_line, entry.first_line + entry.new_lines());
        let first = self.first.min(entry_first);
        let last = (self.first + self.old_lines).max(entry_last);
        let mut text = String::new();
        (first..entry_first).for_each(|line| text.push_str(before(line)));
        text.push_str(&entry.old);
        (entry_last..last).for_each(|line| text.push_str(before(line)));
        (first, text, last - first + self.new_lines - self.old_lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Typing {
        buffer: EditorBuffer,
        history: EditHistory,
        now: u64,
    }

    impl Typing {
        fn new(text: &str) -> Self {
            Typing {
                buffer: EditorBuffer::new(text.into()),
                history: EditHistory::default(),
                now: 0,
            }
        }

        fn replace(&mut self, old: &str, new: &str) -> &mut Self {
            let start = self.buffer.text().find(old).unwrap();
            let edit = self.buffer.replace_span(start..start + old.len(), new);
            self.now += 100;
            self.history
                .record("a.py", &self.buffer, &edit, EditSource::User, self.now);
            self
        }

        fn diffs(&self) -> Vec<String> {
            self.history.entries().map(HistoryEntry::diff).collect()
        }
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|number| format!("line {number};\n")).collect()
    }

    #[test]
    fn close_edits_become_one_diff_and_distant_ones_do_not() {
        let mut typing = Typing::new(&numbered(40));
        typing
            .replace("line 10;", "line ten;")
            .replace("line 12;", "line twelve;")
            .replace("line 30;\n", "")
            .replace("line 9;", "line nine;");
        assert_eq!(
            typing.diffs(),
            [
                "--- a/a.py\n+++ b/a.py\n@@\n line 7;\n line 8;\n line 9;\n-line 10;\n+line ten;\n line 11;\n\
                 -line 12;\n+line twelve;\n line 13;\n line 14;\n line 15;\n",
                "--- a/a.py\n+++ b/a.py\n@@\n line 27;\n line 28;\n line 29;\n-line 30;\n line 31;\n line 32;\n \
                 line 33;\n",
                "--- a/a.py\n+++ b/a.py\n@@\n line 6;\n line 7;\n line 8;\n-line 9;\n+line nine;\n line ten;\n line \
                 11;\n line twelve;\n",
            ]
        );
    }

    #[test]
    fn typing_letter_by_letter_is_one_entry_and_undone_typing_is_none() {
        let mut typing = Typing::new("x = 1\ny = 2\n");
        typing.replace("x = 1", "x = 12").replace("x = 12", "x = 123");
        assert_eq!(typing.history.entries().count(), 1);
        assert!(typing.diffs()[0].contains("-x = 1\n+x = 123\n"), "{:?}", typing.diffs());
        typing.replace("x = 123", "x = 1");
        assert_eq!(typing.history.entries().count(), 0);
    }

    #[test]
    fn merged_regions_keep_the_text_before_the_first_edit() {
        let mut typing = Typing::new(&numbered(12));
        typing
            .replace("line 5;\n", "line 5;\nnew a\nnew b\n")
            .replace("line 2;\n", "")
            .replace("new b\nline 6;\n", "line six;\n");
        let entry = typing.history.entries().next().unwrap();
        let old: String = (2..=6).map(|number| format!("line {number};\n")).collect();
        assert_eq!(typing.history.entries().count(), 1);
        assert!(entry.old.starts_with(&old), "{:?}", entry.old);
        assert!(entry.new.starts_with("line 3;\nline 4;\nline 5;\nnew a\nline six;\n"));
    }

    #[test]
    fn a_prediction_that_undoes_the_last_edit_is_recognised() {
        let mut typing = Typing::new(&numbered(6));
        typing.replace("line 3;", "line three;");
        let mut predicted = EditorBuffer::new(numbered(6));
        assert!(typing.history.reverts("a.py", &typing.buffer, &predicted));
        predicted.replace_all(&numbered(6).replace("line 4;", "line four;"));
        assert!(!typing.history.reverts("a.py", &typing.buffer, &typing.buffer));
    }

    #[test]
    fn entries_and_regions_are_bounded() {
        let mut typing = Typing::new(&numbered(400));
        for number in (10..400).step_by(20) {
            typing.replace(&format!("line {number};"), &format!("changed {number};"));
        }
        assert_eq!(typing.history.entries().count(), 10);
        let long = "x".repeat(7_000);
        typing.replace("line 5;", &long);
        assert!(typing.history.entries().all(|entry| !entry.new.contains(&long)));
    }
}
