//! The JSON of `hew changes --json`: a format of its own, versioned and documented in docs/json-changes.md.

use super::pending::{Content, File, Hunk, Pending};
use super::show::status_word;
use edit::Authors;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use session::Meta;
use std::path::Path;

/// The version of the format. It grows when something is removed or changes its meaning, not when something is added.
const VERSION: u32 = 1;

/// The changes of a session that wait for review.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listing<'a> {
    /// The version of the format.
    v: u32,
    /// The session's id.
    session: String,
    /// The project's folder.
    project: String,
    /// The changes that this call accepted, by id.
    accepted: &'a [String],
    /// The changes that this call took back, by id.
    rejected: &'a [String],
    /// The files with changes that wait.
    files: Vec<Row<'a>>,
}

/// A file with changes that wait.
#[derive(Debug, Serialize, JsonSchema)]
struct Row<'a> {
    /// The file, relative to the project where it lies inside it.
    path: String,
    /// `created`, `modified` or `deleted`.
    status: &'static str,
    /// Lines that were added.
    added: usize,
    /// Lines that were removed.
    removed: usize,
    /// How the file is looked at: `text`, line by line; `whole`, because it is not text; `same`, only its permissions have
    /// changed; `link`, a link stands there or stood; `unreadable`, not at all.
    content: &'static str,
    /// Why the file cannot be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// Its changes, from top to bottom.
    hunks: Vec<Change<'a>>,
}

/// A change to accept or reject.
#[derive(Debug, Serialize, JsonSchema)]
struct Change<'a> {
    /// Its place in the list, from 1.
    number: usize,
    /// Names it for `--accept` and `--reject`.
    id: &'a str,
    /// What it is a change of: `lines`, `whole`, `mode` or `link`.
    kind: &'static str,
    /// The first line of the change in the accepted text, from 1.
    old_line: usize,
    /// The first line of the change in the file as it is, from 1.
    new_line: usize,
    /// The lines before; permissions and links in words.
    before: &'a str,
    /// The lines now.
    after: &'a str,
    /// Whether a person's own edits are part of it.
    mixed: bool,
    /// Whether it can be taken back.
    rejectable: bool,
}

impl<'a> Listing<'a> {
    /// What waits, and what was just decided.
    pub(super) fn of(
        meta: &Meta,
        root: &Path,
        pending: &'a Pending,
        accepted: &'a [String],
        rejected: &'a [String],
    ) -> Self {
        Listing {
            v: VERSION,
            session: meta.id.to_string(),
            project: root.display().to_string(),
            accepted,
            rejected,
            files: pending.files.iter().map(Row::of).collect(),
        }
    }
}

impl<'a> Row<'a> {
    fn of(file: &'a File) -> Self {
        let (added, removed) = file.counts();
        let (content, why) = match &file.content {
            Content::Text => ("text", None),
            Content::Whole(_) => ("whole", None),
            Content::Same => ("same", None),
            Content::Link(_) => ("link", None),
            Content::Unreadable(why) => ("unreadable", Some(why.as_str())),
        };
        Row {
            path: file.path.display().to_string(),
            status: status_word(file.status),
            added,
            removed,
            content,
            why,
            hunks: file.hunks.iter().map(|hunk| Change::of(file, hunk)).collect(),
        }
    }
}

impl<'a> Change<'a> {
    fn of(file: &File, hunk: &'a Hunk) -> Self {
        Change {
            number: hunk.number,
            id: &hunk.id,
            kind: hunk.part.word(),
            old_line: hunk.text.first_line_before,
            new_line: hunk.text.first_line,
            before: &hunk.text.before,
            after: &hunk.text.after,
            mixed: hunk.text.authors == Authors::Mixed,
            rejectable: !file.is_held(hunk),
        }
    }
}

/// The JSON schema of the listing.
pub(crate) fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Listing<'static>).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), format!("hew changes --json, version {VERSION}").into());
    }
    schema
}
