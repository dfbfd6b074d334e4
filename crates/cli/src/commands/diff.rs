//! `hew diff`: what a session has changed on disk, as a patch.

mod binary;
mod render;

use super::past::{Access, Kept, Past, changes};
use super::run::short;
use crate::args::{Diff, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::paint::Paint;
use render::{Folders, Reader, Shown};
use serde::Serialize;
use session::{Kind, Tally, Version};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use workspace::Workspace;
use workspace::checkpoint::look;

/// A path that differs from what it was.
struct Net {
    before: Option<Version>,
    after: Option<Version>,
    /// Whether it differs from what the session left.
    touched: bool,
}

/// A path in the JSON of `hew diff --json`.
#[derive(Serialize)]
struct Row<'a> {
    path: &'a Path,
    change: &'static str,
    before: Option<Side>,
    after: Option<Side>,
    added: usize,
    removed: usize,
    changed_since: bool,
    diff: String,
}

/// One side of a change.
#[derive(Serialize)]
struct Side {
    kind: &'static str,
    mode: Option<String>,
    sha256: Option<String>,
    kept: bool,
}

pub(super) async fn diff(args: &Diff, global: &Global, env: &Environment) -> Result<Exit> {
    let (session, paths) = sort_out(&args.what, env);
    let past = Past::open(session.as_deref(), Access::Read, global, env).await?;
    let since = match &args.since {
        Some(name) => Some(past.item(name).await?),
        None => None,
    };
    let start = match since {
        None => 0,
        Some(id) => match past.items.iter().position(|item| item.id == id) {
            Some(at) => at + 1,
            None => return Err(Failure::usage("this item is on another branch of the session")),
        },
    };
    let scope = scope(&paths, &past.root, env)?;
    let net = net(&past, start, &scope);
    let versions: Vec<&Version> = net
        .values()
        .flat_map(|net| net.before.iter().chain(&net.after))
        .collect();
    let kept = Kept::find(&past.store, &versions).await?;
    let stdout = std::io::stdout();
    let reader = match stdout.is_terminal() || args.json || args.stat {
        true => Reader::Person,
        false => Reader::Git,
    };
    let shown: Vec<(&PathBuf, &Net, Shown)> = net
        .iter()
        .map(|(path, one)| {
            let sides = (&one.before, &one.after);
            let shown = Shown::of(path, sides, &kept, reader, is_implied(path, one, &net));
            (path, one, shown)
        })
        .collect();
    if args.json {
        let rows: Vec<Row<'_>> = shown.iter().map(|(path, net, shown)| row(path, net, shown)).collect();
        output::deliver(&output::pretty(&rows)?)?;
        return Ok(Exit::Done);
    }
    if shown.is_empty() {
        output::complain(&format!("nothing differs by session {}\n", short(past.meta.id)));
        return Ok(Exit::Done);
    }
    let paint = Paint::of(&stdout, env);
    let text: String = match args.stat {
        true => shown.iter().map(|(path, net, shown)| stat(path, net, shown)).collect(),
        // git passes over what comes before the first file.
        false => {
            let notes = shown.iter().map(|(_, _, shown)| shown.notes(paint));
            let patches = shown
                .iter()
                .map(|(_, _, shown)| shown.patch(paint, stdout.is_terminal()));
            notes.chain(patches).collect()
        }
    };
    output::deliver(&text)?;
    let mut touched = Tally::default();
    for (_, net, _) in shown.iter().filter(|(_, net, _)| net.touched) {
        touched.count(net.before.as_ref(), net.after.as_ref());
    }
    if !touched.is_empty() && !args.stat {
        output::complain(&format!(
            "{touched} changed since by others; this is what the session left\n"
        ));
    }
    Ok(Exit::Done)
}

/// One change as a patch.
pub(super) fn one(change: &session::Change, kept: &Kept) -> String {
    let sides = (&change.before, &change.after);
    let shown = Shown::of(&change.path, sides, kept, Reader::Person, Folders::Alone);
    shown.notes(Paint::Plain) + &shown.patch(Paint::Plain, false)
}

