//! Selects the file of an edit from the names in the text, the existing files and the given target.

use std::path::{Component, Path, PathBuf};

use crate::parsed_edit::{EditChange, ParsedEdit, PathSource};
use crate::plan::PlanFiles;
use crate::refusal::RefusalReason;

/// The file for `edit`. `last` is the file of the previous edit.
pub(crate) fn choose(
    edit: &ParsedEdit,
    target: Option<&Path>,
    last: Option<&Path>,
    files: &PlanFiles<'_>,
) -> Result<PathBuf, RefusalReason> {
    let mut named = Vec::new();
    for name in &edit.names {
        let readings = match edit.path_source {
            PathSource::Stated => stated(name),
            PathSource::Guessed => readings(name),
        };
        for reading in &readings {
            if let Some(path) = normalize(reading)
                && files.exists(&path)
            {
                return Ok(path);
            }
        }
        let is_name = |name: &String| edit.path_source == PathSource::Stated || looks_like_path(name);
        named.extend(readings.into_iter().next_back().filter(is_name));
    }
    // The given target is preferred to a name with a wrong directory and to prose that looks like a name.
    let creates = matches!(edit.change, EditChange::Create(_) | EditChange::Write(_))
        || matches!(&edit.change, EditChange::Replace(replace) if replace.readings.iter().any(|(old, _)| old.trim().is_empty()));
    if let Some(target) = target {
        let is_other = named
            .iter()
            .any(|name| Path::new(name).file_name() != target.file_name());
        if !is_other || edit.path_source == PathSource::Guessed && !creates {
            return Ok(target.to_owned());
        }
    }
    if let Some(name) = named.first() {
        return normalize(name).ok_or_else(|| RefusalReason::PathEscapes(name.clone()));
    }
    // If the lines above a block are not names, it belongs to the file of the previous block.
    last.map(Path::to_owned).ok_or(RefusalReason::NoPath)
}

/// A name from a dedicated field, with and without quotes, and with either kind of slash.
fn stated(name: &str) -> Vec<String> {
    let plain = name.trim();
    let bare = plain.trim_matches(['`', '"', '\'']);
    let mut out = vec![plain.to_owned()];
    for other in [bare.to_owned(), bare.replace('\\', "/")] {
        if !out.contains(&other) {
            out.push(other);
        }
    }
    out
}

/// A name with and without the decoration that models add, the plainest last.
fn readings(name: &str) -> Vec<String> {
    let mut out = vec![name.trim().to_owned()];
    let mut plain = name.trim().trim_start_matches('#').trim();
    for label in [
        "File:",
        "file:",
        "Filename:",
        "filename:",
        "Path:",
        "path:",
        "filepath:",
        "// ",
        "-- ",
        "* ",
        "- ",
    ] {
        plain = plain.strip_prefix(label).unwrap_or(plain).trim();
    }
    plain = plain
        .trim_matches(['*', '`', '"', '\'', ' '])
        .trim_end_matches(':')
        .trim_matches(['*', '`', '"', '\'']);
    if out.last().is_some_and(|last| last != plain) {
        out.push(plain.to_owned());
    }
    out
}

/// Whether an unknown name could be a path: no spaces, and an extension, a directory or a well-known name.
pub(crate) fn looks_like_path(name: &str) -> bool {
    let solid = !name.is_empty() && !name.contains(char::is_whitespace) && name.len() < 300;
    let last = name.rsplit('/').next().unwrap_or(name);
    solid
        && !name.contains(['<', '>', '|', '?', '*', '"', '`', '{', '}', '(', ')', ';', '='])
        && !name.ends_with(['.', ',', ':', '/'])
        && (has_extension(last) || name.contains('/') || PLAIN_NAMES.contains(&last))
}

const PLAIN_NAMES: [&str; 11] = [
    "Dockerfile",
    "Makefile",
    "Gemfile",
    "Rakefile",
    "Procfile",
    "Vagrantfile",
    "Jenkinsfile",
    "Containerfile",
    "LICENSE",
    "README",
    "CODEOWNERS",
];

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.starts_with(|c: char| c.is_alphabetic()))
}

/// The path without `.` and `..`; `None` if it leads out of the project.
pub(crate) fn normalize(name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(component),
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}
