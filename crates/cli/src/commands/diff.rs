//! `hew diff`: the file changes of a session as a patch.

use super::history::open_history;
use crate::args::{DiffArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::color::ColorMode;
use crate::output::format::sanitise;
use host::sessions::short_id;
use review::diff::{ChangedPath, NetChange, PatchTarget, PathDiff, session_diff};
use review::{PathScope, SessionAccess};
use serde::Serialize;
use session::{ChangeCount, FileKind, FileVersion};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// A path in the output of `hew diff --json`.
#[derive(Serialize)]
struct DiffRow<'a> {
    path: &'a Path,
    change: &'static str,
    before: Option<VersionJson>,
    after: Option<VersionJson>,
    added: usize,
    removed: usize,
    changed_since: bool,
    diff: String,
}

/// One side of a change.
#[derive(Serialize)]
struct VersionJson {
    kind: &'static str,
    mode: Option<String>,
    sha256: Option<String>,
    kept: bool,
}

pub(super) async fn diff(args: &DiffArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (session, paths) = split_session_and_paths(&args.what, env);
    let history = open_history(session.as_deref(), SessionAccess::Read, global, env).await?;
    let since = match &args.since {
        Some(name) => Some(history.find_item(name).await?),
        None => None,
    };
    let workspace = Workspace::open(history.root()).map_err(review::Error::from)?;
    let scope = PathScope::new(&paths, &workspace, env.cwd.as_deref())?;
    let stdout = std::io::stdout();
    let target = match stdout.is_terminal() || args.json || args.stat {
        true => PatchTarget::Display,
        false => PatchTarget::Git,
    };
    let changed = session_diff(&history, since, &scope, target).await?;
    if args.json {
        let rows: Vec<DiffRow<'_>> = changed.iter().map(row).collect();
        output::print_checked(&output::pretty(&rows)?)?;
        return Ok(ExitStatus::Done);
    }
    if changed.is_empty() {
        let is_missing = |path: &&PathBuf| !env.cwd.as_deref().is_some_and(|cwd| cwd.join(path).exists());
        if let Some(path) = paths.iter().find(is_missing) {
            let name = sanitise(&path.display().to_string());
            return Err(
                Failure::usage(format!("`{name}` is neither a session nor a file that was changed"))
                    .hint("`hew sessions list` lists the sessions"),
            );
        }
        output::print_stderr(&format!("no changes in session {}\n", short_id(history.id())));
        return Ok(ExitStatus::Done);
    }
    let paint = ColorMode::of(&stdout, env);
    let text: String = match args.stat {
        true => changed.iter().map(stat).collect(),
        // git ignores text before the first file.
        false => {
            let notes = changed.iter().map(|changed| notes_text(&changed.diff, paint));
            let patches = changed
                .iter()
                .map(|changed| patch_text(&changed.diff, paint, stdout.is_terminal()));
            notes.chain(patches).collect()
        }
    };
    output::print_document(&text)?;
    let mut count = ChangeCount::default();
    for ChangedPath { change, .. } in changed.iter().filter(|changed| changed.change.changed_since) {
        count.count(change.before.as_ref(), change.after.as_ref());
    }
    if !count.is_empty() && !args.stat {
        output::print_stderr(&format!(
            "{count} changed since, outside the session; the diff shows the result of the session\n"
        ));
    }
    Ok(ExitStatus::Done)
}

/// Takes the first argument as a session if it looks like an id and no such file exists.
fn split_session_and_paths(what: &[PathBuf], env: &ProcessEnv) -> (Option<String>, Vec<PathBuf>) {
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

fn plain_text(diff: &PathDiff) -> String {
    notes_text(diff, ColorMode::Plain) + &patch_text(diff, ColorMode::Plain, false)
}

/// The notes, one per line.
fn notes_text(diff: &PathDiff, paint: ColorMode) -> String {
    let lines = diff.notes.iter().map(|note| paint.dim(sanitise(note)) + "\n");
    lines.collect()
}

fn patch_text(diff: &PathDiff, paint: ColorMode, is_terminal: bool) -> String {
    let mut text = String::new();
    for patch in &diff.patches {
        for line in &patch.header {
            text.push_str(&paint.bold(line));
            text.push('\n');
        }
        for line in &patch.lines {
            let shown = match is_terminal {
                true => sanitise(line),
                false => line.clone(),
            };
            text.push_str(&match line.as_bytes().first() {
                Some(b'+') => paint.green(shown),
                Some(b'-') => paint.red(shown),
                Some(b'@') => paint.cyan(shown),
                Some(_) | None => shown,
            });
            text.push('\n');
        }
    }
    text
}

fn status_word(change: &NetChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "created",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "modified",
    }
}

fn stat(ChangedPath { path, change, diff }: &ChangedPath) -> String {
    let since = match change.changed_since {
        true => " (changed since, outside the session)",
        false => "",
    };
    let path = sanitise(&path.display().to_string());
    format!(
        "{:<9} +{} -{} {path}{since}\n",
        status_word(change),
        diff.added,
        diff.removed
    )
}

fn row(ChangedPath { path, change, diff }: &ChangedPath) -> DiffRow<'_> {
    DiffRow {
        path,
        change: status_word(change),
        before: change.before.as_ref().map(version_json),
        after: change.after.as_ref().map(version_json),
        added: diff.added,
        removed: diff.removed,
        changed_since: change.changed_since,
        diff: plain_text(diff),
    }
}

fn version_json(version: &FileVersion) -> VersionJson {
    let octal = |mode: Option<u32>| mode.map(|mode| format!("{mode:04o}"));
    let (kind, mode) = match version.kind {
        FileKind::File { mode } => ("file", octal(mode)),
        FileKind::Link => ("link", None),
        FileKind::Folder { mode } => ("folder", octal(mode)),
    };
    VersionJson {
        kind,
        mode,
        sha256: version.content.as_ref().map(ToString::to_string),
        kept: version.is_stored,
    }
}
