//! Which changes are meant, and what deciding about them leaves in each file.

use super::form::Modes;
use super::pending::{Content, File, Hunk, Part, Pending};
use super::put_back::Step;
use crate::args::Changes;
use crate::failure::{Failure, Result};
use bytes::Bytes;
use edit::Authors;
use session::{Kind, Version, alike};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workspace::checkpoint;

/// What is accepted and what is rejected, by the places of files and of their changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    by_file: BTreeMap<usize, Verdict>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    accepted: Vec<usize>,
    rejected: Vec<usize>,
}

/// How a decision leaves a path.
pub(super) struct Outcome {
    /// Which file, by its place.
    pub(super) file: usize,
    /// What it left.
    pub(super) left: Left,
}

/// What a decision leaves at a path. Nothing means no file.
pub(super) enum Left {
    File {
        /// What counts as accepted.
        base: Option<Bytes>,
        /// What the file must hold.
        current: Option<Bytes>,
        /// Its permissions, where they waited too: those that count as accepted, and those that the file must have.
        modes: Option<Modes>,
    },
    /// This, where a link stands or stood; it counts as accepted.
    Link(Option<Version>),
}

/// The changes that are meant. One that cannot be found, or cannot be taken back, spoils them all.
pub(super) fn choose(pending: &Pending, args: &Changes) -> Result<Verdicts> {
    let mut verdicts = Verdicts::default();
    if args.accept_all || args.reject_all {
        for (at, file) in pending
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| !file.hunks.is_empty())
        {
            let all = (0..file.hunks.len()).collect();
            let verdict = verdicts.by_file.entry(at).or_default();
            match args.accept_all {
                true => verdict.accepted = all,
                false => verdict.rejected = all,
            }
        }
        if args.reject_all {
            refuse_mixed(pending)?;
        }
        return Ok(verdicts);
    }
    let accepted = look_up(pending, &args.accept)?;
    let rejected = look_up(pending, &args.reject)?;
    if let Some((file, hunk)) = accepted.intersection(&rejected).next() {
        let id = pending.files.get(*file).and_then(|file| file.hunks.get(*hunk));
        let id = id.map_or("", |hunk| hunk.id.as_str());
        return Err(Failure::usage(format!("{id} cannot be accepted and rejected at once")));
    }
    for (file, hunk) in accepted {
        verdicts.by_file.entry(file).or_default().accepted.push(hunk);
    }
    for (file, hunk) in rejected {
        refuse_held(pending, file, hunk)?;
        verdicts.by_file.entry(file).or_default().rejected.push(hunk);
    }
    Ok(verdicts)
}

fn look_up(pending: &Pending, ids: &[String]) -> Result<BTreeSet<(usize, usize)>> {
    ids.iter()
        .map(|id| pending.find(id).ok_or_else(|| unknown(pending, id)))
        .collect()
}

/// Why there is no change of this name.
fn unknown(pending: &Pending, id: &str) -> Failure {
    let listed = "`hew changes` lists what waits now; nothing was done";
    if let Some(path) = pending.file_of(id) {
        let path = path.display();
        return Failure::failed(format!(
            "{id} no longer waits: {path} has changed since it was listed, or it was decided already"
        ))
        .hint(listed);
    }
    let numbered = |hunk: &&Hunk| id.trim_start_matches('#').parse() == Ok(hunk.number);
    let hunk = pending.files.iter().flat_map(|file| &file.hunks).find(numbered);
    match hunk {
        Some(hunk) => Failure::usage(format!("{id} is a place in the list, which may change"))
            .hint(format!("use the id beside it: {}", hunk.id)),
        None => Failure::usage(format!("no change {id} waits for review")).hint(listed),
    }
}

/// Refuses to let a file go, or be replaced, that a person has worked on.
fn refuse_held(pending: &Pending, file: usize, hunk: usize) -> Result<()> {
    let Some(file) = pending.files.get(file) else {
        return Ok(());
    };
    match file.hunks.get(hunk) {
        Some(hunk) if file.is_held(hunk) => Err(held(file)),
        Some(_) | None => Ok(()),
    }
}

fn held(file: &File) -> Failure {
    let path = file.path.display();
    let what = match &file.content {
        Content::Whole(_) => format!("{path} is not text and was changed by others too, which cannot be told apart"),
        Content::Text | Content::Same | Content::Link(_) | Content::Unreadable(_) => {
            format!("{path} is new, but you have worked on it")
        }
    };
    Failure::failed(what).hint("accept it, or remove it yourself; nothing was done")
}

