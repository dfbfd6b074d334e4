//! One file under review: its accepted text and its current text.

use std::ops::Range;

use crate::text_diff::compare;

/// The agent's change to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// The agent created it.
    Created,
    /// The agent modified it.
    Modified,
    /// The agent deleted it.
    Deleted,
}

impl FileStatus {
    /// The name of the status.
    pub fn name(self) -> &'static str {
        match self {
            FileStatus::Created => "created",
            FileStatus::Modified => "modified",
            FileStatus::Deleted => "deleted",
        }
    }
}

/// One change to accept or reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewHunk {
    /// The first line of the change in the current file, counted from 1.
    pub first_line: usize,
    /// The first line of the change in the accepted text, counted from 1.
    pub first_line_before: usize,
    /// The old text.
    pub before: String,
    /// The new text.
    pub after: String,
    /// The authors.
    pub authors: HunkAuthors,
}

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkAuthors {
    /// The agent alone.
    Agent,
    /// The agent and the user, who edited adjacent lines: rejecting the change also rejects the user's part.
    Mixed,
}

#[derive(Clone, Debug)]
pub(crate) struct TrackedFile {
    /// The text with all accepted and all user changes, but none of the agent's.
    base: Option<String>,
    current: Option<String>,
    /// Whether the user has written the file since the agent did.
    is_shared: bool,
    /// Lines of the current text where the user edited lines next to an agent's change. Empty ranges are deletions.
    mixed: Vec<Range<usize>>,
}

/// Lines of the base and the corresponding current lines.
type LineRegion = (Range<usize>, Range<usize>);

impl TrackedFile {
    pub(crate) fn new(before: Option<&str>) -> Self {
        let text = before.map(str::to_owned);
        Self {
            base: text.clone(),
            current: text,
            is_shared: false,
            mixed: Vec::new(),
        }
    }

