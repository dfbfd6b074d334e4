//! What the agent changed and nobody has looked at yet: hunks to accept or reject, with a person's own edits in between kept apart.

mod tracked;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracked::Tracked;
pub use tracked::{Authors, ReviewHunk, Status};

/// The changes that wait for review, by file. It touches no file: what is to be written comes back as [`Restore`].
#[derive(Clone, Debug, Default)]
pub struct ActionLog {
    files: BTreeMap<PathBuf, Tracked>,
    /// What the last rejection of everything took away.
    rejected: Vec<(PathBuf, Tracked)>,
}

/// How a decision leaves a file: what differs between the two texts still waits for review. Nothing means no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The text that counts as accepted.
    pub base: Option<String>,
    /// The text that the file must hold now.
    pub current: Option<String>,
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
        self.person_wrote(path, before);
        let file = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| Tracked::new(before));
        file.agent_wrote(after);
        self.settle(path);
    }

    /// Someone else wrote a file, or it is as it was. Changes apart from the agent's do not show up for review; those that touch
    /// them become part of them. Whoever removes a file, or puts one where the agent removed it, has decided about it.
    pub fn person_wrote(&mut self, path: &Path, after: Option<&str>) {
        let Some(file) = self.files.get_mut(path).filter(|file| file.current() != after) else {
            return;
        };
        if file.current().is_none() || after.is_none() {
            self.files.remove(path);
        } else {
            file.person_wrote(after);
            self.settle(path);
        }
    }

    /// Someone looked at a file: `base` counts as accepted from then on, and `current` is what the file held then.
    pub fn reviewed(&mut self, path: &Path, base: Option<&str>, current: Option<&str>) {
        self.person_wrote(path, current);
        let file = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| Tracked::new(current));
        file.reviewed(base);
        self.settle(path);
    }

    /// Forgets a file, whatever there is to review in it.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// The text of a file that counts as accepted and the text that it holds.
    pub fn texts(&self, path: &Path) -> Option<(Option<&str>, Option<&str>)> {
        self.files.get(path).map(|file| (file.base(), file.current()))
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
        self.decide(path, &[hunk], &[]);
    }

    /// Takes some changes of a file as good and others back, all at once (by their places in [`Self::hunks`]). Nothing when the
    /// file is not there, or when it is new, is to go, and a person has worked on it.
    pub fn decide(&mut self, path: &Path, accepted: &[usize], rejected: &[usize]) -> Option<Decided> {
        let file = self.files.get_mut(path)?;
        file.decide(accepted, rejected)?;
        let decided = Decided {
            base: file.base().map(str::to_owned),
            current: file.current().map(str::to_owned),
        };
        self.settle(path);
        Some(decided)
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
        if hunk >= self.hunks(path).len() {
            return None;
        }
        let content = self.decide(path, &[], &[hunk])?.current;
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
