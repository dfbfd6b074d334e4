//! Which file an edit means: what the text calls it, what is there, and what was given.

use std::path::{Component, Path, PathBuf};

use crate::plan::Files;
use crate::refusal::Why;
use crate::script::{Change, Edit, Naming};

/// The file for `edit`. `last` is the file of the edit before it.
pub(crate) fn choose(
    edit: &Edit,
    target: Option<&Path>,
    last: Option<&Path>,
    files: &Files<'_>,
) -> Result<PathBuf, Why> {
    let mut named = Vec::new();
    for name in &edit.names {
        let readings = match edit.naming {
            Naming::Stated => stated(name),
            Naming::Guessed => readings(name),
        };
        for reading in &readings {
            if let Some(path) = tidy(reading)
                && files.holds(&path)
            {
                return Ok(path);
            }
        }
        let is_name = |name: &String| edit.naming == Naming::Stated || looks_like_path(name);
        named.extend(readings.into_iter().next_back().filter(is_name));
    }
    // A file that was asked for wins over a name with a wrong folder, and over prose that looks like a name.
    let creates = matches!(edit.change, Change::Create(_) | Change::Write(_))
        || matches!(&edit.change, Change::Replace(replace) if replace.readings.iter().any(|(old, _)| old.trim().is_empty()));
    if let Some(target) = target {
        let is_other = named
            .iter()
            .any(|name| Path::new(name).file_name() != target.file_name());
        if !is_other || edit.naming == Naming::Guessed && !creates {
            return Ok(target.to_owned());
        }
    }
    if let Some(name) = named.first() {
        return tidy(name).ok_or_else(|| Why::PathEscapes(name.clone()));
    }
    // Lines above a block that are no names leave it with the file of the block before.
    last.map(Path::to_owned).ok_or(Why::NoPath)
}

/// A name in a field of its own, with and without quotes around it and in the slashes of other systems.
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

/// A name with and without the decoration that models put around it, the plainest last.
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

/// Whether an unknown name could be one: no spaces, and an extension, a folder or a name that is known without them.
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

/// The path without `.` and `..`; nothing when it leads out of the project.
pub(crate) fn tidy(name: &str) -> Option<PathBuf> {
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
