//! Finds definitions and uses of a symbol by searching the code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use index::{Language, MentionRole, NameMention, Outline};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, Error};
use workspace::{CaseSensitivity, GrepQuery, Location, ResultPage, StopSignal};

use crate::support::arguments;
use crate::support::code_server::{CodeLocation, SymbolQuery};
use crate::support::project::{Project, run_blocking, run_search, search_notes};

/// Maximum number of lines that contain the name.
const MAX_LINES: usize = 5_000;
const MAX_LINE: usize = 200;
/// The time limit per file.
const FILE_TIME: Duration = Duration::from_secs(1);

/// Finds where a symbol is defined.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SymbolInput {
    /// Its name, such as `parse` or `Parser::parse`.
    #[serde(alias = "name", alias = "symbol_name", alias = "query")]
    symbol: String,
    /// A file that uses it, if the name is ambiguous.
    #[serde(alias = "file_path", alias = "filePath")]
    path: Option<String>,
    /// The line there.
    line: Option<usize>,
}

/// Rewrites the arguments of other agents' symbol tools.
pub(crate) fn adapt(input: &mut Map<String, Value>) {
    // Zed nests the symbol.
    if let Some(Value::Object(symbol)) = input.get("symbol").cloned() {
        input.remove("symbol");
        for (name, value) in symbol {
            input.entry(name).or_insert(value);
        }
    }
    arguments::rename(input, &["symbolName", "symbol_name", "name", "query"], "symbol");
    arguments::rename(input, &["filePath", "file_path", "uri"], "path");
    arguments::rename(input, &["newName"], "new_name");
    for name in ["path", "line", "offset"] {
        if input.get(name).is_some_and(arguments::is_empty) {
            input.remove(name);
        }
    }
}

impl SymbolInput {
    pub(crate) fn title(&self) -> String {
        self.symbol.clone()
    }

    /// The approvals: the search reads the whole project.
    pub(crate) fn actions(&self, project: &Project) -> Vec<Action> {
        let named = self.path.iter().flat_map(|path| project.read_actions(path));
        project.search_actions("").into_iter().chain(named).collect()
    }

    pub(crate) fn symbol(&self, project: &Project) -> Result<SymbolQuery, Error> {
        if parts(&self.symbol).1.is_empty() {
            return Err(Error::Failed(
                "symbol is empty; give the name of a function, type or the like".into(),
            ));
        }
        let path = self.path.as_deref().map(|path| project.locate(path)).transpose()?;
        Ok(SymbolQuery {
            name: self.symbol.clone(),
            path: path.map(|path| path.path().to_owned()),
            line: self.line,
        })
    }
}

/// The matches of a symbol.
#[derive(Debug, Default)]
pub(crate) struct SymbolMatches {
    /// The matches, best first.
    pub(crate) matches: Vec<SymbolMatch>,
    /// The number of files in unsupported languages that contain the name.
    pub(crate) elsewhere: usize,
    /// Whether there may be more.
    pub(crate) incomplete: bool,
    /// Notes on what could not be searched.
    pub(crate) gaps: Vec<String>,
}

/// A match of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolMatch {
    /// The path to show.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The text of the line, truncated.
    pub(crate) text: String,
    /// The enclosing definitions, such as `Parser::next`.
    pub(crate) within: String,
    /// Definition or use.
    pub(crate) role: MentionRole,
    /// The lines of the definition, if it is one.
    pub(crate) span: Option<(usize, usize)>,
}

/// Splits a name into its owners and the name itself.
pub(crate) fn parts(name: &str) -> (Vec<&str>, &str) {
    let mut parts: Vec<&str> = name
        .trim()
        .trim_end_matches("()")
        .split([':', '.', '#', '\\', '/'])
        .flat_map(|part| part.split("->"))
        .filter(|part| !part.is_empty())
        .collect();
    let own = parts.pop().unwrap_or_default();
    (parts, own)
}

