//! `*** Begin Patch`: files added, updated, moved and deleted; tolerates errors in markers, headers and wrappers.

use crate::format::{EditDelta, EditEvent, MalformedEdit};
use crate::parse::{LineBuffer, event, with_newline};
use crate::parsed_edit::{EditChange, EndOfFile, HunkLine, ParsedEdit, PatchHunk};

/// Parses a patch line by line.
#[derive(Debug, Default)]
pub(crate) struct ApplyPatchParser {
    lines: LineBuffer,
    number: usize,
    edits: Vec<ParsedEdit>,
    section: PatchSection,
    has_begun: bool,
    has_ended: bool,
    problem: Option<MalformedEdit>,
}

#[derive(Debug, Default)]
enum PatchSection {
    #[default]
    None,
    Add {
        path: String,
        content: String,
        /// Unmarked blank lines, which count only if more lines follow.
        blanks: usize,
    },
    Update {
        path: String,
        to: Option<String>,
        started: usize,
        hunks: Vec<PatchHunk>,
        hunk: PatchHunk,
    },
    /// After a deletion only the next file may follow.
    Deleted,
}

enum PatchMarker<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    Move(&'a str),
    EndOfFile,
    Unknown,
}

impl ApplyPatchParser {
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
        }
        if !self.has_ended {
            self.drop_wrapper();
        }
        self.close(&mut Vec::new());
        match self.problem {
            Some(problem) => Err(problem),
            None if !self.has_begun => Err(MalformedEdit::new(
                0,
                1,
                "the patch does not start with `*** Begin Patch`",
            )),
            None => Ok(self.edits),
        }
    }

    fn line(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        self.number += 1;
        if self.has_ended && line.trim() == "*** Begin Patch" {
            self.has_ended = false;
            return;
        }
        if self.problem.is_some() || self.has_ended {
            return;
        }
        // In a hunk, an indented instruction is context; elsewhere it can only be an instruction.
        let is_padded = !matches!(self.section, PatchSection::Update { .. }) && line.trim_start().starts_with("*** ");
        match mark(if is_padded { line.trim_start() } else { line }) {
            Some(mark) => self.mark(mark, line, events),
            None if self.has_begun => self.content(line, events),
            None => {}
        }
    }

    fn mark(&mut self, mark: PatchMarker<'_>, line: &str, events: &mut Vec<EditEvent>) {
        match mark {
            PatchMarker::Begin if !self.has_begun => self.has_begun = true,
            PatchMarker::Begin => self.fail("a second `*** Begin Patch`"),
            PatchMarker::End => {
                self.close(events);
                self.has_ended = self.has_begun;
            }
            PatchMarker::Add(path) => {
                self.open(path, events);
                self.section = PatchSection::Add {
                    path: path.to_owned(),
                    content: String::new(),
                    blanks: 0,
                };
            }
            PatchMarker::Update(path) => {
                self.open(path, events);
                self.section = PatchSection::Update {
                    path: path.to_owned(),
                    to: None,
                    started: self.number,
                    hunks: Vec::new(),
                    hunk: PatchHunk::default(),
                };
            }
            PatchMarker::Delete(path) => {
                self.open(path, events);
                self.edits
                    .push(ParsedEdit::stated(vec![path.to_owned()], EditChange::Delete));
                events.push(event(self.edits.len() - 1, EditDelta::Finished));
                self.section = PatchSection::Deleted;
            }
            PatchMarker::Move(target) => match &mut self.section {
                PatchSection::Update { to, .. } if to.is_none() => *to = Some(target.to_owned()),
                _ => self.fail("`*** Move to:` outside an update"),
            },
            PatchMarker::EndOfFile => match &mut self.section {
                PatchSection::Update { hunk, .. } => hunk.at_end = true,
                _ => self.content(line, events),
            },
            PatchMarker::Unknown if self.has_begun => self.fail(&format!("unknown instruction `{}`", line.trim())),
            PatchMarker::Unknown => {}
        }
    }

    fn open(&mut self, path: &str, events: &mut Vec<EditEvent>) {
        self.has_begun = true;
        self.close(events);
        if path.is_empty() {
            self.fail("the instruction names no file");
        }
        events.push(event(
            self.edits.len(),
            EditDelta::Started {
                name: Some(path.to_owned()),
                hint: None,
            },
        ));
    }

    fn content(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        let edit = self.edits.len();
        match &mut self.section {
            PatchSection::None | PatchSection::Deleted => {
                if !line.trim().is_empty() {
                    self.fail(&format!(
                        "`{}` is neither an instruction nor part of one",
                        shortened(line)
                    ));
                }
            }
            PatchSection::Add { content, blanks, .. } => match line.strip_prefix('+') {
                Some(text) => {
                    content.push_str(&"\n".repeat(std::mem::take(blanks)));
                    content.push_str(text);
                    content.push('\n');
                    events.push(event(edit, EditDelta::New(with_newline(text))));
                }
                None if line.trim().is_empty() => *blanks += 1,
                None => self.fail("every line of an added file must start with `+`"),
            },
            PatchSection::Update { hunks, hunk, .. } => {
                if let Some(header) = line.strip_prefix("@@") {
                    next_hunk(hunks, hunk, header);
                } else {
                    if hunk.at_end && hunk.is_change() && !line.trim().is_empty() {
                        next_hunk(hunks, hunk, "");
                    }
                    hunk.lines.push(hunk_line(line));
                    events.push(event(edit + hunks.len(), line_delta(hunk.lines.last())));
                }
            }
        }
    }

    fn close(&mut self, events: &mut Vec<EditEvent>) {
        match std::mem::take(&mut self.section) {
            PatchSection::None | PatchSection::Deleted => {}
            PatchSection::Add { path, content, .. } => {
                self.edits
                    .push(ParsedEdit::stated(vec![path], EditChange::Create(content)));
                events.push(event(self.edits.len() - 1, EditDelta::Finished));
            }
            PatchSection::Update {
                path,
                to,
                started,
                mut hunks,
                mut hunk,
            } => {
                next_hunk(&mut hunks, &mut hunk, "");
                let hunks = without_empty_hunks(hunks);
                if hunks.is_empty() && to.is_none() && self.problem.is_none() {
                    let edit = self.edits.len() + 1;
                    self.problem = Some(MalformedEdit::new(
                        edit,
                        started,
                        "the update changes nothing: it has no `+` or `-` line",
                    ));
                    return;
                }
                for hunk in hunks {
                    self.edits
                        .push(ParsedEdit::stated(vec![path.clone()], EditChange::Hunk(hunk)));
                    events.push(event(self.edits.len() - 1, EditDelta::Finished));
                }
                if let Some(to) = to {
                    self.edits.push(ParsedEdit::stated(vec![path], EditChange::Move(to)));
                    events.push(event(self.edits.len() - 1, EditDelta::Finished));
                }
            }
        }
    }

    /// Without an end marker, the end of a here-document or a fence is not content.
    fn drop_wrapper(&mut self) {
        if let PatchSection::Update { hunk, .. } = &mut self.section {
            while let Some(HunkLine::Keep { text, bare: true }) = hunk.lines.last() {
                if !matches!(text.trim(), "" | "```" | "EOF" | "PATCH") {
                    break;
                }
                hunk.lines.pop();
            }
        }
    }

    fn fail(&mut self, problem: &str) {
        if self.problem.is_none() {
            self.problem = Some(MalformedEdit::new(self.edits.len() + 1, self.number, problem));
        }
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

fn line_delta(line: Option<&HunkLine>) -> EditDelta {
    match line {
        Some(HunkLine::Add(text)) => EditDelta::New(with_newline(text)),
        Some(HunkLine::Remove(text)) => EditDelta::Old(with_newline(text)),
        Some(HunkLine::Keep { text, .. }) => EditDelta::Kept(with_newline(text)),
        None => EditDelta::Finished,
    }
}

/// Markers are at the start of a line; begin and end may be indented.
fn mark(line: &str) -> Option<PatchMarker<'_>> {
    match line.trim() {
        "*** Begin Patch" => return Some(PatchMarker::Begin),
        "*** End Patch" => return Some(PatchMarker::End),
        _ => {}
    }
    let rest = line.strip_prefix("***")?;
    if let Some(name) = rest.strip_prefix(" Add File:") {
        Some(PatchMarker::Add(name.trim()))
    } else if let Some(name) = rest.strip_prefix(" Update File:") {
        Some(PatchMarker::Update(name.trim()))
    } else if let Some(name) = rest.strip_prefix(" Delete File:") {
        Some(PatchMarker::Delete(name.trim()))
    } else if let Some(name) = rest.strip_prefix(" Move to:") {
        Some(PatchMarker::Move(name.trim()))
    } else if rest.trim() == "End of File" {
        Some(PatchMarker::EndOfFile)
    } else {
        Some(PatchMarker::Unknown)
    }
}

