//! Whole files in code fences, each named by the line above, the fence or the prose before it.

use crate::format::{EditDelta, EditEvent, MalformedEdit};
use crate::parse::{LineBuffer, event, with_newline};
use crate::parsed_edit::{EditChange, ParsedEdit};
use crate::plan::looks_like_path;

/// Parses fenced files line by line.
#[derive(Debug, Default)]
pub(crate) struct WholeFileParser {
    lines: LineBuffer,
    number: usize,
    blocks: Vec<WholeFileBlock>,
    open: Option<OpenFence>,
    /// The prose since the last block.
    before: Vec<String>,
    /// The whole text, in case it has no fence.
    raw: String,
}

#[derive(Debug)]
struct WholeFileBlock {
    named: Option<String>,
    mentioned: Option<String>,
    content: String,
}

#[derive(Debug)]
struct OpenFence {
    started: usize,
    mark: char,
    length: usize,
    depth: usize,
    block: WholeFileBlock,
}

impl WholeFileParser {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<EditEvent> {
        let mut events = Vec::new();
        if self.blocks.is_empty() && self.open.is_none() {
            self.raw.push_str(chunk);
        }
        for line in self.lines.push(chunk) {
            self.line(&line, &mut events);
        }
        events
    }

    pub(crate) fn finish(mut self) -> Result<Vec<ParsedEdit>, MalformedEdit> {
        if let Some(line) = self.lines.finish() {
            self.line(&line, &mut Vec::new());
        }
        if let Some(open) = self.open {
            return Err(MalformedEdit::new(
                self.blocks.len() + 1,
                open.started,
                "the fence that starts here is not closed",
            ));
        }
        if self.blocks.is_empty() {
            let has_text = !self.raw.trim().is_empty();
            return Ok(has_text
                .then(|| ParsedEdit::guessed(Vec::new(), EditChange::Write(self.raw)))
                .into_iter()
                .collect());
        }
        let is_named = self.blocks.iter().any(|block| block.named.is_some());
        let is_mentioned = self.blocks.iter().any(|block| block.mentioned.is_some());
        let count = self.blocks.len();
        let mut edits = Vec::new();
        for block in self.blocks {
            let name = if is_named { block.named } else { block.mentioned };
            match name {
                Some(name) => edits.push(ParsedEdit::guessed(vec![name], EditChange::Write(block.content))),
                // Unnamed fences next to named ones are illustrations.
                None if is_named || is_mentioned => {}
                None if count == 1 => edits.push(ParsedEdit::guessed(Vec::new(), EditChange::Write(block.content))),
                None => {
                    return Err(MalformedEdit::new(
                        0,
                        1,
                        "several code fences without file names: cannot choose one of them",
                    ));
                }
            }
        }
        Ok(edits)
    }

    fn line(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        self.number += 1;
        match self.open.take() {
            None => self.outside(line, events),
            Some(open) => self.inside(open, line, events),
        }
    }

    fn outside(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        let Some((mark, length, info)) = fence(line) else {
            self.before.push(line.to_owned());
            return;
        };
        let named = info_name(info).or_else(|| self.before.last().and_then(|line| line_name(line)));
        let mentioned = mentioned(&self.before);
        self.before.clear();
        events.push(event(
            self.blocks.len(),
            EditDelta::Started {
                name: named.clone().or_else(|| mentioned.clone()),
                hint: None,
            },
        ));
        let block = WholeFileBlock {
            named,
            mentioned,
            content: String::new(),
        };
        self.open = Some(OpenFence {
            started: self.number,
            mark,
            length,
            depth: 0,
            block,
        });
    }

    fn inside(&mut self, mut open: OpenFence, line: &str, events: &mut Vec<EditEvent>) {
        if let Some((mark, length, info)) = fence(line)
            && mark == open.mark
            && length >= open.length
        {
            if !info.is_empty() {
                open.depth += 1;
            } else if open.depth > 0 {
                open.depth -= 1;
            } else {
                events.push(event(self.blocks.len(), EditDelta::Finished));
                self.blocks.push(open.block);
                return;
            }
        }
        events.push(event(self.blocks.len(), EditDelta::New(with_newline(line))));
        open.block.content.push_str(line);
        open.block.content.push('\n');
        self.open = Some(open);
    }
}

/// A fence: its character, length and info string.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = line.get(length..).unwrap_or_default().trim();
    (length >= 3 && !info.contains('`')).then_some((mark, length, info))
}

fn info_name(info: &str) -> Option<String> {
    let last = info.rsplit([' ', ':', '=']).next()?.trim_matches(['"', '\'']);
    (looks_like_path(last) && last.contains(['.', '/'])).then(|| last.to_owned())
}

/// A line that contains only a file name, apart from decoration.
fn line_name(line: &str) -> Option<String> {
    let name = line.trim().trim_start_matches('#').trim();
    let name = name
        .strip_prefix("File:")
        .or_else(|| name.strip_prefix("file:"))
        .unwrap_or(name)
        .trim();
    let name = name
        .trim_matches(['*', '`'])
        .trim_end_matches(':')
        .trim_matches(['*', '`']);
    looks_like_path(name).then(|| name.to_owned())
}

/// The only file that the prose mentions in backticks.
fn mentioned(before: &[String]) -> Option<String> {
    let mut found: Option<String> = None;
    for line in before {
        for name in line.split('`').skip(1).step_by(2) {
            if looks_like_path(name) && name.contains(['.', '/']) && !name.ends_with(')') {
                if found.as_deref().is_some_and(|other| other != name) {
                    return None;
                }
                found = Some(name.to_owned());
            }
        }
    }
    found
}