/// Searches for a symbol in the files below a directory.
pub(crate) fn find(
    root: &Location,
    symbol: &SymbolQuery,
    stop: &StopSignal,
) -> Result<SymbolMatches, workspace::Error> {
    let (owners, own) = parts(&symbol.name);
    let pattern = escape(own);
    let grep = GrepQuery {
        pattern: &pattern,
        exclude: None,
        case: CaseSensitivity::Sensitive,
        include: None,
        kind: None,
        ignored: workspace::IgnoredFiles::Skip,
        context: 0,
        page: ResultPage {
            offset: 0,
            limit: MAX_LINES,
        },
        max_line: MAX_LINE,
        multiline: false,
    };
    let matches = root.grep(&grep, stop)?;
    let mut found = SymbolMatches {
        incomplete: matches.total > matches.shown,
        gaps: search_notes(matches.ended, matches.unreadable),
        ..SymbolMatches::default()
    };
    for file in matches.files {
        if stop.is_due() {
            found.incomplete = true;
            break;
        }
        match mentions(root, &file.path, own) {
            Some(matches) => found.matches.extend(matches),
            None => found.elsewhere += 1,
        }
    }
    if !owners.is_empty() {
        prefer_owners(&mut found.matches, &owners);
    }
    if let Some(near) = &symbol.path {
        let near = root.show_path(near).into_owned();
        found
            .matches
            .sort_by_key(|symbol_match| std::cmp::Reverse(shared(&symbol_match.path, &near)));
    }
    Ok(found)
}

/// The matches in a file; `None` if its language is not supported.
fn mentions(root: &Location, path: &str, name: &str) -> Option<Vec<SymbolMatch>> {
    let file = root.project_path(Path::new(path));
    let text = file.read_text().ok()?.content;
    Language::detect(Path::new(path), &text)?;
    let (mentions, outline) = index::mentions(Path::new(path), &text, name, FILE_TIME).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let mut matches: Vec<SymbolMatch> = Vec::new();
    for NameMention { line, role, .. } in mentions {
        if let Some(last) = matches.last_mut().filter(|last| last.line == line) {
            if role == MentionRole::Definition {
                last.role = role;
            }
            continue;
        }
        let defined = outline.definitions.iter().find(|definition| {
            role == MentionRole::Definition && definition.name_line == line && definition.name == name
        });
        let text = lines.get(line - 1).copied().unwrap_or_default().trim();
        matches.push(SymbolMatch {
            path: path.to_owned(),
            line,
            text: cut(text),
            within: match defined {
                Some(_) => outside(&outline, line),
                None => outline.path_to(line),
            },
            role,
            span: defined.map(|definition| (definition.first, definition.last)),
        });
    }
    Some(matches)
}

/// The definitions around a definition, without its own name.
fn outside(outline: &Outline, line: usize) -> String {
    let path = outline.path_to(line);
    path.rsplit_once("::")
        .map_or(String::new(), |(outer, _)| outer.to_owned())
}

/// Adds a location to a symbol without one, as language servers require: its definition, or else a use.
pub(crate) async fn resolve_location(project: &Project, symbol: SymbolQuery) -> Result<SymbolQuery, Error> {
    if symbol.path.is_some() {
        return Ok(symbol);
    }
    let root = project.locate("")?;
    let query = symbol.clone();
    let (root, found) = run_search(move |stop| find(&root, &query, stop).map(|found| (root, found))).await?;
    let best = found
        .matches
        .iter()
        .min_by_key(|symbol_match| symbol_match.role == MentionRole::Use);
    let Some(best) = best else {
        return Ok(symbol);
    };
    Ok(SymbolQuery {
        path: Some(root.project_path(Path::new(&best.path)).path().to_owned()),
        line: Some(best.line),
        ..symbol
    })
}

/// The locations reported by a language server that may be read. A server can name any file.
async fn permitted_locations(
    project: &Project,
    context: &CallContext,
    mut locations: Vec<CodeLocation>,
) -> Vec<CodeLocation> {
    let mut decided: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for location in &locations {
        if decided.contains_key(&location.path) {
            continue;
        }
        let is_permitted = match project.locate(&location.path) {
            // Only its path is shown.
            Ok(location) if !location.is_inside() => !project.workspace.is_hidden(location.path()),
            Ok(location) if project.workspace.is_hidden(location.path()) => false,
            Ok(_) => {
                let mut is_permitted = true;
                for action in project.read_actions(&location.path.to_string_lossy()) {
                    is_permitted &= context.permit(action).await.is_ok();
                }
                is_permitted
            }
            Err(_) => false,
        };
        decided.insert(location.path.clone(), is_permitted);
    }
    locations.retain(|location| decided.get(&location.path).copied().unwrap_or_default());
    locations
}

