//! The list for people: files with their counts, and numbered changes as a unified diff that `patch` can read.

use super::pending::{Content, File, Hunk, Part, Pending};
use crate::output::paint::Paint;
use crate::output::words::tame;
use edit::{Authors, Status};
use std::fmt::Write;
use std::path::Path;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// Who reads the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A terminal, which text must not take over.
    Terminal,
    /// A file or a program, which gets every byte.
    Other,
}

/// The changes as text.
pub(super) fn render(pending: &Pending, paint: Paint, reader: Reader) -> String {
    let mut out = String::new();
    for file in &pending.files {
        let mut list = List {
            out: &mut out,
            paint,
            reader,
        };
        // Writing to a string cannot fail.
        list.file(pending, file).ok();
    }
    out
}

/// How many changes there are, in how many files.
pub(super) fn sum(pending: &Pending) -> String {
    let changes: usize = pending.files.iter().map(|file| file.hunks.len()).sum();
    let files = pending.files.len();
    format!("{} in {}", plural(changes, "change"), plural(files, "file"))
}

struct List<'a> {
    out: &'a mut String,
    paint: Paint,
    reader: Reader,
}

impl List<'_> {
    fn file(&mut self, pending: &Pending, file: &File) -> std::fmt::Result {
        let paint = self.paint;
        let name = shown(&file.path);
        let (added, removed) = file.counts();
        if !self.out.is_empty() {
            writeln!(self.out)?;
        }
        write!(
            self.out,
            "{} {}",
            paint.bold(&name),
            paint.dim(status_word(file.status))
        )?;
        match &file.content {
            Content::Text => {
                let counts = (paint.green(format!("+{added}")), paint.red(format!("-{removed}")));
                writeln!(self.out, " {} {}", counts.0, counts.1)?;
                self.texts(pending, file, &name)
            }
            Content::Whole(whole) => {
                let size = |bytes: &Option<bytes::Bytes>| match bytes {
                    Some(bytes) => plural(bytes.len(), "byte"),
                    None => "nothing".into(),
                };
                writeln!(
                    self.out,
                    " not text: {} became {}",
                    size(&whole.base),
                    size(&whole.current)
                )?;
                file.hunks.iter().try_for_each(|hunk| self.in_words(hunk))
            }
            Content::Same | Content::Link(_) => {
                writeln!(self.out)?;
                file.hunks.iter().try_for_each(|hunk| self.in_words(hunk))
            }
            Content::Unreadable(why) => writeln!(self.out, " cannot be reviewed: {}", tame(why)),
        }
    }

    fn texts(&mut self, pending: &Pending, file: &File, name: &str) -> std::fmt::Result {
        let paint = self.paint;
        // A tab ends a name that has spaces in it.
        let end = if name.contains(' ') { "\t" } else { "" };
        let (old, new) = match file.status {
            Status::Created => ("/dev/null".into(), format!("b/{name}{end}")),
            Status::Modified => (format!("a/{name}{end}"), format!("b/{name}{end}")),
            Status::Deleted => (format!("a/{name}{end}"), "/dev/null".into()),
        };
        writeln!(self.out, "{}", paint.dim(format!("--- {old}")))?;
        writeln!(self.out, "{}", paint.dim(format!("+++ {new}")))?;
        let current = pending.log.texts(&file.path).and_then(|(_, current)| current);
        let lines: Vec<&str> = current.unwrap_or_default().split_inclusive('\n').collect();
        let mut shown = 0;
        for (at, hunk) in file.hunks.iter().enumerate() {
            if hunk.part != Part::Lines {
                self.in_words(hunk)?;
                continue;
            }
            let start = hunk.text.first_line.saturating_sub(1).min(lines.len());
            let end = (start + hunk.counts().0).min(lines.len());
            let next = file
                .hunks
                .get(at + 1)
                .filter(|next| next.part == Part::Lines)
                .map_or(lines.len(), |next| next.text.first_line - 1);
            let above = start.saturating_sub(CONTEXT).max(shown)..start;
            let below = end..(end + CONTEXT).min(next).min(lines.len());
            shown = below.end;
            self.hunk(hunk, &lines[above], &lines[below])?;
        }
        Ok(())
    }

    /// A change that has no lines.
    fn in_words(&mut self, hunk: &Hunk) -> std::fmt::Result {
        let label = self.label(hunk);
        let line = |text: &str| match text.trim_end() {
            "" => "nothing".to_owned(),
            text => tame(text),
        };
        match hunk.part {
            Part::Mode | Part::Link => writeln!(
                self.out,
                "{label}: {} became {}",
                line(&hunk.text.before),
                line(&hunk.text.after)
            ),
            Part::Whole | Part::Lines => writeln!(self.out, "{label}"),
        }
    }

    fn hunk(&mut self, hunk: &Hunk, above: &[&str], below: &[&str]) -> std::fmt::Result {
        let (added, removed) = hunk.counts();
        let around = above.len() + below.len();
        let old = span(hunk.text.first_line_before, above.len(), removed + around);
        let new = span(hunk.text.first_line, above.len(), added + around);
        let label = self.label(hunk);
        writeln!(self.out, "{} {label}", self.paint.cyan(format!("@@ -{old} +{new} @@")))?;
        let plain: fn(Paint, String) -> String = |_, line| line;
        above.iter().try_for_each(|line| self.line(' ', line, plain))?;
        let old = hunk.text.before.split_inclusive('\n');
        old.into_iter().try_for_each(|line| self.line('-', line, Paint::red))?;
        let new = hunk.text.after.split_inclusive('\n');
        new.into_iter()
            .try_for_each(|line| self.line('+', line, Paint::green))?;
        below.iter().try_for_each(|line| self.line(' ', line, plain))
    }

    fn line(&mut self, mark: char, line: &str, colour: fn(Paint, String) -> String) -> std::fmt::Result {
        let text = line.strip_suffix('\n');
        let shown = match self.reader {
            Reader::Terminal => tame(text.unwrap_or(line)),
            Reader::Other => text.unwrap_or(line).to_owned(),
        };
        writeln!(self.out, "{}", colour(self.paint, format!("{mark}{shown}")))?;
        match text {
            Some(_) => Ok(()),
            None => writeln!(self.out, "\\ No newline at end of file"),
        }
    }

    fn label(&self, hunk: &Hunk) -> String {
        let label = format!("#{} {}", hunk.number, self.paint.yellow(&hunk.id));
        match hunk.text.authors {
            Authors::Agent => label,
            Authors::Mixed => format!("{label} (your own edits are part of it)"),
        }
    }
}

