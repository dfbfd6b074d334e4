//! One file under review: the text that was accepted and the text that is there.

use std::ops::Range;

/// What the agent did to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was not there before.
    Created,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change to accept or reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewHunk {
    /// The first line of the change in the file as it is, counted from 1.
    pub first_line: usize,
    /// The text before.
    pub before: String,
    /// The text now.
    pub after: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    /// The text with every accepted and every foreign change, but none of the agent's.
    base: Option<String>,
    current: Option<String>,
    /// Whether someone else has written the file since the agent did.
    is_shared: bool,
}

/// Lines of the base and the lines that stand for them now.
type Region = (Range<usize>, Range<usize>);

impl Tracked {
    pub(crate) fn new(before: Option<&str>) -> Self {
        let text = before.map(str::to_owned);
        Self {
            base: text.clone(),
            current: text,
            is_shared: false,
        }
    }

    pub(crate) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    pub(crate) fn status(&self) -> Status {
        match (&self.base, &self.current) {
            (None, _) => Status::Created,
            (Some(_), None) => Status::Deleted,
            (Some(_), Some(_)) => Status::Modified,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.base == self.current
    }

    pub(crate) fn agent_wrote(&mut self, after: Option<&str>) {
        self.current = after.map(str::to_owned);
    }

    /// Carries a foreign change over into the base where it does not touch a change of the agent.
    pub(crate) fn person_wrote(&mut self, after: Option<&str>) {
        let (Some(base), Some(current), Some(after)) = (&self.base, &self.current, after) else {
            self.is_shared |= self.current.as_deref() != after;
            self.current = after.map(str::to_owned);
            return;
        };
        let (base_lines, current_lines, after_lines) = (lines(base), lines(current), lines(after));
        let agents = regions(&base_lines, &current_lines);
        let mut rebased: Vec<&str> = base_lines.clone();
        for (theirs, written) in regions(&current_lines, &after_lines).into_iter().rev() {
            if agents.iter().any(|(_, agent)| conflicts(agent, &theirs)) {
                continue;
            }
            let shift: isize = agents
                .iter()
                .filter(|(_, agent)| agent.end <= theirs.start)
                .map(|(base, agent)| base.len().cast_signed() - agent.len().cast_signed())
                .sum();
            let (start, end) = (
                theirs.start.saturating_add_signed(shift),
                theirs.end.saturating_add_signed(shift),
            );
            if end <= rebased.len() {
                rebased.splice(start..end, after_lines[written].iter().copied());
            }
        }
        let rebased = rebased.concat();
        self.is_shared |= current != after;
        self.base = Some(rebased);
        self.current = Some(after.to_owned());
    }

    pub(crate) fn hunks(&self) -> Vec<ReviewHunk> {
        let (base, current) = self.texts();
        let (base, current) = (lines(base), lines(current));
        regions(&base, &current)
            .into_iter()
            .map(|(before, after)| ReviewHunk {
                first_line: after.start + 1,
                before: base[before].concat(),
                after: current[after].concat(),
            })
            .collect()
    }

    pub(crate) fn accept(&mut self, hunk: usize) {
        if self.current.is_none() || self.base.is_none() {
            self.base.clone_from(&self.current);
            return;
        }
        let (base, current) = self.texts();
        let (base_lines, current_lines) = (lines(base), lines(current));
        if let Some((before, after)) = regions(&base_lines, &current_lines).into_iter().nth(hunk) {
            self.base = Some(replaced(&base_lines, before, &current_lines[after]));
        }
    }

    /// The content after one change is taken back.
    pub(crate) fn reject(&mut self, hunk: usize) -> Option<Option<String>> {
        let (base, current) = self.texts();
        let (base_lines, current_lines) = (lines(base), lines(current));
        let found = regions(&base_lines, &current_lines).into_iter().nth(hunk);
        if self.base.is_none() || self.current.is_none() {
            let content = self.reject_all()?;
            self.current.clone_from(&content);
            return Some(content);
        }
        let (before, after) = found?;
        self.current = Some(replaced(&current_lines, after, &base_lines[before]));
        Some(self.current.clone())
    }

    /// The content after every change is taken back; nothing for a new file that others have worked on.
    pub(crate) fn reject_all(&self) -> Option<Option<String>> {
        (self.base.is_some() || !self.is_shared).then(|| self.base.clone())
    }

    pub(crate) fn committed(&mut self, head: &str) {
        if self.current.as_deref() == Some(head) {
            self.base.clone_from(&self.current);
            return;
        }
        let (base, current) = self.texts();
        let (base_lines, current_lines, head_lines) = (lines(base), lines(current), lines(head));
        let in_head = regions(&base_lines, &head_lines);
        let mut accepted: Vec<&str> = base_lines.clone();
        for (before, after) in regions(&base_lines, &current_lines).into_iter().rev() {
            let is_in_head = in_head
                .iter()
                .any(|(other, text)| *other == before && head_lines[text.clone()] == current_lines[after.clone()]);
            if is_in_head {
                accepted.splice(before, current_lines[after].iter().copied());
            }
        }
        if self.base.is_some() {
            self.base = Some(accepted.concat());
        }
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

fn regions(old: &[&str], new: &[&str]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for part in similar::capture_diff_slices(similar::Algorithm::Myers, old, new) {
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

/// Changes side by side are apart; where one of them is empty, touching is already meeting.
fn conflicts(agent: &Range<usize>, theirs: &Range<usize>) -> bool {
    if agent.is_empty() || theirs.is_empty() {
        agent.start <= theirs.end && theirs.start <= agent.end
    } else {
        agent.start < theirs.end && theirs.start < agent.end
    }
}

fn replaced(lines: &[&str], range: Range<usize>, with: &[&str]) -> String {
    let mut all = lines.to_vec();
    all.splice(range, with.iter().copied());
    all.concat()
}
