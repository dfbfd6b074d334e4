//! Directories for the model's notes: for all projects, for this project, for this session.

use std::path::{Path, PathBuf};

use tool::Error;
use workspace::{ExpectedContent, Location, Workspace};

use crate::support::project::tool_error;

/// Maximum size of a note.
pub(crate) const NOTE_BYTES: usize = 64 * 1024;
/// Maximum number of notes listed per scope.
const MAX_LISTED: usize = 200;
/// The prefix of paths in other systems.
const PREFIX: &str = "memories";

/// The scratchpad in the session's notes.
pub(crate) const SCRATCHPAD: &str = "scratchpad.md";

/// The storage of notes.
#[derive(Debug, Clone, Default)]
pub(crate) struct NoteStore {
    /// The data directory, which exists; without it notes are not available.
    data: Option<PathBuf>,
    /// The project's unique name.
    project: String,
}

/// The scope of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteScope {
    User,
    Project,
    Session,
}

impl NoteScope {
    pub(crate) const ALL: [NoteScope; 3] = [NoteScope::User, NoteScope::Project, NoteScope::Session];

    pub(crate) fn word(self) -> &'static str {
        match self {
            NoteScope::User => "user",
            NoteScope::Project => "project",
            NoteScope::Session => "session",
        }
    }
}

/// A note's path within a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteName {
    pub(crate) scope: NoteScope,
    pub(crate) rest: String,
}

impl NoteStore {
    pub(crate) fn new(data: Option<PathBuf>, root: &Path) -> Self {
        NoteStore {
            data,
            project: project_name(root),
        }
    }

    /// Parses a path given by the model: `user/x`, `project/x`, `session/x`, optionally with the prefix `/memories/`.
    pub(crate) fn name(path: &str) -> Result<NoteName, Error> {
        let path = path.trim().trim_start_matches("./").trim_matches('/');
        let path = match path.split_once('/') {
            Some((PREFIX, rest)) => rest,
            _ if path == PREFIX => "",
            _ => path,
        };
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let scope = match first {
            "project" | "repo" => NoteScope::Project,
            "session" => NoteScope::Session,
            "user" => NoteScope::User,
            // Other systems store notes without a scope for the user.
            _ => {
                return Ok(NoteName {
                    scope: NoteScope::User,
                    rest: path.into(),
                });
            }
        };
        Ok(NoteName {
            scope,
            rest: rest.into(),
        })
    }

    /// Locates a note. It cannot be outside its scope, neither by `..` nor by a link.
    pub(crate) fn locate(&self, name: &NoteName, session: &str) -> Result<Location, Error> {
        let folder = self.folder(name.scope, session)?;
        let note = folder.1.locate(folder.0.join(&name.rest)).map_err(tool_error)?;
        match note.path().starts_with(folder.1.root().join(&folder.0)) {
            true => Ok(note),
            false => Err(Error::Failed(format!(
                "`{}` is outside the notes; use user/…, project/… or session/…",
                name.rest
            ))),
        }
    }

    /// The names of the notes in a scope.
    pub(crate) fn list(&self, scope: NoteScope, session: &str) -> Result<Vec<String>, Error> {
        let (folder, data) = self.folder(scope, session)?;
        let place = data.locate(&folder).map_err(tool_error)?;
        let base = place.path().to_owned();
        let found = place.names_below(MAX_LISTED).into_iter().filter(|path| path.is_file());
        let names = found.filter_map(|path| {
            let rest = path.strip_prefix(&base).ok()?.to_string_lossy().into_owned();
            Some(format!("{}/{rest}", scope.word()))
        });
        Ok(names.collect())
    }

    /// Writes a note.
    pub(crate) fn write(&self, note: &Location, text: &str) -> Result<(), Error> {
        if text.len() > NOTE_BYTES {
            return Err(Error::Failed(format!(
                "the note is too long ({} bytes, maximum {NOTE_BYTES}); split it",
                text.len()
            )));
        }
        note.write(text.as_bytes(), ExpectedContent::Anything)
            .map_err(tool_error)?;
        Ok(())
    }

    /// The directory of a scope, relative to the data directory.
    fn folder(&self, scope: NoteScope, session: &str) -> Result<(PathBuf, Workspace), Error> {
        let data = self
            .data
            .as_deref()
            .ok_or_else(|| Error::Failed("notes are not available here".into()))?;
        let workspace = Workspace::open(data).map_err(tool_error)?;
        let base = Path::new("memory");
        let folder = match scope {
            NoteScope::User => base.join("user"),
            NoteScope::Project => base.join("projects").join(&self.project),
            NoteScope::Session => base.join("sessions").join(match session {
                "" => "none",
                id => id,
            }),
        };
        Ok((folder, workspace))
    }
}

/// A unique name for a project: the last component of its path, and a hash of the whole path.
fn project_name(root: &Path) -> String {
    let text = root.to_string_lossy();
    // FNV-1a is stable across machines and versions.
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
