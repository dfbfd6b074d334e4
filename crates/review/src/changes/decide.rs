//! Resolves accept and reject requests to changes, and computes the resulting state of each file.

use super::metadata::ModeChange;
use super::pending::{HunkKind, PendingChanges, PendingContent, PendingFile, PendingHunk};
use super::write::FileWrite;
use crate::Error;
use crate::restore::MAX_NAMED_FILES;
use bytes::Bytes;
use edit::HunkAuthors;
use session::{FileKind, FileVersion, same_version};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workspace::checkpoint;

/// Changes to accept and reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewRequest {
    /// Accept all changes.
    AcceptAll,
    /// Reject all changes.
    RejectAll,
    /// Accept and reject single changes.
    Selected {
        /// Ids of changes to accept.
        accept: Vec<String>,
        /// Ids of changes to reject.
        reject: Vec<String>,
    },
}

/// Accepted and rejected hunks, by indices of files and hunks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReviewDecisions {
    by_file: BTreeMap<usize, FileDecision>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct FileDecision {
    accepted: Vec<usize>,
    rejected: Vec<usize>,
}

/// The result of a decision for one path.
pub(super) struct ReviewOutcome {
    /// Index of the file.
    pub(super) file: usize,
    /// The resulting state.
    pub(super) state: ReviewedState,
}

/// The state of a path after a decision. `None` means that no file exists.
pub(super) enum ReviewedState {
    File {
        /// The accepted content.
        base: Option<Bytes>,
        /// The content to write.
        current: Option<Bytes>,
        /// Accepted and resulting permissions, if a change of permissions is pending.
        modes: Option<ModeChange>,
    },
    /// The accepted version of a path that is or was a symbolic link.
    Link(Option<FileVersion>),
}

/// Resolves the requested changes. Fails if one of them is unknown or cannot be rejected.
pub(super) fn resolve_decisions(pending: &PendingChanges, request: &ReviewRequest) -> Result<ReviewDecisions, Error> {
    let mut decisions = ReviewDecisions::default();
    let (accept, reject) = match request {
        ReviewRequest::Selected { accept, reject } => (accept, reject),
        ReviewRequest::AcceptAll | ReviewRequest::RejectAll => {
            let all = pending.files.iter().enumerate();
            for (at, file) in all.filter(|(_, file)| !file.hunks.is_empty()) {
                let hunks = (0..file.hunks.len()).collect();
                let decision = decisions.by_file.entry(at).or_default();
                match request {
                    ReviewRequest::RejectAll => decision.rejected = hunks,
                    ReviewRequest::AcceptAll | ReviewRequest::Selected { .. } => decision.accepted = hunks,
                }
            }
            if *request == ReviewRequest::RejectAll {
                check_reject_all(pending)?;
            }
            return Ok(decisions);
        }
    };
    let accepted = find_hunks(pending, accept)?;
    let rejected = find_hunks(pending, reject)?;
    if let Some((file, hunk)) = accepted.intersection(&rejected).next() {
        let hunk = pending.files.get(*file).and_then(|file| file.hunks.get(*hunk));
        let id = hunk.map(|hunk| hunk.id.clone());
        return Err(Error::ContradictoryDecision(id.unwrap_or_default()));
    }
    for (file, hunk) in accepted {
        decisions.by_file.entry(file).or_default().accepted.push(hunk);
    }
    for (file, hunk) in rejected {
        check_rejectable(pending, file, hunk)?;
        decisions.by_file.entry(file).or_default().rejected.push(hunk);
    }
    Ok(decisions)
}

fn find_hunks(pending: &PendingChanges, ids: &[String]) -> Result<BTreeSet<(usize, usize)>, Error> {
    let find = |id: &String| pending.find(id).ok_or_else(|| unknown_change(pending, id));
    ids.iter().map(find).collect()
}

