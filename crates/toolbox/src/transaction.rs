//! Changes to several files that are made together or not at all.

use tool::Error;
use workspace::{Expect, Location, Removed, Snapshot};

use crate::project::explain;

/// One change to the disk.
#[derive(Debug)]
pub(crate) enum Step {
    /// A new file; nothing may stand there.
    Create { file: Location, bytes: Vec<u8> },
    /// New content for a file that still holds what it held.
    Write {
        file: Location,
        bytes: Vec<u8>,
        expect: Snapshot,
    },
    /// A file that still holds what it held goes.
    Remove { file: Location, expect: Snapshot },
    /// A file gets a name under which nothing stands.
    Rename { from: Location, to: Location },
}

impl Step {
    /// The files that it touches.
    pub(crate) fn files(&self) -> Vec<&Location> {
        match self {
            Self::Create { file, .. } | Self::Write { file, .. } | Self::Remove { file, .. } => vec![file],
            Self::Rename { from, to } => vec![from, to],
        }
    }
}

/// What undoes a step.
enum Undo {
    Create {
        file: Location,
        now: Snapshot,
    },
    Write {
        file: Location,
        before: Vec<u8>,
        now: Snapshot,
    },
    Remove {
        file: Location,
        removed: Removed,
    },
    Rename {
        from: Location,
        to: Location,
    },
    Folder(Location),
}

/// Makes all changes, in order. When one fails, those made are undone and the error says what could not be.
pub(crate) fn carry_out(steps: Vec<Step>) -> Result<(), Error> {
    let mut undos = Vec::new();
    for step in steps {
        if let Err(error) = take(step, &mut undos) {
            return Err(undo(undos, explain(error)));
        }
    }
    Ok(())
}

fn take(step: Step, undos: &mut Vec<Undo>) -> Result<(), workspace::Error> {
    match step {
        Step::Create { file, bytes } => {
            undos.extend(file.missing_folders().into_iter().rev().map(Undo::Folder));
            let now = file.write(&bytes, Expect::Absent)?.snapshot;
            undos.push(Undo::Create { file, now });
        }
        Step::Write { file, bytes, expect } => {
            let written = file.write(&bytes, Expect::Content(expect))?;
            undos.push(Undo::Write {
                file,
                before: written.before.unwrap_or_default(),
                now: written.snapshot,
            });
        }
        Step::Remove { file, expect } => {
            let removed = file.remove(expect)?;
            undos.push(Undo::Remove { file, removed });
        }
        Step::Rename { from, to } => {
            undos.extend(to.missing_folders().into_iter().rev().map(Undo::Folder));
            from.rename(&to)?;
            undos.push(Undo::Rename { from, to });
        }
    }
    Ok(())
}

/// Undoes the steps, the last one first, and says what is left of them.
fn undo(undos: Vec<Undo>, error: Error) -> Error {
    let left: Vec<String> = undos.into_iter().rev().filter_map(|undo| undo.run().err()).collect();
    match left.is_empty() {
        true => Error::Failed(format!("{error}. Nothing was changed.")),
        false => Error::Failed(format!(
            "{error}. These changes were made and could not be undone: {}.",
            left.join("; ")
        )),
    }
}

impl Undo {
    /// Undoes one step; otherwise the change that remains.
    fn run(self) -> Result<(), String> {
        let remains = |what: &str, file: &Location, error: workspace::Error| {
            let shown = file.shown();
            format!("{what} {shown} ({error})")
        };
        match self {
            Self::Create { file, now } => match file.remove(now) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains("created", &file, error)),
            },
            Self::Write { file, before, now } => match file.write(&before, Expect::Content(now)) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains("edited", &file, error)),
            },
            Self::Remove { file, removed } => file.restore(&removed).map_err(|error| remains("removed", &file, error)),
            Self::Rename { from, to } => to.rename(&from).map_err(|error| remains("renamed", &from, error)),
            Self::Folder(folder) => folder
                .remove_empty_folder()
                .map_err(|error| remains("created", &folder, error)),
        }
    }
}