    pub(crate) fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    pub(crate) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    pub(crate) fn status(&self) -> FileStatus {
        match (&self.base, &self.current) {
            (None, _) => FileStatus::Created,
            (Some(_), None) => FileStatus::Deleted,
            (Some(_), Some(_)) => FileStatus::Modified,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.base == self.current
    }

    pub(crate) fn record_agent_write(&mut self, after: Option<&str>) {
        self.replace_current(after.map(str::to_owned));
    }

    pub(crate) fn set_base(&mut self, base: Option<&str>) {
        self.base = base.map(str::to_owned);
        self.drop_mixed();
    }

    /// Applies a user's change to the base if it does not touch an agent's change.
    pub(crate) fn record_user_write(&mut self, after: Option<&str>) {
        let (Some(base), Some(current), Some(after)) = (&self.base, &self.current, after) else {
            self.is_shared |= self.current.as_deref() != after;
            self.current = after.map(str::to_owned);
            return;
        };
        let (base_lines, current_lines, after_lines) = (lines(base), lines(current), lines(after));
        let agents = regions(&base_lines, &current_lines);
        let mut rebased: Vec<&str> = base_lines.clone();
        let mut met = Vec::new();
        for (user_edit, written) in regions(&current_lines, &after_lines).into_iter().rev() {
            if agents.iter().any(|(_, agent)| conflicts(agent, &user_edit)) {
                met.push(written);
                continue;
            }
            let shift: isize = agents
                .iter()
                .filter(|(_, agent)| agent.end <= user_edit.start)
                .map(|(base, agent)| base.len().cast_signed() - agent.len().cast_signed())
                .sum();
            let (start, end) = (
                user_edit.start.saturating_add_signed(shift),
                user_edit.end.saturating_add_signed(shift),
            );
            if end <= rebased.len() {
                rebased.splice(start..end, after_lines[written].iter().copied());
            }
        }
        let rebased = rebased.concat();
        self.is_shared |= current != after;
        self.replace_current(Some(after.to_owned()));
        self.base = Some(rebased);
        self.mixed.append(&mut met);
        self.drop_mixed();
    }

    pub(crate) fn hunks(&self) -> Vec<ReviewHunk> {
        let (base, current) = self.texts();
        let (base, current) = (lines(base), lines(current));
        let mut found = regions(&base, &current);
        if found.is_empty() && self.is_whole() {
            // Creating or deleting an empty file changes no line.
            found.push((0..0, 0..0));
        }
        found
            .into_iter()
            .map(|(before, after)| ReviewHunk {
                first_line: after.start + 1,
                first_line_before: before.start + 1,
                authors: self.authors(&after),
                before: base[before].concat(),
                after: current[after].concat(),
            })
            .collect()
    }

    /// Accepts and rejects changes, all of them from one comparison. A created or deleted file is one change.
    pub(crate) fn decide(&mut self, accepted: &[usize], rejected: &[usize]) -> Option<()> {
        if self.is_whole() {
            if !rejected.is_empty() {
                self.current = self.reject_all()?;
            } else if !accepted.is_empty() {
                self.base.clone_from(&self.current);
            }
            return Some(());
        }
        let (base, current) = self.texts();
        let (base_lines, current_lines) = (lines(base), lines(current));
        let (mut new_base, mut new_current) = (base_lines.clone(), current_lines.clone());
        for (at, (before, after)) in regions(&base_lines, &current_lines).into_iter().enumerate().rev() {
            if rejected.contains(&at) {
                new_current.splice(after, base_lines[before].iter().copied());
            } else if accepted.contains(&at) {
                new_base.splice(before, current_lines[after].iter().copied());
            }
        }
        let (new_base, new_current) = (new_base.concat(), new_current.concat());
        self.replace_current(Some(new_current));
        self.base = Some(new_base);
        self.drop_mixed();
        Some(())
    }

    /// The content after all changes are rejected; `None` for a new file that the user has changed as well.
    fn reject_all(&self) -> Option<Option<String>> {
        (self.base.is_some() || !self.is_shared).then(|| self.base.clone())
    }

    /// Whether the file as a whole was created or deleted.
    fn is_whole(&self) -> bool {
        self.base.is_none() || self.current.is_none()
    }

    fn authors(&self, hunk: &Range<usize>) -> HunkAuthors {
        let is_mixed = match self.is_whole() {
            true => self.is_shared,
            false => self.mixed.iter().any(|user_edit| conflicts(hunk, user_edit)),
        };
        if is_mixed {
            HunkAuthors::Mixed
        } else {
            HunkAuthors::Agent
        }
    }

    /// Replaces the current text and moves the recorded line ranges.
    fn replace_current(&mut self, text: Option<String>) {
        if !self.mixed.is_empty() {
            let (old, new) = (self.current.as_deref(), text.as_deref());
            let moves = regions(&lines(old.unwrap_or_default()), &lines(new.unwrap_or_default()));
            for range in &mut self.mixed {
                *range = moved(range, &moves);
            }
        }
        self.current = text;
    }

    /// Drops the mixed ranges of decided changes.
    fn drop_mixed(&mut self) {
        if self.mixed.is_empty() {
            return;
        }
        let mut mixed = std::mem::take(&mut self.mixed);
        let (base, current) = self.texts();
        let hunks = regions(&lines(base), &lines(current));
        mixed.retain(|user_edit| hunks.iter().any(|(_, hunk)| conflicts(hunk, user_edit)));
        self.mixed = mixed;
    }

    fn texts(&self) -> (&str, &str) {
        (
            self.base.as_deref().unwrap_or_default(),
            self.current.as_deref().unwrap_or_default(),
        )
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn regions(old: &[&str], new: &[&str]) -> Vec<LineRegion> {
    let mut regions: Vec<LineRegion> = Vec::new();
    for part in compare(old, new, None) {
        let (tag, old_range, new_range) = part.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            continue;
        }
        match regions.last_mut() {
            Some((old, new)) if old.end == old_range.start && new.end == new_range.start => {
                old.end = old_range.end;
                new.end = new_range.end;
            }
            _ => regions.push((old_range, new_range)),
        }
    }
    regions
}

/// Adjacent changes are separate; an empty one conflicts when it touches.
fn conflicts(agent: &Range<usize>, user_edit: &Range<usize>) -> bool {
    if agent.is_empty() || user_edit.is_empty() {
        agent.start <= user_edit.end && user_edit.start <= agent.end
    } else {
        agent.start < user_edit.end && user_edit.start < agent.end
    }
}

/// The position of lines after these changes. A changed line maps to its whole replacement.
fn moved(range: &Range<usize>, moves: &[LineRegion]) -> Range<usize> {
    let place = |line: usize, at_end: bool| {
        let mut shift = 0;
        for (old, new) in moves {
            if old.start < line && line < old.end {
                return if at_end { new.end } else { new.start };
            }
            if old.end <= line && (old.start < line || !at_end) {
                shift = new.end.cast_signed() - old.end.cast_signed();
            }
        }
        line.saturating_add_signed(shift)
    };
    let start = place(range.start, false);
    start..place(range.end, true).max(start)
}
