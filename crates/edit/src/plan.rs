//! Plans verified file changes from edit text: every edit has exactly one location, or nothing is changed.

mod file;
mod path;
mod working;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::format::{self, EditFormat};
use crate::line_history::SeenVersions;
use crate::parsed_edit::{EditChange, ParsedEdit};
use crate::refusal::{EditRefusal, RefusalReason, RefusedEdits};
use crate::resolve::MatchMethod;

use file::FilePlan;
pub(crate) use path::looks_like_path;
use working::HunkSiblings;

/// The versions of a file that the author of the edits has seen.
pub type VersionLookup<'a> = dyn Fn(&Path) -> SeenVersions + 'a;

/// Looks up a file by its path relative to the project; `None` if it does not exist.
pub type FileLookup<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The effect of an edit text on files. All of it has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditPlan {
    /// The format of the text.
    pub format: EditFormat,
    /// One change per file, in the order of the text.
    pub files: Vec<FileChange>,
    /// One report per edit, in the order of the text.
    pub edits: Vec<EditReport>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// A new file.
    Create {
        /// The path.
        path: PathBuf,
        /// Its content.
        content: String,
    },
    /// Modifies a file.
    Update {
        /// The file.
        path: PathBuf,
        /// The content that the plan is based on.
        before: String,
        /// The content to write.
        after: String,
    },
    /// Renames a file, possibly with new content.
    Move {
        /// The old name.
        from: PathBuf,
        /// The new name.
        to: PathBuf,
        /// The content that the plan is based on.
        before: String,
        /// The content to write.
        after: String,
        /// The previous content at the new name.
        replaced: Option<String>,
    },
    /// Deletes a file.
    Delete {
        /// The file.
        path: PathBuf,
        /// The content that the plan is based on.
        before: String,
    },
}

impl FileChange {
    /// The file's name before the change, or after it if the file is new.
    pub fn path(&self) -> &Path {
        match self {
            Self::Create { path, .. } | Self::Update { path, .. } | Self::Delete { path, .. } => path,
            Self::Move { from, .. } => from,
        }
    }

    /// The content that the plan is based on; `None` for a new file.
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::Create { .. } => None,
            Self::Update { before, .. } | Self::Move { before, .. } | Self::Delete { before, .. } => Some(before),
        }
    }

    /// The content to write; `None` for a deleted file.
    pub fn after(&self) -> Option<&str> {
        match self {
            Self::Create { content: after, .. } | Self::Update { after, .. } | Self::Move { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }
}

/// How one edit was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditReport {
    /// The edit of the text, counted from 1.
    pub edit: usize,
    /// The file.
    pub path: PathBuf,
    /// The first affected line, counted from 1, in the original file.
    pub first_line: usize,
    /// The last affected line; one less than the first for an insertion before it.
    pub last_line: usize,
    /// How the old text was found.
    pub how: MatchMethod,
    /// Whether it changes anything; edits without effect are accepted if others have one.
    pub changes: bool,
}

/// Plans `text`. `target` is the file for edits without a name.
pub fn plan(
    text: &str,
    format: EditFormat,
    target: Option<&Path>,
    lookup: &FileLookup<'_>,
) -> Result<EditPlan, RefusedEdits> {
    plan_seen(text, format, target, lookup, &|_| SeenVersions::default())
}

/// Plans `text` of an author who has seen these versions of the files: line numbers and anchors may refer to them.
pub fn plan_seen(
    text: &str,
    format: EditFormat,
    target: Option<&Path>,
    lookup: &FileLookup<'_>,
    seen: &VersionLookup<'_>,
) -> Result<EditPlan, RefusedEdits> {
    let format = match format {
        EditFormat::Auto => format::detect(text).ok_or_else(|| refuse(0, None, RefusalReason::UnknownFormat))?,
        named => named,
    };
    let edits = format::parse(text, format).map_err(|malformed| refuse(malformed.edit, None, malformed.why))?;
    plan_edits_seen(&edits, format, target, lookup, seen)
}

/// Files, each looked up once.
pub(crate) struct PlanFiles<'a> {
    lookup: &'a FileLookup<'a>,
    seen: RefCell<HashMap<PathBuf, Option<Rc<str>>>>,
}

impl PlanFiles<'_> {
    pub(crate) fn read(&self, path: &Path) -> Option<Rc<str>> {
        if let Some(known) = self.seen.borrow().get(path) {
            return known.clone();
        }
        let content: Option<Rc<str>> = (self.lookup)(path).map(Rc::from);
        self.seen.borrow_mut().insert(path.to_owned(), content.clone());
        content
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.read(path).is_some()
    }
}