/// Explains why no change has this id.
fn unknown_change(pending: &PendingChanges, id: &str) -> Error {
    if let Some(path) = pending.file_of(id) {
        let (id, path) = (id.to_owned(), path.to_owned());
        return Error::StaleChange { id, path };
    }
    let has_number = |hunk: &&PendingHunk| id.trim_start_matches('#').parse() == Ok(hunk.number);
    let hunk = pending.files.iter().flat_map(|file| &file.hunks).find(has_number);
    match hunk {
        Some(hunk) => Error::ListNumber {
            number: id.to_owned(),
            id: hunk.id.clone(),
        },
        None => Error::UnknownChange(id.to_owned()),
    }
}

/// Fails if rejecting a hunk would delete or replace a file that contains the user's edits.
fn check_rejectable(pending: &PendingChanges, file: usize, hunk: usize) -> Result<(), Error> {
    let Some(file) = pending.files.get(file) else {
        return Ok(());
    };
    match file.hunks.get(hunk) {
        Some(hunk) if file.is_reject_blocked(hunk) => Err(reject_refused(file)),
        Some(_) | None => Ok(()),
    }
}

fn reject_refused(file: &PendingFile) -> Error {
    let path = file.path.clone();
    match &file.content {
        PendingContent::Binary(_) => Error::MixedBinaryFile(path),
        PendingContent::Text | PendingContent::ModeOnly | PendingContent::Link(_) | PendingContent::Unreadable(_) => {
            Error::MixedNewFile(path)
        }
    }
}

/// Fails if rejecting all changes would revert edits of the user, who may not have seen them in the list.
fn check_reject_all(pending: &PendingChanges) -> Result<(), Error> {
    let is_blocked = |file: &&PendingFile| file.hunks.iter().any(|hunk| file.is_reject_blocked(hunk));
    if let Some(file) = pending.files.iter().find(is_blocked) {
        return Err(reject_refused(file));
    }
    let hunks = pending.files.iter().flat_map(|file| &file.hunks);
    let mixed = hunks.filter(|hunk| hunk.text.authors == HunkAuthors::Mixed);
    let ids: Vec<String> = mixed.map(|hunk| hunk.id.clone()).collect();
    match ids.is_empty() {
        true => Ok(()),
        false => Err(Error::MixedChanges(ids)),
    }
}

impl ReviewDecisions {
    /// The ids of the accepted and of the rejected changes.
    pub(super) fn ids(&self, pending: &PendingChanges) -> (Vec<String>, Vec<String>) {
        let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
        for (file, decision) in &self.by_file {
            let Some(file) = pending.files.get(*file) else { continue };
            let ids = |hunks: &[usize]| -> Vec<String> {
                let hunks = hunks.iter().filter_map(|at| file.hunks.get(*at));
                hunks.map(|hunk| hunk.id.clone()).collect()
            };
            accepted.extend(ids(&decision.accepted));
            rejected.extend(ids(&decision.rejected));
        }
        (accepted, rejected)
    }

    /// The note for the model about rejected changes; `None` if there are none.
    pub(super) fn model_note(&self, pending: &PendingChanges) -> Option<String> {
        let rejected = self
            .by_file
            .iter()
            .filter(|(_, decision)| !decision.rejected.is_empty());
        let mut files: Vec<String> = rejected
            .filter_map(|(at, decision)| {
                let file = pending.files.get(*at)?;
                let (count, all) = (decision.rejected.len(), file.hunks.len());
                let path = file.path.display();
                Some(match count == all {
                    true => format!("all changes in {path}"),
                    false => format!("{count} of {all} changes in {path}"),
                })
            })
            .collect();
        let more = files.len().saturating_sub(MAX_NAMED_FILES);
        files.truncate(MAX_NAMED_FILES);
        if more > 0 {
            files.push(format!("changes in {more} more files"));
        }
        (!files.is_empty()).then(|| {
            format!(
                "[The user rejected {}. The files no longer contain them. Read a file again before you rely on it.]",
                files.join(", ")
            )
        })
    }

