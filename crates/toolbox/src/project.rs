//! What the file tools share: the project, what has been read of it, and how its errors are told to the model.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use policy::{Action, Place};
use tool::Error;
use workspace::{Bounds, Ended, Location, Stop, Workspace};

use crate::reads::{Caller, Reads};
use crate::shown::Shown;
use crate::spill::Spill;

/// How long a search may take.
const SEARCH_TIME: Duration = Duration::from_secs(20);
/// The largest tree that is copied, moved or removed in one call: its files are recorded, so that it can be undone.
const MOST_ENTRIES: usize = 5_000;
/// How large a tree may be that is copied, moved or removed in one call.
pub(crate) const TREE: Bounds = Bounds {
    entries: MOST_ENTRIES,
    bytes: 64 * 1024 * 1024,
};

/// The project that the tools work in. Clones share what has been read and where long answers go.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) workspace: Workspace,
    pub(crate) reads: Reads,
    pub(crate) shown: Shown,
    pub(crate) spill: Spill,
}

impl Project {
    pub(crate) fn new(workspace: Workspace, spill: Spill, caller: Caller) -> Self {
        Self {
            workspace,
            reads: Reads::of(caller),
            shown: Shown::default(),
            spill,
        }
    }

    /// Takes files for known that have not changed since the model saw them.
    pub(crate) fn recall(&self, seen: &[(PathBuf, SystemTime)]) {
        for (path, at) in seen {
            let Ok(file) = self.workspace.locate(path) else {
                continue;
            };
            let is_unchanged = file.modified().is_ok_and(|modified| modified <= *at);
            if is_unchanged && let Ok(snapshot) = file.snapshot() {
                self.reads.remember(&file, snapshot);
            }
        }
    }

    pub(crate) fn locate(&self, path: &str) -> Result<Location, Error> {
        self.workspace.locate(path).map_err(explain)
    }

    /// What reading a path needs approved: nothing for a long answer that was put there for the model.
    pub(crate) fn reading(&self, path: &str) -> Vec<Action> {
        let (path, place) = self.place(path);
        match self.spill.holds(&path) {
            true => Vec::new(),
            false => vec![Action::Read { path, place }],
        }
    }

    /// What reading a file, or a folder with all that is in it, needs approved.
    pub(crate) fn reading_all(&self, path: &str) -> Vec<Action> {
        let mut actions = self.reading(path);
        if let Ok(top) = self.workspace.locate(path) {
            let place = place(&top);
            let below = top.names_below(MOST_ENTRIES).into_iter();
            actions.extend(below.map(|path| Action::Read { path, place }));
        }
        actions
    }

    pub(crate) fn writing(&self, path: &str) -> Vec<Action> {
        let (path, place) = self.place(path);
        vec![Action::Write { path, place }]
    }

    /// What is named, even if it is a symbolic link.
    pub(crate) fn locate_entry(&self, path: &str) -> Result<Location, Error> {
        self.workspace.locate_entry(path).map_err(explain)
    }

    /// What changing what is named needs approved, even if it is a symbolic link: the folder or file, and all that is in it,
    /// so that rules about single files hold. A tree that is too large is refused when the tool runs.
    /// What leads nowhere now may lead somewhere when the tool runs, so it is judged like any other path.
    pub(crate) fn changing(&self, named: &str, entry: Result<Location, Error>) -> Vec<Action> {
        let Ok(entry) = entry else {
            return self.writing(named);
        };
        let place = place(&entry);
        let below = match entry.is_link() {
            true => Vec::new(),
            false => entry.names_below(MOST_ENTRIES),
        };
        [entry.path().to_owned()]
            .into_iter()
            .chain(below)
            .map(|path| Action::Write { path, place })
            .collect()
    }

    /// Where a path leads. One that cannot be followed is judged by its own words, and as outside: what is in its way may be
    /// gone when the tool runs. Only one that can never be followed is as good as inside.
    fn place(&self, path: &str) -> (std::path::PathBuf, Place) {
        match self.workspace.locate(path) {
            Ok(location) => {
                let place = place(&location);
                (location.path().to_owned(), place)
            }
            Err(workspace::Error::Tilde { .. } | workspace::Error::Nul { .. }) => {
                (self.workspace.root().join(path), Place::Inside)
            }
            Err(_) => (self.workspace.root().join(path), Place::Outside),
        }
    }
}

/// On which side of the project's border a location lies.
fn place(location: &Location) -> Place {
    match location.place() {
        workspace::Place::Inside => Place::Inside,
        workspace::Place::Outside => Place::Outside,
    }
}

/// Runs work that blocks or takes long on a thread for it. A panic there ends this call only.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(Error::Failed(
            "the tool broke down on this input; try another way".into(),
        )),
    }
}

/// Runs a search on a thread for it, which ends soon after the returned future is dropped.
pub(crate) async fn searching<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, workspace::Error> + Send + 'static,
) -> Result<T, Error> {
    let stop = Stop::after(SEARCH_TIME);
    let _guard = stop.on_drop();
    aside(move || work(&stop).map_err(explain)).await
}

/// An error as a sentence that the model can act on.
pub(crate) fn explain(error: workspace::Error) -> Error {
    use workspace::Error as E;
    let hint = match &error {
        E::Directory { .. } => "; use list_directory".to_owned(),
        E::Binary { .. } | E::Utf16 { .. } | E::NotUtf8 { .. } => "; inspect it with terminal if needed".to_owned(),
        E::TooLarge { .. } | E::TooMany { .. } => "; work on it with terminal".to_owned(),
        E::Changed { .. } => "; read it again before changing it".to_owned(),
        E::Glob { source, .. } => format!(": {}", source.kind()),
        E::Regex { .. } => "; it is Rust regex syntax, so escape ( [ { . with \\ to match them as they are".to_owned(),
        E::Missing { .. }
        | E::Unfit { .. }
        | E::Name { .. }
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

/// What a search could not see, one note each.
pub(crate) fn gaps(ended: Ended, unreadable: usize) -> Vec<String> {
    let late = match ended {
        Ended::Complete => None,
        Ended::TimedOut => Some(format!("stopped after {} s; narrow the search", SEARCH_TIME.as_secs())),
    };
    let closed = (unreadable > 0).then(|| match unreadable {
        1 => "1 file or folder could not be read".to_owned(),
        many => format!("{many} files or folders could not be read"),
    });
    late.into_iter().chain(closed).collect()
}
