//! The definitions of a file, with their lines.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use tree_sitter::{Node, QueryCursor, QueryCursorOptions, StreamingIterator, Tree};

use crate::parse::parse;
use crate::{Error, Language, SymbolKind};

/// The maximum length of a signature.
const MAX_SIGNATURE: usize = 160;
const MAX_NAME: usize = 100;
/// The maximum number of definitions.
const MAX_DEFINITIONS: usize = 20_000;
/// The maximum number of unfinished matches of a query; the oldest are dropped.
const MAX_MATCHES: u32 = 4_096;
/// The maximum number of recoveries after a syntax error.
const MAX_RECOVERIES: usize = 6;
/// Nodes around a definition that belong to it.
const WRAPPERS: [&str; 4] = [
    "decorated_definition",
    "export_statement",
    "ambient_declaration",
    "template_declaration",
];

/// The definitions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Its language.
    pub language: &'static str,
    /// The definitions, in order of their start.
    pub definitions: Vec<OutlineDefinition>,
    /// The number of lines of the file.
    pub lines: usize,
    /// How much of the file the definitions cover.
    pub coverage: OutlineCoverage,
}

/// Whether the whole file was analysed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutlineCoverage {
    /// All definitions are included.
    Complete,
    /// There are more definitions, or the time limit was reached.
    Partial,
}

/// One definition. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineDefinition {
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// Its first line.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// The line of its name.
    pub name_line: usize,
    /// The text of that line, possibly shortened.
    pub signature: String,
    /// The number of enclosing definitions.
    pub depth: usize,
    /// The byte offset of its name.
    pub(crate) name_at: usize,
}

/// The definitions of a file. The language follows from the path or otherwise from the text.
pub fn outline(path: &Path, text: &str, limit: Duration) -> Result<Outline, Error> {
    let language = Language::detect(path, text).ok_or_else(|| unknown_language(path))?;
    let deadline = Instant::now().checked_add(limit);
    let tree = parse(language, text, limit)?;
    let outline = of_tree(language, &tree, text, deadline)?;
    Ok(recover_after_error(language, &tree, text, limit, outline))
}

pub(crate) fn unknown_language(path: &Path) -> Error {
    let name = path.file_name().unwrap_or(path.as_os_str());
    Error::UnknownLanguage {
        name: name.to_string_lossy().into_owned(),
    }
}

impl Outline {
    /// The definitions that contain a line, outermost first.
    pub fn enclosing_definitions(&self, line: usize) -> impl Iterator<Item = &OutlineDefinition> {
        self.definitions
            .iter()
            .take_while(move |definition| definition.first <= line)
            .filter(move |definition| definition.last >= line)
    }

    /// The names of the definitions that contain a line, such as `Parser::next`.
    pub fn path_to(&self, line: usize) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut depth = None;
        for definition in self.enclosing_definitions(line) {
            // Two definitions may share a line without one containing the other.
            if depth.is_none_or(|depth| definition.depth > depth) {
                names.push(&definition.name);
                depth = Some(definition.depth);
            }
        }
        names.join("::")
    }

    /// The outline with at most this many definitions, and the number of removed ones: the innermost are removed first,
    /// then the last.
    pub fn truncate(mut self, most: usize) -> (Self, usize) {
        let all = self.definitions.len();
        while self.definitions.len() > most {
            let deepest = self.definitions.iter().map(|definition| definition.depth).max();
            match deepest {
                Some(deepest) if deepest > 0 => self.definitions.retain(|definition| definition.depth < deepest),
                Some(_) | None => self.definitions.truncate(most),
            }
        }
        let left = all - self.definitions.len();
        (self, left)
    }

    /// Replaces the definitions from a position on by those of another analysis, if it found more.
    fn replace_from(&mut self, at: usize, text: &str, mut other: Self) {
        let kept = self.definitions.partition_point(|definition| definition.name_at < at);
        if other.definitions.len() <= self.definitions.len() - kept {
            return;
        }
        let rows = text.get(..at).map_or(0, |before| before.matches('\n').count());
        self.definitions.truncate(kept);
        for definition in &mut self.definitions {
            definition.last = definition.last.min(rows.max(definition.name_line));
        }
        for definition in &mut other.definitions {
            definition.first += rows;
            definition.last += rows;
            definition.name_line += rows;
            definition.name_at += at;
        }
        self.definitions.append(&mut other.definitions);
    }

    /// The outline as text, one line per definition: its lines and its signature, indented by depth.
    pub fn render(&self) -> String {
        let lines = self.definitions.iter().map(|definition| definition.render() + "\n");
        lines.collect()
    }
}

impl OutlineDefinition {
    /// One line, such as `  12-40 fn next(&mut self) -> Token {`.
    pub fn render(&self) -> String {
        let indent = "  ".repeat(self.depth.min(8));
        match self.first == self.last {
            true => format!("{indent}{} {}", self.first, self.signature),
            false => format!("{indent}{}-{} {}", self.first, self.last, self.signature),
        }
    }
}

pub(crate) fn of_tree(
    language: &'static Language,
    tree: &Tree,
    text: &str,
    deadline: Option<Instant>,
) -> Result<Outline, Error> {
    let (mut found, part) = query_definitions(language, tree, text, deadline)?;
    found.sort_by_key(|found| (found.start, std::cmp::Reverse(found.end), found.pattern));
    // Patterns go from specific to general, and the first one that matches a node determines its kind.
    found.dedup_by(|later, earlier| {
        later.name_at == earlier.name_at || (later.start, later.end) == (earlier.start, earlier.end)
    });
    let mut open: Vec<usize> = Vec::new();
    let definitions = found
        .into_iter()
        .map(|found| {
            while open.last().is_some_and(|end| *end <= found.start) {
                open.pop();
            }
            let depth = open.len();
            open.push(found.end);
            found.define(text, depth)
        })
        .collect();
    Ok(Outline {
        language: language.name,
        definitions,
        lines: text.lines().count(),
        coverage: part,
    })
}