    /// Applies the decisions to the pending changes and returns the resulting state of each file.
    pub(super) fn outcomes(&self, pending: &mut PendingChanges) -> Result<Vec<ReviewOutcome>, Error> {
        let mut outcomes = Vec::new();
        for (at, verdict) in &self.by_file {
            let Some(file) = pending.files.get(*at) else { continue };
            let is_lines = |at: &&usize| file.hunks.get(**at).is_some_and(|hunk| hunk.kind != HunkKind::Mode);
            let lines = |places: &[usize]| places.iter().filter(is_lines).copied().collect::<Vec<usize>>();
            let (accepted, rejected) = (lines(&verdict.accepted), lines(&verdict.rejected));
            let (base, current) = match &file.content {
                PendingContent::Text => {
                    let decided = pending.log.decide(&file.path, &accepted, &rejected);
                    let decided = decided.ok_or_else(|| reject_refused(file))?;
                    (decided.base.map(Bytes::from), decided.current.map(Bytes::from))
                }
                PendingContent::Binary(whole) => match (accepted.is_empty(), rejected.is_empty()) {
                    (true, true) => (whole.base.clone(), whole.current.clone()),
                    (false, true) => (whole.current.clone(), whole.current.clone()),
                    (_, false) => (whole.base.clone(), whole.base.clone()),
                },
                PendingContent::ModeOnly => (file.disk.clone(), file.disk.clone()),
                PendingContent::Link(link) => {
                    let left = match rejected.is_empty() {
                        true => link.current.clone(),
                        false => link.base.clone(),
                    };
                    let left = ReviewedState::Link(left);
                    outcomes.push(ReviewOutcome { file: *at, state: left });
                    continue;
                }
                PendingContent::Unreadable(_) => continue,
            };
            let is_mode = |places: &[usize]| {
                let mut hunks = places.iter().filter_map(|at| file.hunks.get(*at));
                hunks.any(|hunk| hunk.kind == HunkKind::Mode)
            };
            let modes = file.modes.map(|ModeChange { base, current }| {
                match (is_mode(&verdict.accepted), is_mode(&verdict.rejected)) {
                    (true, _) => ModeChange { base: current, current },
                    (false, true) => ModeChange { base, current: base },
                    (false, false) => ModeChange { base, current },
                }
            });
            let left = ReviewedState::File { base, current, modes };
            outcomes.push(ReviewOutcome { file: *at, state: left });
        }
        Ok(outcomes)
    }
}

/// The file contents to write for these outcomes.
pub(super) fn file_writes(pending: &PendingChanges, outcomes: &[ReviewOutcome]) -> Vec<FileWrite> {
    outcomes
        .iter()
        .filter_map(|outcome| {
            let file = pending.files.get(outcome.file)?;
            let ReviewedState::File { current, .. } = &outcome.state else {
                return None;
            };
            let step = FileWrite {
                file: file.location.clone()?,
                expected: file.disk.clone(),
                target: current.clone(),
            };
            (step.expected != step.target).then_some(step)
        })
        .collect()
}

/// The permissions and symbolic links to set for these outcomes, starting from the current state on disk.
pub(super) fn metadata_steps(
    pending: &PendingChanges,
    outcomes: &[ReviewOutcome],
    root: &Path,
) -> Vec<checkpoint::RestoreStep> {
    let mut steps = Vec::new();
    for outcome in outcomes {
        let Some(file) = pending.files.get(outcome.file) else {
            continue;
        };
        let from = checkpoint::current_version(root, &file.path).ok().flatten();
        let to = match &outcome.state {
            ReviewedState::Link(left) => left.clone(),
            ReviewedState::File { modes: None, .. } => continue,
            ReviewedState::File { modes: Some(modes), .. } => from.clone().map(|version| FileVersion {
                kind: FileKind::File {
                    mode: Some(modes.current),
                },
                ..version
            }),
        };
        let path = file.path.clone();
        if !same_version(from.as_ref(), to.as_ref()) {
            steps.push(checkpoint::RestoreStep { path, from, to });
        }
    }
    steps
}
