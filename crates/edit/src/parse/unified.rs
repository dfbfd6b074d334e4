//! Unified diffs. Line numbers are only hints; names, creations, deletions and renames come from the headers.

use crate::format::{EditDelta, EditEvent, MalformedEdit};
use crate::parse::apply_patch::{header_parts, hunk_line};
use crate::parse::{LineBuffer, event, with_newline};
use crate::parsed_edit::{EditChange, EndOfFile, HunkLine, ParsedEdit, PatchHunk};

/// Parses a diff line by line.
#[derive(Debug, Default)]
pub(crate) struct UnifiedDiffParser {
    lines: LineBuffer,
    number: usize,
    edits: Vec<ParsedEdit>,
    file: DiffFile,
    hunk: Option<CountedHunk>,
    /// A `--- ` line, which is a header only if a `+++ ` line follows.
    held: Option<String>,
    in_fence: bool,
    problem: Option<MalformedEdit>,
}

#[derive(Debug, Default)]
struct DiffFile {
    old: Option<String>,
    new: Option<String>,
    rename_to: Option<String>,
    hunks: Vec<PatchHunk>,
}

/// A hunk and the number of remaining lines according to its header.
#[derive(Debug)]
struct CountedHunk {
    hunk: PatchHunk,
    old_left: Option<usize>,
    new_left: Option<usize>,
    /// Whether the last removed and the last added line end without a newline.
    bare_old: bool,
    bare_new: bool,
}

impl UnifiedDiffParser {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<EditEvent> {
        let mut events = Vec::new();
        for line in self.lines.push(chunk) {
            self.line(&line, &mut events);
        }
        events
    }

    pub(crate) fn finish(mut self) -> Result<Vec<ParsedEdit>, MalformedEdit> {
        if let Some(line) = self.lines.finish() {
            self.line(&line, &mut Vec::new());
            let is_short = |hunk: &CountedHunk| {
                hunk.old_left.max(hunk.new_left) > Some(0)
                    && !matches!(hunk.hunk.lines.last(), Some(HunkLine::Keep { .. }))
            };
            if self.hunk.as_ref().is_some_and(is_short) {
                return Err(MalformedEdit::new(
                    self.edits.len() + 1,
                    self.number,
                    "the diff ends before the last line that its `@@` header announces",
                ));
            }
        }
        if let Some(held) = self.held.take() {
            self.content(&held, &mut Vec::new());
        }
        self.close_file();
        self.problem.map_or(Ok(self.edits), Err)
    }

    fn line(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        self.number += 1;
        if let Some(held) = self.held.take() {
            if let Some(name) = line.strip_prefix("+++ ") {
                self.open_file(held.strip_prefix("--- ").unwrap_or_default(), name, events);
                return;
            }
            self.content(&held, events);
        }
        if line.starts_with("--- ") && !self.expects(0) {
            self.held = Some(line.to_owned());
        } else if line.starts_with("diff --git ") {
            self.close_file();
        } else if line.starts_with("@@") {
            self.close_hunk();
            self.open_hunk(line);
        } else if self.hunk.is_some() {
            self.content(line, events);
        } else if let Some(name) = line.strip_prefix("rename to ") {
            self.file.rename_to = Some(name.trim().to_owned());
        } else if let Some(name) = line.strip_prefix("rename from ") {
            self.file.old = Some(name.trim().to_owned());
        } else if line.trim_start().starts_with("```") {
            self.in_fence = !self.in_fence;
        } else if self.is_change_without_hunk(line) && self.problem.is_none() {
            self.problem = Some(MalformedEdit::new(
                self.edits.len() + 1,
                self.number,
                "a changed line that belongs to no hunk; start each hunk with an `@@` header",
            ));
        }
    }

    /// Whether a line after the hunks of a file looks like one of a hunk, rather than text below the diff.
    fn is_change_without_hunk(&self, line: &str) -> bool {
        let is_item = |text: &str| text.starts_with(' ') && !text.starts_with("  ") || text.is_empty();
        let changed = line.strip_prefix('+').or_else(|| line.strip_prefix('-'));
        !self.file.hunks.is_empty() && changed.is_some_and(|text| !is_item(text) && !text.starts_with(['+', '-']))
    }

    /// Whether the header of the current hunk announces more than `lines` removed lines.
    fn expects(&self, lines: usize) -> bool {
        self.hunk
            .as_ref()
            .and_then(|hunk| hunk.old_left)
            .is_some_and(|left| left > lines)
    }

    fn open_file(&mut self, old: &str, new: &str, events: &mut Vec<EditEvent>) {
        // git's headers precede the names and belong to the same file.
        let is_same = self.file.hunks.is_empty() && self.hunk.is_none();
        let rename_to = if is_same {
            std::mem::take(&mut self.file).rename_to
        } else {
            None
        };
        self.close_file();
        self.file = DiffFile {
            old: Some(name_of(old)),
            new: Some(name_of(new)),
            rename_to,
            hunks: Vec::new(),
        };
        let name = if is_dev_null(new) { name_of(old) } else { name_of(new) };
        events.push(event(
            self.edits.len(),
            EditDelta::Started {
                name: Some(name),
                hint: None,
            },
        ));
    }

    fn open_hunk(&mut self, line: &str) {
        let (old, new) = ranges(line);
        // With line numbers, the text after them only names the enclosing definition and may be truncated.
        let name = if old.is_none() {
            header_parts(line.trim_start_matches('@')).0
        } else {
            None
        };
        let hunk = PatchHunk {
            headers: name.into_iter().collect(),
            hint: old.map(|(start, _)| start),
            end: EndOfFile::Unchanged,
            ..PatchHunk::default()
        };
        self.hunk = Some(CountedHunk {
            hunk,
            old_left: old.map(|(_, count)| count),
            new_left: new.map(|(_, count)| count),
            bare_old: false,
            bare_new: false,
        });
    }

