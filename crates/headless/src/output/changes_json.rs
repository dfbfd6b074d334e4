//! The versioned JSON format of `hew changes --json`, documented in docs/json-changes.md.

use edit::HunkAuthors;
use review::changes::{ChangeReview, HunkKind, PendingChanges, PendingContent, PendingFile, PendingHunk};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The version of the format. It increases when a field is removed or changes its meaning, not when one is added.
const VERSION: u32 = 1;

/// The pending changes of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangesJson<'a> {
    /// The version of the format.
    v: u32,
    /// The session's id.
    session: String,
    /// The project's folder.
    project: String,
    /// The ids of the changes that this call accepted.
    accepted: &'a [String],
    /// The ids of the changes that this call rejected.
    rejected: &'a [String],
    /// The files with pending changes.
    files: Vec<ChangedFileJson<'a>>,
}

/// A file with pending changes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Row")]
struct ChangedFileJson<'a> {
    /// The path, relative to the project if inside it.
    path: String,
    /// `created`, `modified` or `deleted`.
    status: &'static str,
    /// Number of added lines.
    added: usize,
    /// Number of removed lines.
    removed: usize,
    /// How the file is reviewed: `text`, line by line; `whole`, a binary file; `same`, only its permissions changed; `link`,
    /// the path is or was a symbolic link; `unreadable`, it cannot be reviewed.
    content: &'static str,
    /// Why the file cannot be reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Its changes, from top to bottom.
    hunks: Vec<HunkJson<'a>>,
}

/// A change to accept or reject.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Change")]
struct HunkJson<'a> {
    /// Its position in the list, from 1.
    number: usize,
    /// The id for `--accept` and `--reject`.
    id: &'a str,
    /// The kind of change: `lines`, `whole` (a binary file), `mode` or `link`.
    kind: &'static str,
    /// Its first line in the accepted text, from 1.
    old_line: usize,
    /// Its first line in the current file, from 1.
    new_line: usize,
    /// The accepted lines; a description for permissions and links.
    before: &'a str,
    /// The current lines.
    after: &'a str,
    /// Whether it includes the user's own edits.
    mixed: bool,
    /// Whether it can be rejected.
    rejectable: bool,
}

impl<'a> ChangesJson<'a> {
    /// The pending changes, and the ids of those that were decided.
    pub fn new(
        review: &ChangeReview,
        pending: &'a PendingChanges,
        accepted: &'a [String],
        rejected: &'a [String],
    ) -> Self {
        ChangesJson {
            v: VERSION,
            session: review.session().id.to_string(),
            project: review.root().display().to_string(),
            accepted,
            rejected,
            files: pending.files.iter().map(ChangedFileJson::of).collect(),
        }
    }
}

impl<'a> ChangedFileJson<'a> {
    fn of(file: &'a PendingFile) -> Self {
        let (added, removed) = file.counts();
        let (content, why) = match &file.content {
            PendingContent::Text => ("text", None),
            PendingContent::Binary(_) => ("whole", None),
            PendingContent::ModeOnly => ("same", None),
            PendingContent::Link(_) => ("link", None),
            PendingContent::Unreadable(reason) => ("unreadable", Some(reason.to_string())),
        };
        ChangedFileJson {
            path: file.path.display().to_string(),
            status: file.status.name(),
            added,
            removed,
            content,
            why,
            hunks: file.hunks.iter().map(|hunk| HunkJson::of(file, hunk)).collect(),
        }
    }
}

impl<'a> HunkJson<'a> {
    fn of(file: &PendingFile, hunk: &'a PendingHunk) -> Self {
        HunkJson {
            number: hunk.number,
            id: &hunk.id,
            kind: kind_name(hunk.kind),
            old_line: hunk.text.first_line_before,
            new_line: hunk.text.first_line,
            before: &hunk.text.before,
            after: &hunk.text.after,
            mixed: hunk.text.authors == HunkAuthors::Mixed,
            rejectable: !file.is_reject_blocked(hunk),
        }
    }
}

fn kind_name(kind: HunkKind) -> &'static str {
    match kind {
        HunkKind::Lines => "lines",
        HunkKind::Binary => "whole",
        HunkKind::Mode => "mode",
        HunkKind::Link => "link",
    }
}

/// The JSON schema of the format.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(ChangesJson<'static>).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), format!("hew changes --json, version {VERSION}").into());
    }
    schema
}