/// Analyses the text after a syntax error again, because the grammar may not recover: a definition at the left margin
/// is parsed as if the text began there, and kept if that finds more.
pub(crate) fn recover_after_error(
    language: &'static Language,
    tree: &Tree,
    text: &str,
    limit: Duration,
    mut outline: Outline,
) -> Outline {
    let deadline = Instant::now().checked_add(limit);
    let mut next = first_error(tree.root_node()).and_then(|error| next_start(text, error));
    for _ in 0..MAX_RECOVERIES {
        let (Some(at), Some(left)) = (
            next,
            deadline.and_then(|end| end.checked_duration_since(Instant::now())),
        ) else {
            break;
        };
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else {
            break;
        };
        let Ok(tree) = parse(language, rest, left) else { break };
        let Ok(found) = of_tree(language, &tree, rest, deadline) else {
            break;
        };
        outline.replace_from(at, text, found);
        next = first_error(tree.root_node()).and_then(|error| next_start(text, at + error));
    }
    outline
}

/// The position of the first syntax error.
fn first_error(node: Node<'_>) -> Option<usize> {
    let mut node = node;
    if !node.has_error() {
        return None;
    }
    // Iterative, because a tree may be deeper than the stack.
    while !node.is_error() && !node.is_missing() {
        let mut cursor = node.walk();
        let inner = node
            .children(&mut cursor)
            .find(|child| child.has_error() || child.is_missing());
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    Some(node.start_byte())
}

/// The next line after a position that starts at the left margin and follows a blank line or a closing brace.
fn next_start(text: &str, after: usize) -> Option<usize> {
    let mut at = after + text.get(after..)?.find('\n')? + 1;
    let mut fresh = false;
    for line in text.get(at..)?.split_inclusive('\n') {
        if fresh && line.starts_with(|letter: char| !letter.is_whitespace() && !"})]".contains(letter)) {
            return Some(at);
        }
        fresh = line.trim().is_empty() || line.starts_with(['}', ')', ']']) || line.starts_with("end");
        at += line.len();
    }
    None
}

/// A definition found by the query.
struct DefinitionMatch {
    kind: SymbolKind,
    pattern: usize,
    start: usize,
    end: usize,
    first: usize,
    last: usize,
    name_at: usize,
    name_end: usize,
    name_line: usize,
}

fn query_definitions(
    language: &'static Language,
    tree: &Tree,
    text: &str,
    deadline: Option<Instant>,
) -> Result<(Vec<DefinitionMatch>, OutlineCoverage), Error> {
    let query = &language.compiled()?.query;
    let names = query.capture_names();
    let mut late = false;
    let mut in_time = |_: &_| match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        true => {
            late = true;
            ControlFlow::Break(())
        }
        false => ControlFlow::Continue(()),
    };
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(MAX_MATCHES);
    let options = QueryCursorOptions::new().progress_callback(&mut in_time);
    let mut matches = cursor.matches_with_options(query, tree.root_node(), text.as_bytes(), options);
    let mut found = Vec::new();
    while let Some(one) = matches.next() {
        if found.len() >= MAX_DEFINITIONS {
            return Ok((found, OutlineCoverage::Partial));
        }
        let (mut whole, mut name) = (None, None);
        for capture in one.captures() {
            match names.get(capture.index as usize).copied().unwrap_or_default() {
                "name" => name = name.or(Some(capture.node)),
                other => whole = whole.or(SymbolKind::of_capture(other).map(|kind| (kind, capture.node))),
            }
        }
        if let (Some((kind, whole)), Some(name)) = (whole, name) {
            found.push(DefinitionMatch::new(kind, one.pattern_index, whole, name));
        }
    }
    drop(matches);
    Ok((
        found,
        if late {
            OutlineCoverage::Partial
        } else {
            OutlineCoverage::Complete
        },
    ))
}

impl DefinitionMatch {
    fn new(kind: SymbolKind, pattern: usize, whole: Node<'_>, name: Node<'_>) -> Self {
        let mut outer = whole;
        while let Some(parent) = outer.parent().filter(|parent| WRAPPERS.contains(&parent.kind())) {
            outer = parent;
        }
        Self {
            kind,
            pattern,
            start: outer.start_byte(),
            end: whole.end_byte(),
            first: outer.start_position().row + 1,
            last: whole.end_position().row + 1,
            name_at: name.start_byte(),
            name_end: name.end_byte(),
            name_line: name.start_position().row + 1,
        }
    }

    fn define(self, text: &str, depth: usize) -> OutlineDefinition {
        // Some nodes include the blank lines after them.
        let whole = text.get(self.start..self.end).unwrap_or_default();
        let blank = whole
            .get(whole.trim_end().len()..)
            .unwrap_or_default()
            .matches('\n')
            .count();
        let name = text.get(self.name_at..self.name_end).unwrap_or_default();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        OutlineDefinition {
            kind: self.kind,
            name: shorten(name.trim_matches(['"', '\'']), MAX_NAME),
            first: self.first,
            last: self.last.saturating_sub(blank).max(self.name_line),
            name_line: self.name_line,
            signature: shorten(line_at(text, self.name_at).trim(), MAX_SIGNATURE),
            depth,
            name_at: self.name_at,
        }
    }
}

/// The line that contains a byte.
pub(crate) fn line_at(text: &str, at: usize) -> &str {
    let start = text
        .get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |end| end + 1);
    text.get(start..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default()
}

fn shorten(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(most)]),
    }
}