/// The first word is a session if it looks like the id of one and no such file is there.
fn sort_out(what: &[PathBuf], env: &Environment) -> (Option<String>, Vec<PathBuf>) {
    let Some((first, rest)) = what.split_first() else {
        return (None, Vec::new());
    };
    let name = first.to_string_lossy();
    let is_file = env.cwd.as_deref().is_some_and(|cwd| cwd.join(first).exists());
    let is_id = name == "last" || (name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    match is_id && !is_file {
        true => (Some(name.into_owned()), rest.to_vec()),
        false => (None, what.to_vec()),
    }
}

/// Paths that are meant, seen from the project: as typed in the current folder, or as the list shows them.
fn scope(paths: &[PathBuf], root: &Path, env: &Environment) -> Result<Vec<PathBuf>> {
    let workspace = Workspace::open(root).map_err(|error| Failure::usage(error.to_string()))?;
    let mut all = Vec::new();
    for path in paths {
        let typed = env.cwd.iter().map(|cwd| cwd.join(path));
        for path in typed.chain([path.clone()]) {
            let location = workspace.locate(&path);
            let location = location.map_err(|error| Failure::usage(error.to_string()))?;
            all.push(location.relative().to_owned());
        }
    }
    Ok(all)
}

/// What each path was and what the session left there, where that differs.
fn net(past: &Past, start: usize, scope: &[PathBuf]) -> BTreeMap<PathBuf, Net> {
    let mut all: BTreeMap<PathBuf, Net> = BTreeMap::new();
    for change in past.items[start..].iter().flat_map(|item| changes(item)) {
        let is_meant = scope.is_empty() || scope.iter().any(|wanted| change.path.starts_with(wanted));
        if !is_meant {
            continue;
        }
        let net = all.entry(change.path.clone()).or_insert_with(|| Net {
            before: change.before.clone(),
            after: None,
            touched: false,
        });
        net.after.clone_from(&change.after);
    }
    all.retain(|_, net| !is_like(&net.before, &net.after));
    for (path, net) in &mut all {
        let now = look(&past.root, path).ok().flatten();
        net.touched = !is_like(&now, &net.after);
    }
    all
}

fn is_like(one: &Option<Version>, two: &Option<Version>) -> bool {
    session::alike(one.as_ref(), two.as_ref())
}

/// Whether a folder comes or goes with a file in it.
fn is_implied(path: &Path, one: &Net, all: &BTreeMap<PathBuf, Net>) -> Folders {
    let is_file = |version: &Option<Version>| {
        version
            .as_ref()
            .is_some_and(|version| !matches!(version.kind, Kind::Folder { .. }))
    };
    let mut below = all
        .range::<Path, _>((Bound::Excluded(path), Bound::Unbounded))
        .take_while(|(other, _)| other.starts_with(path));
    let implied = match (&one.before, &one.after) {
        (None, Some(_)) => below.any(|(_, net)| is_file(&net.after)),
        (Some(_), None) => below.any(|(_, net)| is_file(&net.before)),
        (_, _) => false,
    };
    match implied {
        true => Folders::Implied,
        false => Folders::Alone,
    }
}

fn word(net: &Net) -> &'static str {
    match (&net.before, &net.after) {
        (None, _) => "created",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "modified",
    }
}

fn stat(path: &Path, net: &Net, shown: &Shown) -> String {
    let (added, removed) = shown.counts();
    let since = if net.touched { " (changed since by others)" } else { "" };
    let path = output::words::tame(&path.display().to_string());
    format!("{:<9} +{added} -{removed} {path}{since}\n", word(net))
}

fn row<'a>(path: &'a Path, net: &Net, shown: &Shown) -> Row<'a> {
    let (added, removed) = shown.counts();
    Row {
        path,
        change: word(net),
        before: net.before.as_ref().map(side),
        after: net.after.as_ref().map(side),
        added,
        removed,
        changed_since: net.touched,
        diff: shown.notes(Paint::Plain) + &shown.patch(Paint::Plain, false),
    }
}

fn side(version: &Version) -> Side {
    let octal = |mode: Option<u32>| mode.map(|mode| format!("{mode:04o}"));
    let (kind, mode) = match version.kind {
        Kind::File { mode } => ("file", octal(mode)),
        Kind::Link => ("link", None),
        Kind::Folder { mode } => ("folder", octal(mode)),
    };
    Side {
        kind,
        mode,
        sha256: version.content.as_ref().map(ToString::to_string),
        kept: version.kept,
    }
}
