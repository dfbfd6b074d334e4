//! `<<<<<<< SEARCH` blocks: with a file name above, a line hint, Roo's `:start_line:` header and escaped markers.

use crate::format::{EditDelta, EditEvent, MalformedEdit};
use crate::parse::{LineBuffer, event, with_newline};
use crate::parsed_edit::{EditChange, ParsedEdit, ReplaceScope, ReplaceUnit, Replacement};
use crate::plan::looks_like_path;

/// Parses blocks line by line.
#[derive(Debug, Default)]
pub(crate) struct SearchReplaceParser {
    lines: LineBuffer,
    number: usize,
    edits: Vec<ParsedEdit>,
    /// The last lines outside of blocks, newest last.
    before: Vec<String>,
    names: Vec<String>,
    block: Option<SearchReplaceBlock>,
    problem: Option<MalformedEdit>,
}

#[derive(Debug)]
struct SearchReplaceBlock {
    started: usize,
    hint: Option<usize>,
    indent: String,
    /// Whether the next line may be a header such as `:start_line:`.
    in_header: bool,
    /// Content that contains separators.
    content: Vec<String>,
    separators: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConflictMarker {
    Search { hint: Option<usize> },
    Separator,
    Replace,
}

impl SearchReplaceParser {
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
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.block {
            Some(block) => {
                let missing = if block.separators.is_empty() {
                    "`=======`"
                } else {
                    "`>>>>>>> REPLACE`"
                };
                Err(MalformedEdit::new(
                    self.edits.len() + 1,
                    block.started,
                    format!("the block that starts here has no {missing}"),
                ))
            }
            None => Ok(self.edits),
        }
    }

    fn line(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        self.number += 1;
        if self.problem.is_some() {
            return;
        }
        match self.block.take() {
            None => self.outside(line, events),
            Some(block) => self.inside(block, line, events),
        }
    }

    fn outside(&mut self, line: &str, events: &mut Vec<EditEvent>) {
        let bare = line.trim_start();
        match mark(bare) {
            Some(ConflictMarker::Search { hint }) => {
                let found = names(&self.before);
                if !found.is_empty() {
                    self.names = found;
                }
                self.before.clear();
                let indent = line[..line.len() - bare.len()].to_owned();
                let started = EditDelta::Started {
                    name: self.names.first().cloned(),
                    hint,
                };
                events.push(event(self.edits.len(), started));
                self.block = Some(SearchReplaceBlock {
                    started: self.number,
                    hint,
                    indent,
                    in_header: true,
                    content: Vec::new(),
                    separators: Vec::new(),
                });
            }
            Some(ConflictMarker::Replace) if line == bare => {
                self.problem = Some(MalformedEdit::new(
                    self.edits.len() + 1,
                    self.number,
                    "`>>>>>>> REPLACE` without a `<<<<<<< SEARCH` before it",
                ));
            }
            Some(ConflictMarker::Replace | ConflictMarker::Separator) | None => {
                self.before.push(line.to_owned());
                if self.before.len() > 3 {
                    self.before.remove(0);
                }
            }
        }
    }

    fn inside(&mut self, mut block: SearchReplaceBlock, line: &str, events: &mut Vec<EditEvent>) {
        let edit = self.edits.len();
        let text = line.strip_prefix(block.indent.as_str()).unwrap_or(line);
        match mark(text) {
            Some(ConflictMarker::Search { .. }) => {
                self.problem = Some(MalformedEdit::new(
                    edit + 1,
                    self.number,
                    "`<<<<<<< SEARCH` inside a block that is not closed",
                ));
                return;
            }
            Some(ConflictMarker::Separator) => {
                block.in_header = false;
                block.separators.push(block.content.len());
                block.content.push(text.to_owned());
            }
            Some(ConflictMarker::Replace) => {
                if block.separators.is_empty() {
                    self.problem = Some(MalformedEdit::new(
                        edit + 1,
                        self.number,
                        "`>>>>>>> REPLACE` before any `=======`",
                    ));
                    return;
                }
                events.push(event(edit, EditDelta::Finished));
                self.close(block);
                return;
            }
            None => self.content(&mut block, line, events),
        }
        self.block = Some(block);
    }

