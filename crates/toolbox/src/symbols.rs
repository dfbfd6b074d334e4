//! Where a name is defined and used, found by reading the code.

use std::path::Path;
use std::time::Duration;

use index::{Language, Mention, Outline, Role};
use tool::Error;
use workspace::{Case, Grep, Location, Page, Stop};

use crate::code_server::{Spot, Symbol};
use crate::project::{Project, gaps, searching};

/// Lines with the name that are looked at.
const MAX_LINES: usize = 5_000;
const MAX_LINE: usize = 200;
/// How long one file may take.
const FILE_TIME: Duration = Duration::from_secs(1);

/// What was found of a name.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The places, best first.
    pub(crate) places: Vec<Place>,
    /// In how many files the name stands that are in no language we read.
    pub(crate) elsewhere: usize,
    /// Whether there may be more.
    pub(crate) incomplete: bool,
    /// What could not be looked at.
    pub(crate) gaps: Vec<String>,
}

/// A place where a name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as it is shown.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The line's text, perhaps cut.
    pub(crate) text: String,
    /// The definitions around it, such as `Parser::next`.
    pub(crate) within: String,
    /// What it is there for.
    pub(crate) role: Role,
    /// The lines of the definition, where it is one.
    pub(crate) span: Option<(usize, usize)>,
}

/// The parts of a name: what it belongs to, and itself.
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

/// Looks for a name in the files below a folder.
pub(crate) fn find(root: &Location, symbol: &Symbol, stop: &Stop) -> Result<Found, workspace::Error> {
    let (owners, own) = parts(&symbol.name);
    let pattern = escape(own);
    let grep = Grep {
        pattern: &pattern,
        case: Case::Sensitive,
        include: None,
        kind: None,
        context: 0,
        page: Page {
            offset: 0,
            limit: MAX_LINES,
        },
        max_line: MAX_LINE,
        multiline: false,
    };
    let matches = root.grep(&grep, stop)?;
    let mut found = Found {
        incomplete: matches.total > matches.shown,
        gaps: gaps(matches.ended, matches.unreadable),
        ..Found::default()
    };
    for file in matches.files {
        if stop.due() {
            found.incomplete = true;
            break;
        }
        match mentions(root, &file.path, own) {
            Some(places) => found.places.extend(places),
            None => found.elsewhere += 1,
        }
    }
    if !owners.is_empty() {
        prefer_owners(&mut found.places, &owners);
    }
    if let Some(near) = &symbol.path {
        let near = root.show_path(near).into_owned();
        found
            .places
            .sort_by_key(|place| std::cmp::Reverse(shared(&place.path, &near)));
    }
    Ok(found)
}

/// The places of a name in a file; nothing where the file cannot be read as code.
fn mentions(root: &Location, path: &str, name: &str) -> Option<Vec<Place>> {
    let file = root.sibling(path).ok()?;
    let text = file.read_text().ok()?.content;
    Language::of(Path::new(path), &text)?;
    let (mentions, outline) = index::mentions(Path::new(path), &text, name, FILE_TIME).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let mut places: Vec<Place> = Vec::new();
    for Mention { line, role, .. } in mentions {
        if let Some(last) = places.last_mut().filter(|last| last.line == line) {
            if role == Role::Definition {
                last.role = role;
            }
            continue;
        }
        let defined = outline
            .definitions
            .iter()
            .find(|definition| role == Role::Definition && definition.name_line == line && definition.name == name);
        let text = lines.get(line - 1).copied().unwrap_or_default().trim();
        places.push(Place {
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
    Some(places)
}

/// What a definition stands in. Its own name is no news.
fn outside(outline: &Outline, line: usize) -> String {
    let path = outline.path_to(line);
    path.rsplit_once("::")
        .map_or(String::new(), |(outer, _)| outer.to_owned())
}

/// The symbol with a file where it stands, which a language server has to be told: its definition, or else a use of it.
pub(crate) async fn pin(project: &Project, symbol: Symbol) -> Result<Symbol, Error> {
    if symbol.path.is_some() {
        return Ok(symbol);
    }
    let root = project.locate("")?;
    let wanted = symbol.clone();
    let (root, found) = searching(move |stop| find(&root, &wanted, stop).map(|found| (root, found))).await?;
    let best = found.places.iter().min_by_key(|place| place.role == Role::Use);
    let Some(best) = best else {
        return Ok(symbol);
    };
    Ok(Symbol {
        path: root.sibling(&best.path).ok().map(|file| file.path().to_owned()),
        line: Some(best.line),
        ..symbol
    })
}

/// The place that a language server names, with its line, and a definition with all its lines.
pub(crate) fn read(root: &Location, spot: &Spot, role: Role) -> Place {
    let path = root.show_path(&spot.path).into_owned();
    let file = root.sibling(&path).ok().and_then(|file| file.read_text().ok());
    let content = file.map(|text| text.content).unwrap_or_default();
    let line = content.lines().nth(spot.line.saturating_sub(1)).unwrap_or_default();
    let outline = match role {
        Role::Definition => index::outline(Path::new(&path), &content, FILE_TIME).ok(),
        Role::Use => None,
    };
    let defined = outline.as_ref().and_then(|outline| {
        let mut here = outline.definitions.iter();
        here.find(|definition| definition.name_line == spot.line)
            .map(|definition| (outside(outline, spot.line), (definition.first, definition.last)))
    });
    let (within, span) = defined.unzip();
    Place {
        text: cut(line.trim()),
        path,
        line: spot.line,
        within: within.unwrap_or_default(),
        role,
        span,
    }
}

/// With `Parser::next` wanted, leaves only those inside something called `Parser`, if there are any.
fn prefer_owners(places: &mut Vec<Place>, owners: &[&str]) {
    let owned = |place: &Place| {
        let within: Vec<&str> = place.within.split("::").collect();
        owners.last().is_some_and(|owner| {
            within
                .iter()
                .any(|name| name.split(['<', '(', ' ']).next() == Some(owner))
        })
    };
    let is_owned = |place: &Place| place.role == Role::Definition && (owned(place) || in_file_of(place, owners));
    if places.iter().any(is_owned) {
        places.retain(|place| place.role == Role::Use || is_owned(place));
    }
}

/// Whether the file is called like the owner: `parser.rs` for `parser::next`.
fn in_file_of(place: &Place, owners: &[&str]) -> bool {
    let path = Path::new(&place.path);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = path
        .parent()
        .and_then(|folder| folder.file_name())
        .and_then(|name| name.to_str());
    owners
        .last()
        .is_some_and(|owner| *owner == stem || Some(*owner) == folder)
}

/// How many folders two paths share; a file shares more with itself.
fn shared(one: &str, other: &str) -> usize {
    if one == other {
        return usize::MAX;
    }
    one.split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other)
        .count()
}

/// The name as a regular expression that finds it as a word.
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
    fn a_name_comes_apart_in_any_language() {
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
