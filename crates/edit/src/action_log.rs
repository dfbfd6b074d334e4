//! What the agent changed and nobody has looked at yet: hunks to accept or reject, with a person's own edits in between kept apart.

mod tracked;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracked::Tracked;
pub use tracked::{ReviewHunk, Status};

/// The changes that wait for review, by file. It touches no file: what is to be written comes back as [`Restore`].
#[derive(Clone, Debug, Default)]
pub struct ActionLog {
    files: BTreeMap<PathBuf, Tracked>,
    /// What the last rejection of everything took away.
    rejected: Vec<(PathBuf, Tracked)>,
}

/// What a file must hold after a rejection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The file.
    pub path: PathBuf,
    /// Its content; nothing when it must go.
    pub content: Option<String>,
}

impl ActionLog {
    /// The agent wrote a file: what was there before, what is there now. Nothing means no file.
    pub fn agent_wrote(&mut self, path: &Path, before: Option<&str>, after: Option<&str>) {
        let file = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| Tracked::new(before));
        if file.current() != before {
            file.person_wrote(before);
        }
        file.agent_wrote(after);
        self.settle(path);
    }

    /// Someone else wrote a file. Changes apart from the agent's do not show up for review; those that touch them become part of them.
    pub fn person_wrote(&mut self, path: &Path, after: Option<&str>) {
        if after.is_none() {
            self.files.remove(path);
        } else if let Some(file) = self.files.get_mut(path) {
            file.person_wrote(after);
            self.settle(path);
        }
    }

    /// The files with changes to review.
    pub fn files(&self) -> impl Iterator<Item = (&Path, Status)> {
        self.files.iter().map(|(path, file)| (path.as_path(), file.status()))
    }

    /// The changes of a file, from top to bottom.
    pub fn hunks(&self, path: &Path) -> Vec<ReviewHunk> {
        self.files.get(path).map(Tracked::hunks).unwrap_or_default()
    }

    /// Takes one change of a file (by its place in [`Self::hunks`]) as good.
    pub fn accept(&mut self, path: &Path, hunk: usize) {
        if let Some(file) = self.files.get_mut(path) {
            file.accept(hunk);
            self.settle(path);
        }
    }

    /// Takes every change of a file as good.
    pub fn accept_file(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Takes everything as good.
    pub fn accept_all(&mut self) {
        self.files.clear();
    }

    /// Takes back one change of a file. Nothing when there is no such change, or when the file is new and a person has worked on it.
    pub fn reject(&mut self, path: &Path, hunk: usize) -> Option<Restore> {
        let file = self.files.get_mut(path)?;
        let content = file.reject(hunk)?;
        self.settle(path);
        Some(Restore {
            path: path.to_owned(),
            content,
        })
    }

    /// Takes back every change of a file.
    pub fn reject_file(&mut self, path: &Path) -> Option<Restore> {
        let file = self.files.remove(path)?;
        file.reject_all().map(|content| Restore {
            path: path.to_owned(),
            content,
        })
    }

    /// Takes back everything; [`Self::undo_reject_all`] brings it again.
    pub fn reject_all(&mut self) -> Vec<Restore> {
        self.rejected = std::mem::take(&mut self.files).into_iter().collect();
        self.rejected
            .iter()
            .filter_map(|(path, file)| {
                Some(Restore {
                    path: path.clone(),
                    content: file.reject_all()?,
                })
            })
            .collect()
    }

    /// Undoes the last rejection of everything: the agent's text comes back, to be reviewed again.
    pub fn undo_reject_all(&mut self) -> Vec<Restore> {
        let back = std::mem::take(&mut self.rejected);
        let restores = back
            .iter()
            .filter(|(_, file)| file.reject_all().is_some())
            .map(|(path, file)| Restore {
                path: path.clone(),
                content: file.current().map(str::to_owned),
            })
            .collect();
        self.files.extend(back);
        restores
    }

    /// A commit now holds `head` for this file: changes that are in it count as accepted.
    pub fn committed(&mut self, path: &Path, head: &str) {
        if let Some(file) = self.files.get_mut(path) {
            file.committed(head);
            self.settle(path);
        }
    }

    /// Forgets a file in which nothing is left to review.
    fn settle(&mut self, path: &Path) {
        if self.files.get(path).is_some_and(Tracked::is_settled) {
            self.files.remove(path);
        }
    }
}
