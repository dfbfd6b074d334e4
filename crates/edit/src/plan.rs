//! Edit text in, verified file changes out: every edit has its one place, or nothing is changed.

mod file;
mod path;
mod working;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::format::{self, Format};
use crate::refusal::{Refusal, Refused, Why};
use crate::resolve::How;
use crate::script::{Change, Edit};

use file::Pending;
pub(crate) use path::looks_like_path;

/// Looks up a file by its path relative to the project; nothing when there is none.
pub type Lookup<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// What an edit text does to files. Every part of it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The format that the text is in.
    pub format: Format,
    /// One for each file that changes, in the order of the text.
    pub files: Vec<FileChange>,
    /// One for each edit, in the order of the text.
    pub edits: Vec<Report>,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// A new file.
    Create {
        /// Where.
        path: PathBuf,
        /// Its content.
        content: String,
    },
    /// New content for a file.
    Update {
        /// Which.
        path: PathBuf,
        /// The content that the plan was made for.
        before: String,
        /// The content to write.
        after: String,
    },
    /// A file gets another name, and perhaps new content.
    Move {
        /// The old name.
        from: PathBuf,
        /// The new name.
        to: PathBuf,
        /// The content that the plan was made for.
        before: String,
        /// The content to write.
        after: String,
        /// The content of the file that stood at the new name.
        replaced: Option<String>,
    },
    /// A file goes.
    Delete {
        /// Which.
        path: PathBuf,
        /// The content that the plan was made for.
        before: String,
    },
}

impl FileChange {
    /// The file, by the name it has before the change, or after it when it is new.
    pub fn path(&self) -> &Path {
        match self {
            Self::Create { path, .. } | Self::Update { path, .. } | Self::Delete { path, .. } => path,
            Self::Move { from, .. } => from,
        }
    }

    /// The content that the plan was made for; nothing when the file is new.
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::Create { .. } => None,
            Self::Update { before, .. } | Self::Move { before, .. } | Self::Delete { before, .. } => Some(before),
        }
    }

    /// The content to write; nothing when the file goes.
    pub fn after(&self) -> Option<&str> {
        match self {
            Self::Create { content: after, .. } | Self::Update { after, .. } | Self::Move { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }
}

/// How one edit was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which edit of the text, counted from 1.
    pub edit: usize,
    /// The file.
    pub path: PathBuf,
    /// The first line that it touches, counted from 1, in the file as it was.
    pub first_line: usize,
    /// The last line that it touches; one less than the first when lines are only inserted before it.
    pub last_line: usize,
    /// How the old text was found.
    pub how: How,
    /// Whether it changes anything; an edit that does not is let pass when others do.
    pub changes: bool,
}

/// Makes a plan of `text`. `target` is the file for edits that name none.
pub fn plan(text: &str, format: Format, target: Option<&Path>, lookup: &Lookup<'_>) -> Result<Plan, Refused> {
    let format = match format {
        Format::Auto => format::detect(text).ok_or_else(|| refused(0, None, Why::UnknownFormat))?,
        named => named,
    };
    let edits = format::parse(text, format).map_err(|malformed| refused(malformed.edit, None, malformed.why))?;
    plan_edits(&edits, format, target, lookup)
}

/// Files, each looked up once.
pub(crate) struct Files<'a> {
    lookup: &'a Lookup<'a>,
    seen: RefCell<HashMap<PathBuf, Option<Rc<str>>>>,
}

impl Files<'_> {
    pub(crate) fn read(&self, path: &Path) -> Option<Rc<str>> {
        if let Some(known) = self.seen.borrow().get(path) {
            return known.clone();
        }
        let content: Option<Rc<str>> = (self.lookup)(path).map(Rc::from);
        self.seen.borrow_mut().insert(path.to_owned(), content.clone());
        content
    }

    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.read(path).is_some()
    }
}

/// Makes a plan of edits that are parsed already.
pub fn plan_edits(edits: &[Edit], format: Format, target: Option<&Path>, lookup: &Lookup<'_>) -> Result<Plan, Refused> {
    if edits.is_empty() {
        return Err(refused(0, None, Why::Nothing));
    }
    let files = Files {
        lookup,
        seen: RefCell::default(),
    };
    let mut refusals = Vec::new();
    let mut pending: Vec<Pending> = Vec::new();
    let mut last: Option<PathBuf> = None;
    for (at, edit) in edits.iter().enumerate() {
        let number = at + 1;
        let path = match path::choose(edit, target, last.as_deref(), &files) {
            Ok(path) => path,
            Err(why) => {
                refusals.push(Refusal {
                    edit: number,
                    path: None,
                    why,
                    nearest: None,
                });
                continue;
            }
        };
        last = Some(path.clone());
        let alike = edits[at..].iter().filter(|other| same_place(edit, other)).count();
        let file = match pending.iter().position(|file| file.path == path) {
            Some(at) => &mut pending[at],
            None => {
                pending.push(Pending::new(path.clone(), files.read(&path).as_deref()));
                let last = pending.len() - 1;
                &mut pending[last]
            }
        };
        if let Err((why, nearest)) = file.take(number, edit, alike, &files) {
            refusals.push(Refusal {
                edit: number,
                path: Some(path),
                why,
                nearest,
            });
        }
    }
    if refusals.is_empty() {
        finish(pending, format)
    } else {
        Err(Refused { refusals })
    }
}

/// Whether two hunks of one file quote the same lines.
fn same_place(one: &Edit, other: &Edit) -> bool {
    match (&one.change, &other.change) {
        (Change::Hunk(a), Change::Hunk(b)) => {
            one.names == other.names && a.headers == b.headers && working::quoted_lines(a) == working::quoted_lines(b)
        }
        _ => false,
    }
}

fn finish(pending: Vec<Pending>, format: Format) -> Result<Plan, Refused> {
    let mut plan = Plan {
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
    if let Some(clash) = clash(&plan) {
        return Err(clash);
    }
    if plan.files.is_empty() {
        let why = if plan.edits.is_empty() {
            Why::Nothing
        } else {
            Why::NoChange
        };
        return Err(refused(plan.edits.first().map_or(0, |report| report.edit), None, why));
    }
    Ok(plan)
}

/// Two changes that leave a file of the same name.
fn clash(plan: &Plan) -> Option<Refused> {
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
            return Some(refused(0, Some(path), Why::Conflict(first)));
        }
        seen.push(path);
    }
    None
}

fn refused(edit: usize, path: Option<PathBuf>, why: Why) -> Refused {
    Refused {
        refusals: vec![Refusal {
            edit,
            path,
            why,
            nearest: None,
        }],
    }
}
