//! Renders pending changes as text: files with line counts, and numbered changes as a unified diff that `patch` can read.

use crate::output::color::ColorMode;
use crate::output::format::sanitise;
use edit::{FileStatus, HunkAuthors};
use review::changes::{HunkKind, PendingChanges, PendingContent, PendingFile, PendingHunk};
use std::fmt::Write;
use std::path::Path;

/// Context lines of a change.
const CONTEXT: usize = 3;

/// The destination of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListTarget {
    /// A terminal: control characters are removed.
    Terminal,
    /// A file or a pipe: the text is unchanged.
    Other,
}

/// The changes as text.
pub fn render(pending: &PendingChanges, paint: ColorMode, reader: ListTarget) -> String {
    let mut out = String::new();
    for file in &pending.files {
        let mut list = ChangeListWriter {
            out: &mut out,
            paint,
            reader,
        };
        // Writing to a string cannot fail.
        list.file(pending, file).ok();
    }
    out
}

struct ChangeListWriter<'a> {
    out: &'a mut String,
    paint: ColorMode,
    reader: ListTarget,
}

impl ChangeListWriter<'_> {
    fn file(&mut self, pending: &PendingChanges, file: &PendingFile) -> std::fmt::Result {
        let paint = self.paint;
        let name = shown(&file.path);
        let (added, removed) = file.counts();
        if !self.out.is_empty() {
            writeln!(self.out)?;
        }
        write!(self.out, "{} {}", paint.bold(&name), paint.dim(file.status.name()))?;
        match &file.content {
            PendingContent::Text => {
                let counts = (paint.green(format!("+{added}")), paint.red(format!("-{removed}")));
                writeln!(self.out, " {} {}", counts.0, counts.1)?;
                self.texts(pending, file, &name)
            }
            PendingContent::Binary(whole) => {
                let size = |bytes: &Option<bytes::Bytes>| match bytes {
                    Some(bytes) => plural(bytes.len(), "byte"),
                    None => "none".into(),
                };
                writeln!(self.out, " binary: {} -> {}", size(&whole.base), size(&whole.current))?;
                file.hunks.iter().try_for_each(|hunk| self.in_words(hunk))
            }
            PendingContent::ModeOnly | PendingContent::Link(_) => {
                writeln!(self.out)?;
                file.hunks.iter().try_for_each(|hunk| self.in_words(hunk))
            }
            PendingContent::Unreadable(reason) => {
                writeln!(self.out, " cannot be reviewed: {}", sanitise(&reason.to_string()))
            }
        }
    }

    fn texts(&mut self, pending: &PendingChanges, file: &PendingFile, name: &str) -> std::fmt::Result {
        let paint = self.paint;
        // A tab ends a name that has spaces in it.
        let end = if name.contains(' ') { "\t" } else { "" };
        let (old, new) = match file.status {
            FileStatus::Created => ("/dev/null".into(), format!("b/{name}{end}")),
            FileStatus::Modified => (format!("a/{name}{end}"), format!("b/{name}{end}")),
            FileStatus::Deleted => (format!("a/{name}{end}"), "/dev/null".into()),
        };
        writeln!(self.out, "{}", paint.dim(format!("--- {old}")))?;
        writeln!(self.out, "{}", paint.dim(format!("+++ {new}")))?;
        let current = pending.log.texts(&file.path).and_then(|(_, current)| current);
        let lines: Vec<&str> = current.unwrap_or_default().split_inclusive('\n').collect();
        let mut shown = 0;
        for (at, hunk) in file.hunks.iter().enumerate() {
            if hunk.kind != HunkKind::Lines {
                self.in_words(hunk)?;
                continue;
            }
            let start = hunk.text.first_line.saturating_sub(1).min(lines.len());
            let end = (start + hunk.counts().0).min(lines.len());
            let next = file
                .hunks
                .get(at + 1)
                .filter(|next| next.kind == HunkKind::Lines)
                .map_or(lines.len(), |next| next.text.first_line - 1);
            let above = start.saturating_sub(CONTEXT).max(shown)..start;
            let below = end..(end + CONTEXT).min(next).min(lines.len());
            shown = below.end;
            self.hunk(hunk, &lines[above], &lines[below])?;
        }
        Ok(())
    }

    /// Writes a change that has no lines.
    fn in_words(&mut self, hunk: &PendingHunk) -> std::fmt::Result {
        let label = self.label(hunk);
        let line = |text: &str| match text.trim_end() {
            "" => "none".to_owned(),
            text => sanitise(text),
        };
        match hunk.kind {
            HunkKind::Mode | HunkKind::Link => writeln!(
                self.out,
                "{label}: {} -> {}",
                line(&hunk.text.before),
                line(&hunk.text.after)
            ),
            HunkKind::Binary | HunkKind::Lines => writeln!(self.out, "{label}"),
        }
    }

    fn hunk(&mut self, hunk: &PendingHunk, above: &[&str], below: &[&str]) -> std::fmt::Result {
        let (added, removed) = hunk.counts();
        let context_lines = above.len() + below.len();
        let old = span(hunk.text.first_line_before, above.len(), removed + context_lines);
        let new = span(hunk.text.first_line, above.len(), added + context_lines);
        let label = self.label(hunk);
        writeln!(self.out, "{} {label}", self.paint.cyan(format!("@@ -{old} +{new} @@")))?;
        let plain: fn(ColorMode, String) -> String = |_, line| line;
        above.iter().try_for_each(|line| self.line(' ', line, plain))?;
        let old = hunk.text.before.split_inclusive('\n');
        old.into_iter()
            .try_for_each(|line| self.line('-', line, ColorMode::red))?;
        let new = hunk.text.after.split_inclusive('\n');
        new.into_iter()
            .try_for_each(|line| self.line('+', line, ColorMode::green))?;
        below.iter().try_for_each(|line| self.line(' ', line, plain))
    }

    fn line(&mut self, mark: char, line: &str, colour: fn(ColorMode, String) -> String) -> std::fmt::Result {
        let text = line.strip_suffix('\n');
        let shown = match self.reader {
            ListTarget::Terminal => sanitise(text.unwrap_or(line)),
            ListTarget::Other => text.unwrap_or(line).to_owned(),
        };
        writeln!(self.out, "{}", colour(self.paint, format!("{mark}{shown}")))?;
        match text {
            Some(_) => Ok(()),
            None => writeln!(self.out, "\\ No newline at end of file"),
        }
    }

    fn label(&self, hunk: &PendingHunk) -> String {
        let label = format!("#{} {}", hunk.number, self.paint.yellow(&hunk.id));
        match hunk.text.authors {
            HunkAuthors::Agent => label,
            HunkAuthors::Mixed => format!("{label} (includes your own edits)"),
        }
    }
}

