//! The file changes of a session: as patches, as one line each, and as JSON.

use super::color::ColorMode;
use super::format::sanitise;
use review::diff::{ChangedPath, NetChange, PathDiff};
use serde::Serialize;
use session::{FileKind, FileVersion};
use std::path::Path;

/// A path in the output of `hew diff --json`.
#[derive(Debug, Serialize)]
pub struct ChangedPathJson<'a> {
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
#[derive(Debug, Serialize)]
struct VersionJson {
    kind: &'static str,
    mode: Option<String>,
    sha256: Option<String>,
    kept: bool,
}

/// The patches of several files. Notes come first: git ignores text before the first file.
pub fn patches_text(changed: &[ChangedPath], paint: ColorMode, is_terminal: bool) -> String {
    let notes = changed.iter().map(|changed| notes_text(&changed.diff, paint));
    let patches = changed
        .iter()
        .map(|changed| patch_text(&changed.diff, paint, is_terminal));
    notes.chain(patches).collect()
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

/// One line with the counts of lines.
pub fn stat_line(ChangedPath { path, change, diff }: &ChangedPath) -> String {
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

/// The JSON of a changed path.
pub fn changed_path_json(ChangedPath { path, change, diff }: &ChangedPath) -> ChangedPathJson<'_> {
    ChangedPathJson {
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