/// The matches at the locations that a language server reported; `None` without any, so that the code is searched.
pub(crate) async fn server_matches(
    project: &Project,
    context: &CallContext,
    locations: Option<Vec<CodeLocation>>,
    role: MentionRole,
) -> Result<Option<SymbolMatches>, Error> {
    let Some(locations) = locations.filter(|locations| !locations.is_empty()) else {
        return Ok(None);
    };
    let root = project.locate("")?;
    let locations = permitted_locations(project, context, locations).await;
    let matches = run_blocking(move || {
        let at = |location| location_at(&root, location, role);
        Ok(locations.iter().map(at).collect())
    });
    Ok(Some(SymbolMatches {
        matches: matches.await?,
        ..SymbolMatches::default()
    }))
}

/// The match at a location reported by a language server; a definition with all of its lines. Outside of the project, it
/// has no text: reading there needs approval.
fn location_at(root: &Location, location: &CodeLocation, role: MentionRole) -> SymbolMatch {
    let path = root.show_path(&location.path).into_owned();
    let file = root.sibling(&path).ok().filter(Location::is_inside);
    let file = file.and_then(|file| file.read_text().ok());
    let content = file.map(|text| text.content).unwrap_or_default();
    let line = content.lines().nth(location.line.saturating_sub(1)).unwrap_or_default();
    let outline = match role {
        MentionRole::Definition => index::outline(Path::new(&path), &content, FILE_TIME).ok(),
        MentionRole::Use => None,
    };
    let defined = outline.as_ref().and_then(|outline| {
        let mut here = outline.definitions.iter();
        here.find(|definition| definition.name_line == location.line)
            .map(|definition| (outside(outline, location.line), (definition.first, definition.last)))
    });
    let (within, span) = defined.unzip();
    SymbolMatch {
        text: cut(line.trim()),
        path,
        line: location.line,
        within: within.unwrap_or_default(),
        role,
        span,
    }
}

/// For `Parser::next`, keeps only definitions inside something called `Parser`, if there are any.
fn prefer_owners(matches: &mut Vec<SymbolMatch>, owners: &[&str]) {
    let owned = |symbol_match: &SymbolMatch| {
        let within: Vec<&str> = symbol_match.within.split("::").collect();
        owners.last().is_some_and(|owner| {
            within
                .iter()
                .any(|name| name.split(['<', '(', ' ']).next() == Some(owner))
        })
    };
    let is_owned = |symbol_match: &SymbolMatch| {
        symbol_match.role == MentionRole::Definition && (owned(symbol_match) || in_file_of(symbol_match, owners))
    };
    if matches.iter().any(is_owned) {
        matches.retain(|symbol_match| symbol_match.role == MentionRole::Use || is_owned(symbol_match));
    }
}

/// Whether the file is named like the owner: `parser.rs` for `parser::next`.
fn in_file_of(symbol_match: &SymbolMatch, owners: &[&str]) -> bool {
    let path = Path::new(&symbol_match.path);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = path
        .parent()
        .and_then(|folder| folder.file_name())
        .and_then(|name| name.to_str());
    owners
        .last()
        .is_some_and(|owner| *owner == stem || Some(*owner) == folder)
}

/// The number of path components that two paths share; a path shares the most with itself.
fn shared(one: &str, other: &str) -> usize {
    if one == other {
        return usize::MAX;
    }
    one.split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other)
        .count()
}

/// A regular expression that matches the name as a word.
fn escape(name: &str) -> String {
    let edge = |letter: Option<char>| match letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
        true => "\\b",
        false => "",
    };
    let mut pattern = edge(name.chars().next()).to_owned();
    for letter in name.chars() {
        if !letter.is_alphanumeric() && letter != '_' {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push_str(edge(name.chars().next_back()));
    pattern
}

fn cut(text: &str) -> String {
    match text.len() <= MAX_LINE {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(MAX_LINE)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_in_any_language() {
        for (name, owners, own) in [
            ("next", &[][..], "next"),
            ("Parser::next", &["Parser"], "next"),
            ("a.b.C#d()", &["a", "b", "C"], "d"),
            ("$this->run", &["$this"], "run"),
            ("App\\Http\\Kernel", &["App", "Http"], "Kernel"),
            ("", &[], ""),
        ] {
            assert_eq!(parts(name), (owners.to_vec(), own), "{name}");
        }
    }

    #[test]
    fn a_name_is_searched_as_a_word() {
        assert_eq!(escape("a_b"), r"\ba_b\b");
        assert_eq!(escape("empty?"), r"\bempty\?");
        assert_eq!(escape("größe"), r"\bgröße\b");
    }
}