/// The range of a hunk in a unified diff. An empty hunk comes after the given line.
fn span(first: usize, above: usize, count: usize) -> String {
    let first = first - above.min(first);
    match count {
        0 => format!("{},0", first.saturating_sub(1)),
        1 => format!("{first}"),
        count => format!("{first},{count}"),
    }
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A path on one line.
fn shown(path: &Path) -> String {
    let name = path.to_string_lossy();
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::printable::printable;
    use bytes::Bytes;
    use review::changes::{BinaryChange, UnreadableReason};

    fn file(path: &str, status: FileStatus, content: PendingContent) -> PendingFile {
        PendingFile {
            path: path.into(),
            location: None,
            disk: None,
            status,
            content,
            modes: None,
            hunks: Vec::new(),
        }
    }

    fn pending(files: &[(&str, Option<&str>, Option<&str>)]) -> PendingChanges {
        let mut pending = PendingChanges::default();
        for (path, before, after) in files {
            pending.log.record_agent_write(Path::new(path), *before, *after);
            let status = pending.status_of(Path::new(path)).unwrap();
            pending.files.push(file(path, status, PendingContent::Text));
        }
        pending
    }

    /// The list with all ids replaced by `id`.
    fn listed(pending: &mut PendingChanges, paint: ColorMode, reader: ListTarget) -> String {
        pending.assign_ids();
        for file in &mut pending.files {
            file.hunks.iter_mut().for_each(|hunk| hunk.id = "id".into());
        }
        render(pending, paint, reader)
    }

    #[test]
    fn each_change_is_a_separate_hunk_of_a_unified_diff() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13";
        let after = "1\nB\n3\n4\n5\nF\n7\n8\n9\n10\n11\n12\n13\nN\n";
        let mut pending = pending(&[
            ("a b", Some(before), Some(after)),
            ("new", None, Some("x\n")),
            ("old", Some("y\nz\n"), None),
        ]);
        let expected = "\
a b modified +4 -3
--- a/a b\t
+++ b/a b\t
@@ -1,5 +1,5 @@ #1 id
 1
-2
+B
 3
 4
 5
@@ -6,4 +6,4 @@ #2 id
-6
+F
 7
 8
 9
@@ -10,4 +10,5 @@ #3 id
 10
 11
 12
-13
\\ No newline at end of file
+13
+N

new created +1 -0
--- /dev/null
+++ b/new
@@ -0,0 +1 @@ #4 id
+x

old deleted +0 -2
--- a/old
+++ /dev/null
@@ -1,2 +0,0 @@ #5 id
-y
-z
";
        assert_eq!(listed(&mut pending, ColorMode::Plain, ListTarget::Other), expected);
        assert_eq!(pending.count().to_string(), "5 changes in 3 files");
    }

    #[test]
    fn terminal_output_has_colours_and_no_control_characters() {
        let mut pending = pending(&[("a\u{7}", Some("x\r\n"), Some("\u{1b}[2Jy\r\n"))]);
        let list = printable(&listed(&mut pending, ColorMode::Colour, ListTarget::Terminal));
        assert!(
            list.contains("\u{1b}[31m-x\u{1b}[0m\n\u{1b}[32m+y\u{1b}[0m\n"),
            "{list:?}"
        );
        assert!(list.starts_with("\u{1b}[1ma?\u{1b}[0m"), "{list:?}");
        let list = listed(&mut pending, ColorMode::Plain, ListTarget::Other);
        assert!(list.contains("-x\r\n+\u{1b}[2Jy\r\n"), "{list:?}");
    }

    #[test]
    fn binary_and_unreadable_files_take_one_line() {
        let mut pending = PendingChanges::default();
        let whole = BinaryChange {
            base: Some(Bytes::from_static(b"\xff")),
            current: Some(Bytes::from_static(b"\xff\xff")),
            authors: HunkAuthors::Mixed,
        };
        pending
            .files
            .push(file("a", FileStatus::Modified, PendingContent::Binary(whole)));
        pending.files.push(file(
            "b",
            FileStatus::Modified,
            PendingContent::Unreadable(UnreadableReason::MissingVersion),
        ));
        let expected = "a modified binary: 1 byte -> 2 bytes\n#1 id (includes your own edits)\n\n\
                      b modified cannot be reviewed: an earlier version was not stored\n";
        assert_eq!(listed(&mut pending, ColorMode::Plain, ListTarget::Other), expected);
    }
}
