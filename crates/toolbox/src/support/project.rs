//! State shared by the file tools: the workspace, the files that the model has read, and error messages.

pub(crate) mod changes;
pub(crate) mod line_log;
pub(crate) mod read_tracker;
pub(crate) mod shown_files;
pub(crate) mod trees;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use policy::{Action, PathArea};
use session::BlobId;
use tool::{ApprovedActions, Error};
use url::Url;
use workspace::checkpoint;
use workspace::{Location, SearchEnd, StopSignal, TreeLimits, Workspace};

use crate::support::project::line_log::LineLog;
use crate::support::project::read_tracker::{ReadTracker, ToolCaller};
use crate::support::project::shown_files::ShownFiles;
use crate::support::spill::Spill;

/// Modification times can be this much older than the clock: the kernel updates them at each of its ticks.
const CLOCK_STEP: Duration = Duration::from_millis(20);
/// The time limit of a search.
const SEARCH_TIME: Duration = Duration::from_secs(20);
/// Maximum number of entries of a tree that is copied, moved or deleted in one call: its files are recorded for undo.
const MAX_ENTRIES: usize = 5_000;
/// Size limits of a tree that is copied, moved or deleted in one call.
pub(crate) const TREE: TreeLimits = TreeLimits {
    entries: MAX_ENTRIES,
    bytes: 64 * 1024 * 1024,
};

/// The project. Clones share state.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) workspace: Workspace,
    pub(crate) reads: ReadTracker,
    pub(crate) shown: ShownFiles,
    pub(crate) lines: LineLog,
    /// What precedes the lines of a file.
    pub(crate) marks: LineMarks,
    pub(crate) spill: Spill,
}

/// What precedes a line that is shown to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LineMarks {
    /// Its number.
    #[default]
    Numbers,
    /// Its anchor, for models that name lines by anchors.
    Anchors,
}

impl LineMarks {
    /// The mark of a line; `cut` is the number of bytes that are missing in its text.
    pub(crate) fn of(self, number: u64, text: &str, cut: usize) -> String {
        match self {
            LineMarks::Anchors if cut == 0 => edit::line_anchor(number, text),
            LineMarks::Anchors | LineMarks::Numbers => number.to_string(),
        }
    }
}

impl Project {
    pub(crate) fn new(workspace: Workspace, spill: Spill, caller: ToolCaller) -> Self {
        Self {
            workspace,
            reads: ReadTracker::default().of(caller),
            shown: ShownFiles::default(),
            lines: LineLog::default(),
            marks: LineMarks::default(),
            spill,
        }
    }

    /// Marks files as read that have not changed since the model last saw them, or that have a version it knows again;
    /// other files count as read and changed since.
    pub(crate) fn restore_reads(&self, seen: &[(PathBuf, SystemTime)], known: &[(PathBuf, BlobId)]) {
        let root = self.workspace.root();
        for (path, at) in seen {
            let Ok(file) = self.workspace.locate(path) else {
                continue;
            };
            let is_unchanged = file.modified().is_ok_and(|modified| modified + CLOCK_STEP <= *at);
            let is_known = || {
                let relative = file.path().strip_prefix(root).unwrap_or(file.path());
                let version = checkpoint::current_version(root, relative).ok().flatten();
                let content = version.and_then(|version| version.content);
                let mut known = known.iter().filter(|(path, _)| root.join(path) == file.path());
                content.is_some_and(|content| known.any(|(_, known)| *known == content))
            };
            match file.fingerprint() {
                Ok(snapshot) if is_unchanged || is_known() => self.reads.remember(&file, snapshot),
                Ok(_) => self.reads.remember_outdated(&file),
                Err(_) => {}
            }
        }
    }

    /// Resolves a path. While a call runs, the result must be covered by its approved actions: a command in the
    /// background may have replaced a folder by a link meanwhile.
    pub(crate) fn locate(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        let location = self.workspace.locate(plain_path(path.as_ref())).map_err(tool_error)?;
        self.require_approved(location)
    }

