//! Folders of hew's own where the model keeps notes: for all projects, for this one, for this session.

use std::path::{Path, PathBuf};

use tool::Error;
use workspace::{Expect, Location, Workspace};

use crate::project::explain;

/// A longer note is refused.
pub(crate) const NOTE_BYTES: usize = 64 * 1024;
/// Notes that are listed of a scope.
const LISTED: usize = 200;
/// What stands before names in other systems.
const PREFIX: &str = "memories";

/// Where notes are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notebook {
    /// hew's data folder, which exists; nothing is kept without it.
    data: Option<PathBuf>,
    /// The project's name among others.
    project: String,
}

/// For whom a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
    Session,
}

impl Scope {
    pub(crate) const ALL: [Scope; 3] = [Scope::User, Scope::Project, Scope::Session];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Session => "session",
        }
    }
}

/// A name within a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) scope: Scope,
    pub(crate) rest: String,
}

impl Notebook {
    pub(crate) fn new(data: Option<PathBuf>, root: &Path) -> Self {
        Notebook {
            data,
            project: project_name(root),
        }
    }

    /// What a path of a model means: `user/x`, `project/x`, `session/x`, with or without `/memories/` before it.
    pub(crate) fn name(path: &str) -> Result<Name, Error> {
        let path = path.trim().trim_start_matches("./").trim_matches('/');
        let path = match path.split_once('/') {
            Some((PREFIX, rest)) => rest,
            _ if path == PREFIX => "",
            _ => path,
        };
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let scope = match first {
            "project" | "repo" => Scope::Project,
            "session" => Scope::Session,
            "user" => Scope::User,
            // Elsewhere, what has no scope is the person's.
            _ => {
                return Ok(Name {
                    scope: Scope::User,
                    rest: path.into(),
                });
            }
        };
        Ok(Name {
            scope,
            rest: rest.into(),
        })
    }

    /// Where a note is. It cannot lie outside its scope, neither by `..` nor by a link.
    pub(crate) fn locate(&self, name: &Name, session: &str) -> Result<Location, Error> {
        let folder = self.folder(name.scope, session)?;
        let note = folder.1.locate(folder.0.join(&name.rest)).map_err(explain)?;
        match note.path().starts_with(folder.1.root().join(&folder.0)) {
            true => Ok(note),
            false => Err(Error::Failed(format!(
                "`{}` is outside of the notes; name it as user/…, project/… or session/…",
                name.rest
            ))),
        }
    }

    /// The names of the notes in a scope, and how many more there are.
    pub(crate) fn list(&self, scope: Scope, session: &str) -> Result<Vec<String>, Error> {
        let (folder, data) = self.folder(scope, session)?;
        let place = data.locate(&folder).map_err(explain)?;
        let base = place.path().to_owned();
        let found = place.names_below(LISTED).into_iter().filter(|path| path.is_file());
        let names = found.filter_map(|path| {
            let rest = path.strip_prefix(&base).ok()?.to_string_lossy().into_owned();
            Some(format!("{}/{rest}", scope.word()))
        });
        Ok(names.collect())
    }

    /// Replaces a note.
    pub(crate) fn write(&self, note: &Location, text: &str) -> Result<(), Error> {
        if text.len() > NOTE_BYTES {
            return Err(Error::Failed(format!(
                "{} bytes are too many for one note; keep it under {NOTE_BYTES}, or split it",
                text.len()
            )));
        }
        note.write(text.as_bytes(), Expect::Anything).map_err(explain)?;
        Ok(())
    }

    /// The folder of a scope, seen from the data folder.
    fn folder(&self, scope: Scope, session: &str) -> Result<(PathBuf, Workspace), Error> {
        let data = self
            .data
            .as_deref()
            .ok_or_else(|| Error::Failed("no notes are kept here".into()))?;
        let workspace = Workspace::open(data).map_err(explain)?;
        let base = Path::new("memory");
        let folder = match scope {
            Scope::User => base.join("user"),
            Scope::Project => base.join("projects").join(&self.project),
            Scope::Session => base.join("sessions").join(match session {
                "" => "none",
                id => id,
            }),
        };
        Ok((folder, workspace))
    }
}

/// A name for a project that no other has: the end of its path, and a number made of all of it.
fn project_name(root: &Path) -> String {
    let text = root.to_string_lossy();
    // FNV-1a: the same on every machine and in every version.
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let end: String = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let end: String = end
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .take(40)
        .collect();
    format!("{}-{sum:016x}", end.trim_start_matches('.'))
}
