//! Whole files in code fences, each named by the line above, the fence itself or the prose before it.

use crate::format::{Delta, Event, Malformed};
use crate::parse::{Lines, ended, event};
use crate::plan::looks_like_path;
use crate::script::{Change, Edit};

/// Reads fenced files line by line.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    lines: Lines,
    number: usize,
    blocks: Vec<Block>,
    open: Option<Open>,
    /// The prose since the last block.
    before: Vec<String>,
    /// Everything, for a text without any fence.
    raw: String,
}

#[derive(Debug)]
struct Block {
    named: Option<String>,
    mentioned: Option<String>,
    content: String,
}

#[derive(Debug)]
struct Open {
    started: usize,
    mark: char,
    length: usize,
    depth: usize,
    block: Block,
}

impl Whole {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<Event> {
        let mut events = Vec::new();
        if self.blocks.is_empty() && self.open.is_none() {
            self.raw.push_str(chunk);
        }
        for line in self.lines.push(chunk) {
            self.line(&line, &mut events);
        }
        events
    }

    pub(crate) fn finish(mut self) -> Result<Vec<Edit>, Malformed> {
        if let Some(line) = self.lines.finish() {
            self.line(&line, &mut Vec::new());
        }
        if let Some(open) = self.open {
            return Err(Malformed::new(
                self.blocks.len() + 1,
                open.started,
                "the fence that starts here is not closed",
            ));
        }
        if self.blocks.is_empty() {
            let has_text = !self.raw.trim().is_empty();
            return Ok(has_text
                .then(|| Edit::guessed(Vec::new(), Change::Write(self.raw)))
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
                Some(name) => edits.push(Edit::guessed(vec![name], Change::Write(block.content))),
                // Fences without a name next to named ones are illustrations.
                None if is_named || is_mentioned => {}
                None if count == 1 => edits.push(Edit::guessed(Vec::new(), Change::Write(block.content))),
                None => {
                    return Err(Malformed::new(
                        0,
                        1,
                        "several code fences and no file names: one of them cannot be chosen",
                    ));
                }
            }
        }
        Ok(edits)
    }

    fn line(&mut self, line: &str, events: &mut Vec<Event>) {
        self.number += 1;
        match self.open.take() {
            None => self.outside(line, events),
            Some(open) => self.inside(open, line, events),
        }
    }

    fn outside(&mut self, line: &str, events: &mut Vec<Event>) {
        let Some((mark, length, info)) = fence(line) else {
            self.before.push(line.to_owned());
            return;
        };
        let named = info_name(info).or_else(|| self.before.last().and_then(|line| line_name(line)));
        let mentioned = mentioned(&self.before);
        self.before.clear();
        events.push(event(
            self.blocks.len(),
            Delta::Started {
                name: named.clone().or_else(|| mentioned.clone()),
                hint: None,
            },
        ));
        let block = Block {
            named,
            mentioned,
            content: String::new(),
        };
        self.open = Some(Open {
            started: self.number,
            mark,
            length,
            depth: 0,
            block,
        });
    }

    fn inside(&mut self, mut open: Open, line: &str, events: &mut Vec<Event>) {
        if let Some((mark, length, info)) = fence(line)
            && mark == open.mark
            && length >= open.length
        {
            if !info.is_empty() {
                open.depth += 1;
            } else if open.depth > 0 {
                open.depth -= 1;
            } else {
                events.push(event(self.blocks.len(), Delta::Finished));
                self.blocks.push(open.block);
                return;
            }
        }
        events.push(event(self.blocks.len(), Delta::New(ended(line))));
        open.block.content.push_str(line);
        open.block.content.push('\n');
        self.open = Some(open);
    }
}

/// A fence: its sign, how many, and what follows.
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

/// A line that is nothing but a file name, decoration aside.
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

/// The one file that the prose mentions in backticks.
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