/// Plans parsed edits.
pub fn plan_edits(
    edits: &[ParsedEdit],
    format: EditFormat,
    target: Option<&Path>,
    lookup: &FileLookup<'_>,
) -> Result<EditPlan, RefusedEdits> {
    plan_edits_seen(edits, format, target, lookup, &|_| SeenVersions::default())
}

/// Plans parsed edits of an author who has seen these versions of the files.
pub fn plan_edits_seen(
    edits: &[ParsedEdit],
    format: EditFormat,
    target: Option<&Path>,
    lookup: &FileLookup<'_>,
    seen: &VersionLookup<'_>,
) -> Result<EditPlan, RefusedEdits> {
    if edits.is_empty() {
        return Err(refuse(0, None, RefusalReason::NoEdits));
    }
    let files = PlanFiles {
        lookup,
        seen: RefCell::default(),
    };
    let mut refusals = Vec::new();
    let mut pending: Vec<FilePlan> = Vec::new();
    let mut last: Option<PathBuf> = None;
    for (at, edit) in edits.iter().enumerate() {
        let number = at + 1;
        let path = match path::choose(edit, target, last.as_deref(), &files) {
            Ok(path) => path,
            Err(why) => {
                refusals.push(EditRefusal {
                    edit: number,
                    path: None,
                    reason: why,
                    nearest: None,
                });
                continue;
            }
        };
        last = Some(path.clone());
        let siblings = HunkSiblings {
            alike: edits[at..].iter().filter(|other| same_place(edit, other)).count(),
            others: if edits.iter().all(|other| other.names == edit.names) {
                edits
            } else {
                &[]
            },
        };
        let file = match pending.iter().position(|file| file.path == path) {
            Some(at) => &mut pending[at],
            None => {
                pending.push(FilePlan::new(path.clone(), files.read(&path).as_deref(), seen(&path)));
                let last = pending.len() - 1;
                &mut pending[last]
            }
        };
        if let Err((why, nearest)) = file.apply_edit(number, edit, siblings, &files) {
            refusals.push(EditRefusal {
                edit: number,
                path: Some(path),
                reason: why,
                nearest,
            });
        }
    }
    if refusals.is_empty() {
        finish(pending, format)
    } else {
        Err(RefusedEdits { refusals })
    }
}

/// Whether two hunks of one file quote the same lines.
fn same_place(one: &ParsedEdit, other: &ParsedEdit) -> bool {
    match (&one.change, &other.change) {
        (EditChange::Hunk(a), EditChange::Hunk(b)) => {
            one.names == other.names && a.headers == b.headers && working::quoted_lines(a) == working::quoted_lines(b)
        }
        _ => false,
    }
}

fn finish(pending: Vec<FilePlan>, format: EditFormat) -> Result<EditPlan, RefusedEdits> {
    let mut plan = EditPlan {
        format,
        files: Vec::new(),
        edits: Vec::new(),
    };
    for file in pending {
        let (change, reports) = file.finish();
        plan.files.extend(change);
        plan.edits.extend(reports);
    }
    plan.edits.sort_by_key(|report| report.edit);
    if let Some(refused) = conflicting_changes(&plan) {
        return Err(refused);
    }
    if plan.files.is_empty() {
        let why = if plan.edits.is_empty() {
            RefusalReason::NoEdits
        } else {
            RefusalReason::NoChange
        };
        return Err(refuse(plan.edits.first().map_or(0, |report| report.edit), None, why));
    }
    Ok(plan)
}

/// Two changes that result in files with the same name.
fn conflicting_changes(plan: &EditPlan) -> Option<RefusedEdits> {
    let left = |change: &FileChange| match change {
        FileChange::Create { path, .. } | FileChange::Update { path, .. } => Some(path.clone()),
        FileChange::Move { to, .. } => Some(to.clone()),
        FileChange::Delete { .. } => None,
    };
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in plan.files.iter().filter_map(left) {
        if seen.contains(&path) {
            let first = plan
                .edits
                .iter()
                .find(|report| report.path == path)
                .map_or(0, |report| report.edit);
            return Some(refuse(0, Some(path), RefusalReason::Conflict(first)));
        }
        seen.push(path);
    }
    None
}

fn refuse(edit: usize, path: Option<PathBuf>, reason: RefusalReason) -> RefusedEdits {
    RefusedEdits {
        refusals: vec![EditRefusal {
            edit,
            path,
            reason,
            nearest: None,
        }],
    }
}