/// Refuses to take back everything where that would take back a person's work that they may not have seen in the list.
fn refuse_mixed(pending: &Pending) -> Result<()> {
    let is_held = |file: &&File| file.hunks.iter().any(|hunk| file.is_held(hunk));
    if let Some(file) = pending.files.iter().find(is_held) {
        return Err(held(file));
    }
    let mixed: Vec<&str> = pending
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .filter(|hunk| hunk.text.authors == Authors::Mixed)
        .map(|hunk| hunk.id.as_str())
        .collect();
    match mixed.as_slice() {
        [] => Ok(()),
        ids => {
            let them = if ids.len() == 1 { "it" } else { "them" };
            Err(
                Failure::failed(format!("your own edits are part of {}", ids.join(", "))).hint(format!(
                    "accept {them}, or reject {them} by id; then the rest can be rejected at once. Nothing was done"
                )),
            )
        }
    }
}

impl Verdicts {
    /// The changes that are accepted and those that are rejected.
    pub(super) fn ids<'a>(&self, pending: &'a Pending) -> (Vec<&'a str>, Vec<&'a str>) {
        let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
        for (file, verdict) in &self.by_file {
            let Some(file) = pending.files.get(*file) else { continue };
            let named = |places: &[usize]| -> Vec<&'a str> {
                let hunks = places.iter().filter_map(|at| file.hunks.get(*at));
                hunks.map(|hunk| hunk.id.as_str()).collect()
            };
            accepted.extend(named(&verdict.accepted));
            rejected.extend(named(&verdict.rejected));
        }
        (accepted, rejected)
    }

    /// Decides, and says how that leaves each file.
    pub(super) fn outcomes(&self, pending: &mut Pending) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for (at, verdict) in &self.by_file {
            let Some(file) = pending.files.get(*at) else { continue };
            let is_lines = |at: &&usize| file.hunks.get(**at).is_some_and(|hunk| hunk.part != Part::Mode);
            let lines = |places: &[usize]| places.iter().filter(is_lines).copied().collect::<Vec<usize>>();
            let (accepted, rejected) = (lines(&verdict.accepted), lines(&verdict.rejected));
            let (base, current) = match &file.content {
                Content::Text => {
                    let decided = pending.log.decide(&file.path, &accepted, &rejected);
                    let decided = decided.ok_or_else(|| held(file))?;
                    (decided.base.map(Bytes::from), decided.current.map(Bytes::from))
                }
                Content::Whole(whole) => match (accepted.is_empty(), rejected.is_empty()) {
                    (true, true) => (whole.base.clone(), whole.current.clone()),
                    (false, true) => (whole.current.clone(), whole.current.clone()),
                    (_, false) => (whole.base.clone(), whole.base.clone()),
                },
                Content::Same => (file.disk.clone(), file.disk.clone()),
                Content::Link(link) => {
                    let left = match rejected.is_empty() {
                        true => link.current.clone(),
                        false => link.base.clone(),
                    };
                    let left = Left::Link(left);
                    outcomes.push(Outcome { file: *at, left });
                    continue;
                }
                Content::Unreadable(_) => continue,
            };
            let is_mode = |places: &[usize]| {
                let mut hunks = places.iter().filter_map(|at| file.hunks.get(*at));
                hunks.any(|hunk| hunk.part == Part::Mode)
            };
            let modes = file.modes.map(|Modes { base, current }| {
                match (is_mode(&verdict.accepted), is_mode(&verdict.rejected)) {
                    (true, _) => Modes { base: current, current },
                    (false, true) => Modes { base, current: base },
                    (false, false) => Modes { base, current },
                }
            });
            let left = Left::File { base, current, modes };
            outcomes.push(Outcome { file: *at, left });
        }
        Ok(outcomes)
    }
}

/// What must be written for these outcomes.
pub(super) fn steps(pending: &Pending, outcomes: &[Outcome]) -> Vec<Step> {
    outcomes
        .iter()
        .filter_map(|outcome| {
            let file = pending.files.get(outcome.file)?;
            let Left::File { current, .. } = &outcome.left else {
                return None;
            };
            let step = Step {
                file: file.location.clone()?,
                seen: file.disk.clone(),
                wanted: current.clone(),
            };
            (step.seen != step.wanted).then_some(step)
        })
        .collect()
}

/// The permissions that must be given and the links that must be made, with what stands in the project now.
pub(super) fn forms(pending: &Pending, outcomes: &[Outcome], root: &Path) -> Vec<checkpoint::Step> {
    let mut steps = Vec::new();
    for outcome in outcomes {
        let Some(file) = pending.files.get(outcome.file) else {
            continue;
        };
        let from = checkpoint::look(root, &file.path).ok().flatten();
        let to = match &outcome.left {
            Left::Link(left) => left.clone(),
            Left::File { modes: None, .. } => continue,
            Left::File { modes: Some(modes), .. } => from.clone().map(|version| Version {
                kind: Kind::File {
                    mode: Some(modes.current),
                },
                ..version
            }),
        };
        let path = file.path.clone();
        if !alike(from.as_ref(), to.as_ref()) {
            steps.push(checkpoint::Step { path, from, to });
        }
    }
    steps
}
