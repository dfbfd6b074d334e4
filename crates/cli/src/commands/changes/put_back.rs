//! Writes what files must hold after a decision: all of them, or none.

use bytes::Bytes;
use workspace::checkpoint::Failed;
use workspace::{Error, Expect, Location, Removed, Snapshot};

/// A file that must hold something else.
pub(super) struct Step {
    /// The file.
    pub(super) file: Location,
    /// What it holds; `None` where nothing is there. Anything else is not overwritten.
    pub(super) seen: Option<Bytes>,
    /// What it must hold; `None` where it must go.
    pub(super) wanted: Option<Bytes>,
}

/// Why nothing was written.
#[derive(Debug)]
pub(super) struct Refused {
    /// What happened.
    pub(super) error: String,
    /// Files that could not be put back into the state before, and why: normally none.
    pub(super) left: Vec<String>,
}

/// Takes every step, then does the rest. When something cannot be done, what was done before it is undone.
pub(super) fn put_back(steps: Vec<Step>, rest: impl FnOnce() -> Result<(), Failed>) -> Result<(), Refused> {
    let mut taken: Vec<Taken> = Vec::new();
    let mut refused = None;
    for step in steps {
        match take(step) {
            Ok(undo) => taken.push(undo),
            Err(error) => {
                refused = Some((error.to_string(), Vec::new()));
                break;
            }
        }
    }
    if refused.is_none()
        && let Err(failed) = rest()
    {
        let left = failed.left.iter().map(|path| path.display().to_string()).collect();
        refused = Some((format!("cannot change {failed}"), left));
    }
    let Some((error, mut left)) = refused else {
        return Ok(());
    };
    left.extend(taken.into_iter().rev().filter_map(|undo| undo.run().err()));
    Err(Refused { error, left })
}

/// A step that was taken, with what undoes it.
enum Taken {
    Wrote {
        file: Location,
        before: Bytes,
        now: Snapshot,
    },
    Removed {
        file: Location,
        removed: Removed,
    },
    Made {
        file: Location,
        now: Snapshot,
    },
    Nothing,
}

fn take(step: Step) -> Result<Taken, Error> {
    let Step { file, seen, wanted } = step;
    Ok(match (seen, wanted) {
        (Some(before), Some(wanted)) => {
            let now = file.write(&wanted, Expect::Content(Snapshot::of(&before)))?.snapshot;
            Taken::Wrote { file, before, now }
        }
        (Some(before), None) => {
            let removed = file.remove(Snapshot::of(&before))?;
            Taken::Removed { file, removed }
        }
        (None, Some(wanted)) => {
            let now = file.write(&wanted, Expect::Absent)?.snapshot;
            Taken::Made { file, now }
        }
        (None, None) => Taken::Nothing,
    })
}

impl Taken {
    /// Undoes the step; otherwise says what remains of it.
    fn run(self) -> Result<(), String> {
        let remains = |file: &Location, error: Error| format!("{} ({error})", file.shown());
        match self {
            Taken::Wrote { file, before, now } => match file.write(&before, Expect::Content(now)) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains(&file, error)),
            },
            Taken::Removed { file, removed } => file.restore(&removed).map_err(|error| remains(&file, error)),
            Taken::Made { file, now } => match file.remove(now) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains(&file, error)),
            },
            Taken::Nothing => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    #[test]
    fn when_one_file_is_not_as_it_was_seen_none_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        for (name, text) in [("a", "a2"), ("new", "n"), ("c", "c2, and a person's")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let step = |name: &str, seen: Option<&'static str>, wanted: Option<&'static str>| Step {
            file: workspace.locate(name).unwrap(),
            seen: seen.map(Bytes::from),
            wanted: wanted.map(Bytes::from),
        };
        let steps = vec![
            step("a", Some("a2"), Some("a1")),
            step("new", Some("n"), None),
            step("gone", None, Some("back")),
            step("c", Some("c2"), Some("c1")),
        ];
        let refused = put_back(steps, || Ok(())).unwrap_err();
        assert_eq!(refused.error, "c has changed on disk since it was read");
        assert!(refused.left.is_empty());
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!((read("a").as_deref(), read("new").as_deref()), (Some("a2"), Some("n")));
        assert_eq!((read("gone"), read("c").as_deref()), (None, Some("c2, and a person's")));
    }
}