/// Where a hunk is, as unified diffs say it: one without lines is after the line that is named.
fn span(first: usize, above: usize, count: usize) -> String {
    let first = first - above.min(first);
    match count {
        0 => format!("{},0", first.saturating_sub(1)),
        1 => format!("{first}"),
        count => format!("{first},{count}"),
    }
}

/// What happened to a file as a whole.
pub(super) fn status_word(status: Status) -> &'static str {
    match status {
        Status::Created => "created",
        Status::Modified => "modified",
        Status::Deleted => "deleted",
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
    use crate::commands::changes::whole::Whole;
    use bytes::Bytes;

    fn file(path: &str, status: Status, content: Content) -> File {
        File {
            path: path.into(),
            location: None,
            disk: None,
            status,
            content,
            modes: None,
            hunks: Vec::new(),
        }
    }

    fn pending(files: &[(&str, Option<&str>, Option<&str>)]) -> Pending {
        let mut pending = Pending::default();
        for (path, before, after) in files {
            pending.log.agent_wrote(Path::new(path), *before, *after);
            let status = pending.status_of(Path::new(path)).unwrap();
            pending.files.push(file(path, status, Content::Text));
        }
        pending
    }

    /// The list with the names of the changes replaced by `id`.
    fn listed(pending: &mut Pending, paint: Paint, reader: Reader) -> String {
        pending.name();
        for file in &mut pending.files {
            file.hunks.iter_mut().for_each(|hunk| hunk.id = "id".into());
        }
        render(pending, paint, reader)
    }

    #[test]
    fn each_change_is_a_hunk_of_a_unified_diff_of_its_own() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13";
        let after = "1\nB\n3\n4\n5\nF\n7\n8\n9\n10\n11\n12\n13\nN\n";
        let mut pending = pending(&[
            ("a b", Some(before), Some(after)),
            ("new", None, Some("x\n")),
            ("old", Some("y\nz\n"), None),
        ]);
        let wanted = "\
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
        assert_eq!(listed(&mut pending, Paint::Plain, Reader::Other), wanted);
        assert_eq!(sum(&pending), "5 changes in 3 files");
    }

    #[test]
    fn a_terminal_gets_colours_and_no_control_characters() {
        let mut pending = pending(&[("a\u{7}", Some("x\r\n"), Some("\u{1b}[2Jy\r\n"))]);
        let list = listed(&mut pending, Paint::Colour, Reader::Terminal);
        assert!(
            list.contains("\u{1b}[31m-x\u{1b}[0m\n\u{1b}[32m+[2Jy\u{1b}[0m\n"),
            "{list:?}"
        );
        assert!(list.starts_with("\u{1b}[1ma?\u{1b}[0m"), "{list:?}");
        let list = listed(&mut pending, Paint::Plain, Reader::Other);
        assert!(list.contains("-x\r\n+\u{1b}[2Jy\r\n"), "{list:?}");
    }

    #[test]
    fn what_is_not_text_is_said_in_a_line() {
        let mut pending = Pending::default();
        let whole = Whole {
            base: Some(Bytes::from_static(b"\xff")),
            current: Some(Bytes::from_static(b"\xff\xff")),
            authors: Authors::Mixed,
        };
        pending.files.push(file("a", Status::Modified, Content::Whole(whole)));
        pending.files.push(file(
            "b",
            Status::Modified,
            Content::Unreadable("b is a directory".into()),
        ));
        let wanted = "a modified not text: 1 byte became 2 bytes\n#1 id (your own edits are part of it)\n\n\
                      b modified cannot be reviewed: b is a directory\n";
        assert_eq!(listed(&mut pending, Paint::Plain, Reader::Other), wanted);
    }
}
