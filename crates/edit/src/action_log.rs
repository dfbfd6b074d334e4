//! The agent's unreviewed changes: hunks to accept or reject, separate from the user's own edits.

mod tracked;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracked::TrackedFile;
pub use tracked::{FileStatus, HunkAuthors, ReviewHunk};

/// The changes awaiting review, by file. It does not access files.
#[derive(Clone, Debug, Default)]
pub struct ActionLog {
    files: BTreeMap<PathBuf, TrackedFile>,
}

/// The state of a file after a decision: differences between the two texts still await review. `None` means no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDecision {
    /// The accepted text.
    pub base: Option<String>,
    /// The content that the file must have now.
    pub current: Option<String>,
}

impl ActionLog {
    /// Records a write by the agent: the content before and after. `None` means no file.
    pub fn record_agent_write(&mut self, path: &Path, before: Option<&str>, after: Option<&str>) {
        self.record_user_write(path, before);
        let file = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| TrackedFile::new(before));
        file.record_agent_write(after);
        self.drop_settled(path);
    }

    /// Records a write by the user, or an unchanged file. Changes apart from the agent's are not reviewed; those that
    /// touch the agent's become part of them. Deleting a file, or creating one that the agent deleted, decides its
    /// review.
    pub fn record_user_write(&mut self, path: &Path, after: Option<&str>) {
        let Some(file) = self.files.get_mut(path).filter(|file| file.current() != after) else {
            return;
        };
        if file.current().is_none() || after.is_none() {
            self.files.remove(path);
        } else {
            file.record_user_write(after);
            self.drop_settled(path);
        }
    }

    /// Records a review: `base` counts as accepted from now on, and `current` was the file's content at that time.
    pub fn restore_review(&mut self, path: &Path, base: Option<&str>, current: Option<&str>) {
        self.record_user_write(path, current);
        let file = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| TrackedFile::new(current));
        file.set_base(base);
        self.drop_settled(path);
    }

    /// Removes a file and its pending changes.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// The accepted text and the current text of a file.
    pub fn texts(&self, path: &Path) -> Option<(Option<&str>, Option<&str>)> {
        self.files.get(path).map(|file| (file.base(), file.current()))
    }

    /// The files with changes to review.
    pub fn files(&self) -> impl Iterator<Item = (&Path, FileStatus)> {
        self.files.iter().map(|(path, file)| (path.as_path(), file.status()))
    }

    /// The changes of a file, from top to bottom.
    pub fn hunks(&self, path: &Path) -> Vec<ReviewHunk> {
        self.files.get(path).map(TrackedFile::hunks).unwrap_or_default()
    }

    /// Accepts some changes of a file and rejects others at the same time (by their indices in [`Self::hunks`]).
    /// Returns `None` if the file does not exist, or if it is new, rejected, and the user has edited it.
    pub fn decide(&mut self, path: &Path, accepted: &[usize], rejected: &[usize]) -> Option<ReviewDecision> {
        let file = self.files.get_mut(path)?;
        file.decide(accepted, rejected)?;
        let decided = ReviewDecision {
            base: file.base().map(str::to_owned),
            current: file.current().map(str::to_owned),
        };
        self.drop_settled(path);
        Some(decided)
    }

    /// Removes a file without pending changes.
    fn drop_settled(&mut self, path: &Path) {
        if self.files.get(path).is_some_and(TrackedFile::is_settled) {
            self.files.remove(path);
        }
    }
}