    /// The folder that a call names. Zed's models name the project's folder, relative to its parent, or `*`.
    pub(crate) fn folder<'a>(&self, path: &'a str) -> &'a str {
        let is_root = path == "*" || self.workspace.root().file_name() == Some(OsStr::new(path.trim_end_matches('/')));
        match is_root && self.workspace.locate(path).is_ok_and(|place| !place.is_taken()) {
            true => "",
            false => path,
        }
    }

    /// Fails if the approved actions of the running call do not cover a location.
    pub(crate) fn require_approved(&self, location: Location) -> Result<Location, Error> {
        let is_approved = ApprovedActions::current().cover(location.path())
            || location.path() == self.workspace.root()
            || self.spill.holds(location.path());
        match is_approved {
            true => Ok(location),
            false => Err(Error::Failed(
                "the path leads to another place than the one that was approved; nothing was done".into(),
            )),
        }
    }

    /// The approval for reading a path; none for a saved result.
    pub(crate) fn read_actions(&self, path: &str) -> Vec<Action> {
        let (path, place) = self.place(path);
        match self.spill.holds(&path) {
            true => Vec::new(),
            false => vec![Action::Read { path, place }],
        }
    }

    /// The approvals for searching a path: a search of the project covers all of its folders.
    pub(crate) fn search_actions(&self, path: &str) -> Vec<Action> {
        let mut actions = self.read_actions(path);
        let is_root = |place: Location| place.path() == self.workspace.root();
        if self.workspace.locate(path).is_ok_and(is_root) {
            actions.extend(self.workspace.more().iter().map(|root| Action::Read {
                path: root.clone(),
                place: PathArea::Inside,
            }));
        }
        actions
    }

    /// The approvals for reading a file, or a directory with its contents.
    pub(crate) fn read_tree_actions(&self, path: &str) -> Vec<Action> {
        let mut actions = self.read_actions(path);
        if let Ok(top) = self.workspace.locate(plain_path(Path::new(path))) {
            let below = top.names_below(MAX_ENTRIES).into_iter();
            actions.extend(below.map(|path| Action::Read {
                place: place(&top.project_path(&path)),
                path,
            }));
        }
        actions
    }

    pub(crate) fn write_actions(&self, path: &str) -> Vec<Action> {
        let (path, place) = self.place(path);
        vec![Action::Write { path, place }]
    }

    /// Locates a path without following a final symbolic link.
    pub(crate) fn locate_entry(&self, path: &str) -> Result<Location, Error> {
        let location = self
            .workspace
            .locate_entry(plain_path(Path::new(path)))
            .map_err(tool_error)?;
        self.require_approved(location)
    }

    /// The prefix that titles of calls omit: the root with a slash.
    pub(crate) fn title_root(&self) -> Arc<str> {
        let root = self.workspace.root().display().to_string();
        format!("{}/", root.trim_end_matches('/')).into()
    }

    /// The approvals for changing a path without following a final symbolic link: the entry itself and everything below
    /// it, so that rules for single files apply. A tree that is too large is rejected when the tool runs. A path that
    /// does not resolve now may do so when the tool runs, so it is judged as named.
    pub(crate) fn write_tree_actions(&self, named: &str, entry: Result<Location, Error>) -> Vec<Action> {
        let Ok(entry) = entry else {
            return self.write_actions(named);
        };
        let below = match entry.is_link() {
            true => Vec::new(),
            false => entry.names_below(MAX_ENTRIES),
        };
        // A folder in the project may contain hew's own files, which are not part of it.
        [entry.path().to_owned()]
            .into_iter()
            .chain(below)
            .map(|path| Action::Write {
                place: place(&entry.project_path(&path)),
                path,
            })
            .collect()
    }

    /// Resolves a path. An unresolvable path is judged as named and as outside the project, because it may resolve when
    /// the tool runs, unless it never can.
    fn place(&self, path: &str) -> (PathBuf, PathArea) {
        let path = &*plain_path(Path::new(path));
        match self.workspace.locate(path) {
            Ok(location) => {
                let place = place(&location);
                (location.path().to_owned(), place)
            }
            Err(workspace::Error::Tilde { .. } | workspace::Error::Nul { .. }) => {
                (self.workspace.root().join(path), PathArea::Inside)
            }
            Err(_) => (self.workspace.root().join(path), PathArea::Outside),
        }
    }
}

/// The path in a `file:` URL; other paths are unchanged.
fn plain_path(path: &Path) -> Cow<'_, Path> {
    let text = path.to_str().filter(|text| text.starts_with("file://"));
    let url = text.and_then(|text| Url::parse(text).ok());
    match url.and_then(|url| url.to_file_path().ok()) {
        Some(path) => path.into(),
        None => path.into(),
    }
}

/// Whether a location is inside the project.
fn place(location: &Location) -> PathArea {
    match location.place() {
        workspace::LocationPlace::Inside => PathArea::Inside,
        workspace::LocationPlace::Outside => PathArea::Outside,
    }
}

/// Runs blocking work on a thread. A panic fails only this call.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let approved = ApprovedActions::current();
    match tokio::task::spawn_blocking(move || approved.scope(work)).await {
        Ok(result) => result,
        Err(_) => Err(Error::Failed("the tool crashed on this input; try another way".into())),
    }
}

/// Runs a search on a thread. It stops soon after the future is dropped.
pub(crate) async fn run_search<T: Send + 'static>(
    work: impl FnOnce(&StopSignal) -> Result<T, workspace::Error> + Send + 'static,
) -> Result<T, Error> {
    let stop = StopSignal::after(SEARCH_TIME);
    let _guard = stop.on_drop();
    run_blocking(move || work(&stop).map_err(tool_error)).await
}

/// Converts an error to a message that helps the model.
pub(crate) fn tool_error(error: workspace::Error) -> Error {
    use workspace::Error as E;
    let hint = match &error {
        E::Directory { .. } => "; use list_directory".to_owned(),
        E::Binary { .. } | E::Utf16 { .. } | E::NotUtf8 { .. } => "; inspect it with terminal if needed".to_owned(),
        E::TooLarge { .. } | E::TooMany { .. } => "; work on it with terminal".to_owned(),
        E::Changed { .. } => "; read it again before changing it".to_owned(),
        E::Glob { source, .. } => format!(": {}", source.kind()),
        E::Regex { .. } => "; this is Rust regex syntax: escape ( [ { . with \\ to match them literally".to_owned(),
        E::Missing { .. }
        | E::Unencodable { .. }
        | E::Unnameable { .. }
        | E::NotADirectory { .. }
        | E::NotAFile { .. }
        | E::Denied { .. }
        | E::FileType { .. }
        | E::Loop { .. }
        | E::Tilde { .. }
        | E::Nul { .. }
        | E::Exists { .. }
        | E::IntoItself { .. }
        | E::Cancelled
        | E::Io { .. } => String::new(),
    };
    Error::Failed(format!("{error}{hint}"))
}

/// Notes on an incomplete search.
pub(crate) fn search_notes(ended: SearchEnd, unreadable: usize) -> Vec<String> {
    let late = match ended {
        SearchEnd::Complete => None,
        SearchEnd::TimedOut => Some(format!("stopped after {} s; narrow the search", SEARCH_TIME.as_secs())),
    };
    let closed = (unreadable > 0).then(|| match unreadable {
        1 => "1 file or folder could not be read".to_owned(),
        many => format!("{many} files or folders could not be read"),
    });
    late.into_iter().chain(closed).collect()
}
