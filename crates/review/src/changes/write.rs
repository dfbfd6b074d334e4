//! Writes file contents after a decision: all of them, or none.

use bytes::Bytes;
use workspace::checkpoint::RestoreError;
use workspace::{Error, ExpectedContent, Fingerprint, Location, RemovedFile};

/// A file content to write.
pub(super) struct FileWrite {
    /// The file.
    pub(super) file: Location,
    /// The expected current content; `None` if the file must not exist. Other content is not overwritten.
    pub(super) expected: Option<Bytes>,
    /// The content to write; `None` to remove the file.
    pub(super) target: Option<Bytes>,
}

/// Applies every write, then runs `rest`. On failure, reverts the writes applied so far.
pub(super) fn apply_all(
    writes: Vec<FileWrite>,
    rest: impl FnOnce() -> Result<(), RestoreError>,
) -> Result<(), crate::Error> {
    let mut applied: Vec<AppliedWrite> = Vec::new();
    let mut failure = None;
    for write in writes {
        match apply_write(write) {
            Ok(write) => applied.push(write),
            Err(error) => {
                failure = Some((error.to_string(), Vec::new()));
                break;
            }
        }
    }
    if failure.is_none()
        && let Err(error) = rest()
    {
        let left = error
            .not_restored
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        failure = Some((format!("cannot change {error}"), left));
    }
    let Some((message, mut not_reverted)) = failure else {
        return Ok(());
    };
    not_reverted.extend(applied.into_iter().rev().filter_map(AppliedWrite::revert));
    Err(crate::Error::Write { message, not_reverted })
}

/// An applied write, with the data to revert it.
enum AppliedWrite {
    Wrote {
        file: Location,
        before: Bytes,
        now: Fingerprint,
    },
    Removed {
        file: Location,
        removed: RemovedFile,
    },
    Created {
        file: Location,
        now: Fingerprint,
    },
    Nothing,
}

fn apply_write(write: FileWrite) -> Result<AppliedWrite, Error> {
    let FileWrite { file, expected, target } = write;
    Ok(match (expected, target) {
        (Some(before), Some(target)) => {
            let now = file
                .write(&target, ExpectedContent::Content(Fingerprint::of(&before)))?
                .snapshot;
            AppliedWrite::Wrote { file, before, now }
        }
        (Some(before), None) => {
            let removed = file.remove(Fingerprint::of(&before))?;
            AppliedWrite::Removed { file, removed }
        }
        (None, Some(target)) => {
            let now = file.write(&target, ExpectedContent::Absent)?.snapshot;
            AppliedWrite::Created { file, now }
        }
        (None, None) => AppliedWrite::Nothing,
    })
}

impl AppliedWrite {
    /// Reverts the write. Returns the file and the reason if that fails.
    fn revert(self) -> Option<String> {
        let (file, reverted) = match self {
            AppliedWrite::Wrote { file, before, now } => {
                let reverted = file.write(&before, ExpectedContent::Content(now)).map(drop);
                (file, reverted)
            }
            AppliedWrite::Removed { file, removed } => {
                let reverted = file.restore(&removed);
                (file, reverted)
            }
            AppliedWrite::Created { file, now } => {
                let reverted = file.remove(now).map(drop);
                (file, reverted)
            }
            AppliedWrite::Nothing => return None,
        };
        let error = reverted.err()?;
        Some(format!("{} ({error})", file.shown()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    #[test]
    fn no_file_is_written_if_one_of_them_has_unexpected_content() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        for (name, text) in [("a", "a2"), ("new", "n"), ("c", "c2, and the user's edit")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let step = |name: &str, expected: Option<&'static str>, target: Option<&'static str>| FileWrite {
            file: workspace.locate(name).unwrap(),
            expected: expected.map(Bytes::from),
            target: target.map(Bytes::from),
        };
        let steps = vec![
            step("a", Some("a2"), Some("a1")),
            step("new", Some("n"), None),
            step("gone", None, Some("back")),
            step("c", Some("c2"), Some("c1")),
        ];
        let error = apply_all(steps, || Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "c has changed on disk since it was read");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!((read("a").as_deref(), read("new").as_deref()), (Some("a2"), Some("n")));
        assert_eq!(
            (read("gone"), read("c").as_deref()),
            (None, Some("c2, and the user's edit"))
        );
    }
}