    fn content(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        let edit = self.edits.len() + self.file.hunks.len();
        let Some(hunk) = &mut self.hunk else { return };
        if line.starts_with("\\ ") {
            match hunk.hunk.lines.last() {
                Some(HunkLine::Add(_)) => hunk.bare_new = true,
                Some(HunkLine::Remove(_)) => hunk.bare_old = true,
                Some(HunkLine::Keep { .. }) | None => {}
            }
            return;
        }
        let is_over = hunk.old_left == Some(0) && hunk.new_left == Some(0);
        if line.starts_with("```") && self.in_fence || is_over && !line.starts_with(['+', '-', ' ']) {
            self.in_fence = self.in_fence && !line.starts_with("```");
            self.close_hunk();
            return;
        }
        let parsed = hunk_line(line);
        let (takes_old, takes_new) = match &parsed {
            HunkLine::Keep { .. } => (true, true),
            HunkLine::Remove(_) => (true, false),
            HunkLine::Add(_) => (false, true),
        };
        let less = |left: Option<usize>, takes: bool| left.map(|left| left.saturating_sub(usize::from(takes)));
        hunk.old_left = less(hunk.old_left, takes_old);
        hunk.new_left = less(hunk.new_left, takes_new);
        events.push(event(
            edit,
            match &parsed {
                HunkLine::Keep { text, .. } => EditDelta::Kept(with_newline(text)),
                HunkLine::Remove(text) => EditDelta::Old(with_newline(text)),
                HunkLine::Add(text) => EditDelta::New(with_newline(text)),
            },
        ));
        hunk.hunk.lines.push(parsed);
    }

    fn close_hunk(&mut self) {
        if let Some(mut counted) = self.hunk.take() {
            counted.hunk.end = match (counted.bare_old, counted.bare_new) {
                (true, false) => EndOfFile::Newline,
                (_, true) => EndOfFile::NoNewline,
                (false, false) => EndOfFile::Unchanged,
            };
            if counted.hunk.is_change() {
                self.file.hunks.push(counted.hunk);
            }
        }
    }

    fn close_file(&mut self) {
        self.close_hunk();
        let DiffFile {
            old,
            new,
            rename_to,
            hunks,
        } = std::mem::take(&mut self.file);
        let from_nothing = old.as_deref().is_some_and(is_dev_null);
        let to_nothing = new.as_deref().is_some_and(is_dev_null);
        let name = if to_nothing || new.is_none() {
            old.clone()
        } else {
            new.clone()
        };
        let names: Vec<String> = name.iter().flat_map(|name| names(name)).collect();
        if to_nothing {
            self.edits.push(ParsedEdit::stated(names, EditChange::Delete));
            return;
        }
        let only_adds = hunks
            .iter()
            .all(|hunk| hunk.lines.iter().all(|line| matches!(line, HunkLine::Add(_))));
        if from_nothing && only_adds && !hunks.is_empty() {
            self.edits
                .push(ParsedEdit::stated(names, EditChange::Create(added(&hunks))));
            return;
        }
        if hunks.is_empty() && rename_to.is_none() && name.is_some() && self.problem.is_none() {
            self.problem = Some(MalformedEdit::new(
                self.edits.len() + 1,
                self.number,
                "the diff of a file has no hunk",
            ));
            return;
        }
        // The headers also show a rename; the edits are for the old name.
        let renamed = match (&old, &new) {
            (Some(old), Some(new)) if !from_nothing && plain_name(old) != plain_name(new) => {
                Some(plain_name(new).to_owned())
            }
            _ => rename_to,
        };
        let names = match (&renamed, &old) {
            (Some(_), Some(old)) => self::names(old),
            _ => names,
        };
        for hunk in hunks {
            self.edits
                .push(ParsedEdit::stated(names.clone(), EditChange::Hunk(hunk)));
        }
        if let Some(to) = renamed {
            self.edits.push(ParsedEdit::stated(names, EditChange::Move(to)));
        }
    }
}

fn added(hunks: &[PatchHunk]) -> String {
    let mut content = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        if let HunkLine::Add(text) = line {
            content.push_str(text);
            content.push('\n');
        }
    }
    if hunks.last().is_some_and(|hunk| hunk.end == EndOfFile::NoNewline) {
        content.pop();
    }
    content
}

fn is_dev_null(name: &str) -> bool {
    name.trim() == "/dev/null"
}

/// The name without a date after a tab and without quotes.
fn name_of(text: &str) -> String {
    text.split('\t')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches('"')
        .to_owned()
}

fn plain_name(name: &str) -> &str {
    name.strip_prefix("a/")
        .or_else(|| name.strip_prefix("b/"))
        .unwrap_or(name)
}

/// The name as given and without git's `a/` or `b/`; an existing file is preferred.
fn names(name: &str) -> Vec<String> {
    let plain = plain_name(name);
    if plain == name {
        vec![name.to_owned()]
    } else {
        vec![plain.to_owned(), name.to_owned()]
    }
}

type HunkRange = Option<(usize, usize)>;

/// The two ranges of `@@ -1,2 +3,4 @@`.
fn ranges(line: &str) -> (HunkRange, HunkRange) {
    let mut words = line.trim_start_matches('@').split_whitespace();
    let mut range = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    (range('-'), range('+'))
}