/// A line in a hunk. Without a marker it is context.
pub(crate) fn hunk_line(line: &str) -> HunkLine {
    match line.split_at_checked(1) {
        Some(("+", text)) => HunkLine::Add(text.to_owned()),
        Some(("-", text)) => HunkLine::Remove(text.to_owned()),
        Some((" ", text)) => HunkLine::Keep {
            text: text.to_owned(),
            bare: false,
        },
        _ => HunkLine::Keep {
            text: line.to_owned(),
            bare: true,
        },
    }
}

/// Ends the current hunk and starts one under `header`; consecutive headers are stacked.
fn next_hunk(hunks: &mut Vec<PatchHunk>, hunk: &mut PatchHunk, header: &str) {
    let (name, hint) = header_parts(header);
    if hunk
        .lines
        .iter()
        .all(|line| matches!(line, HunkLine::Keep { text, .. } if text.trim().is_empty()))
        && !hunk.at_end
    {
        hunk.lines.clear();
        if hunk.hint.is_some() || hint.is_some() {
            hunk.headers.clear();
        }
    } else {
        hunks.push(std::mem::take(hunk));
    }
    hunk.headers.extend(name);
    hunk.hint = hint.or(hunk.hint);
}

/// The header's text, and the line of a `-12,3 +12,4 @@` header.
pub(crate) fn header_parts(header: &str) -> (Option<String>, Option<usize>) {
    let mut text = header.trim();
    let mut hint = None;
    if let Some(rest) = text.strip_prefix('-')
        && rest.starts_with(|c: char| c.is_ascii_digit())
    {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        hint = digits.parse().ok();
        // The text after the second `@@` names the enclosing definition and may be truncated: it is not needed if there
        // is a line number.
        text = "";
    }
    text = text.strip_suffix("@@").unwrap_or(text).trim();
    let is_name = !text.is_empty() && !matches!(text, "..." | "…") && !crate::placeholder::is_omission(text);
    (is_name.then(|| text.to_owned()), hint)
}

/// Hunks that only quote lines become headers of the next one.
fn without_empty_hunks(hunks: Vec<PatchHunk>) -> Vec<PatchHunk> {
    let mut out: Vec<PatchHunk> = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    for mut hunk in hunks {
        if hunk.is_change() {
            waiting.append(&mut hunk.headers);
            hunk.headers = std::mem::take(&mut waiting);
            hunk.end = EndOfFile::Unspecified;
            out.push(hunk);
        } else {
            waiting.append(&mut hunk.headers);
            let last = hunk.lines.iter().rev().find_map(|line| match line {
                HunkLine::Keep { text, .. } if !text.trim().is_empty() => Some(text.clone()),
                _ => None,
            });
            waiting.extend(last);
        }
    }
    out
}