    fn content(&mut self, block: &mut SearchReplaceBlock, line: &str, events: &mut Vec<EditEvent>) {
        let edit = self.edits.len();
        if block.in_header {
            if let Some(number) = header_number(line, ":start_line:") {
                block.hint = Some(number);
                return;
            }
            if header_number(line, ":end_line:").is_some() {
                return;
            }
            let is_rule = (5..=9).contains(&line.trim_end().len()) && line.trim_end().chars().all(|c| c == '-');
            block.in_header = false;
            if is_rule && block.hint.is_some() {
                return;
            }
        }
        let in_new = !block.separators.is_empty();
        // The line below Roo's header, written again above the new text.
        let is_repeated_rule = block.hint.is_some()
            && line.trim_end() == "-------"
            && block.separators.last().is_some_and(|at| at + 1 == block.content.len())
            && !block.content.iter().any(|other| other.trim_end() == "-------");
        if in_new && is_repeated_rule {
            return;
        }
        if in_new && (header_number(line, ":start_line:").is_some() || header_number(line, ":end_line:").is_some()) {
            let known = block.content.iter().any(|other| other.trim() == line.trim());
            if !known {
                self.problem = Some(MalformedEdit::new(
                    edit + 1,
                    self.number,
                    "a line marker inside the new text",
                ));
                return;
            }
        }
        let text = unescaped(line).to_owned();
        let delta = if in_new {
            EditDelta::New(with_newline(&text))
        } else {
            EditDelta::Old(with_newline(&text))
        };
        events.push(event(edit, delta));
        block.content.push(text);
    }

    fn close(&mut self, block: SearchReplaceBlock) {
        let readings = block
            .separators
            .iter()
            .map(|at| (joined(&block.content[..*at]), joined(&block.content[at + 1..])))
            .collect();
        let replace = Replacement {
            readings,
            hint: block.hint,
            scope: ReplaceScope::One,
            unit: ReplaceUnit::Lines,
        };
        self.edits
            .push(ParsedEdit::guessed(self.names.clone(), EditChange::Replace(replace)));
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// Markers have five to nine signs; a stray `>` or `<` after the word is tolerated.
fn mark(line: &str) -> Option<ConflictMarker> {
    let line = line.trim_end();
    let signs = |sign: char| line.chars().take_while(|c| *c == sign).count();
    let rest = |count: usize| line.get(count..).unwrap_or_default();
    match line.chars().next()? {
        sign @ ('<' | '-') if (5..=9).contains(&signs(sign)) => {
            let rest = rest(signs(sign)).trim_start().strip_prefix("SEARCH")?;
            let rest = rest.trim_start_matches([' ', '>']);
            if rest.is_empty() {
                return Some(ConflictMarker::Search { hint: None });
            }
            let number = rest.strip_prefix("line")?.trim_start_matches(['=', ':', ' ', '"']);
            let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
            Some(ConflictMarker::Search {
                hint: digits.parse().ok(),
            })
        }
        '=' if (5..=9).contains(&signs('=')) && rest(signs('=')).is_empty() => Some(ConflictMarker::Separator),
        sign @ ('>' | '+') if (5..=9).contains(&signs(sign)) => {
            let rest = rest(signs(sign)).trim_start().strip_prefix("REPLACE")?;
            rest.trim_matches([' ', '<', '>'])
                .is_empty()
                .then_some(ConflictMarker::Replace)
        }
        _ => None,
    }
}

/// A backslash before a marker makes it content.
fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest)
            if mark(rest).is_some()
                || header_number(rest, ":start_line:").is_some()
                || header_number(rest, ":end_line:").is_some()
                || rest.trim_end().len() >= 5 && rest.trim_end().chars().all(|c| c == '-')
                || rest.starts_with("<<<<<<<")
                || rest.starts_with(">>>>>>>") =>
        {
            rest
        }
        _ => line,
    }
}

fn header_number(line: &str, name: &str) -> Option<usize> {
    line.trim().strip_prefix(name)?.trim().parse().ok()
}

/// Possible file names in the three lines above a block, nearest first.
fn names(before: &[String]) -> Vec<String> {
    let (mut names, mut mentions) = (Vec::new(), Vec::new());
    for line in before.iter().rev() {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~") || bare.starts_with("<source>");
        if bare.is_empty() || is_fence || bare.starts_with("</") {
            // A fence with the file name: ```python src/main.py or ```src/main.py.
            let info = bare.trim_start_matches(['`', '~']).trim();
            let last = info.rsplit(' ').next().unwrap_or_default();
            if is_fence && looks_like_path(last) && last.contains('.') && !bare.starts_with('<') {
                names.push(last.to_owned());
            }
            continue;
        }
        if bare.starts_with('>') {
            break;
        }
        names.push(bare.to_owned());
        mentions.extend(
            bare.split('`')
                .skip(1)
                .step_by(2)
                .filter(|name| looks_like_path(name))
                .map(str::to_owned),
        );
    }
    names.extend(mentions);
    names
}
