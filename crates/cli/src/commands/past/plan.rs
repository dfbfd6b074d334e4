//! What has to be done to files to go back, and where others have changed them since.

use super::{Kept, Past, changes, keep_current};
use crate::failure::{Failure, Result};
use session::{Change, Item, Tally, Version};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workspace::checkpoint::{Depot, Failed, Outcome, Step, is_off_limits, look, restore};

/// A path goes from one version to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Move {
    pub(in crate::commands) path: PathBuf,
    pub(in crate::commands) from: Option<Version>,
    pub(in crate::commands) to: Option<Version>,
}

/// What to do where others have changed a file since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Clash {
    /// Nothing at all.
    Refuse,
    /// Leave that file alone.
    Keep,
    /// Overwrite it.
    Overwrite,
}

/// What has to be done.
#[derive(Debug, Default)]
pub(in crate::commands) struct Plan {
    /// The paths that change, with what stands there now.
    pub(in crate::commands) steps: Vec<Step>,
    /// What stands in the way.
    pub(in crate::commands) conflicts: Vec<Conflict>,
    /// The paths where what others did is overwritten.
    pub(in crate::commands) overwritten: Vec<PathBuf>,
    /// Folders that were to go and hold something else; known when it is done.
    pub(in crate::commands) left: Vec<PathBuf>,
}

/// A path that cannot simply be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Conflict {
    pub(in crate::commands) path: PathBuf,
    pub(in crate::commands) why: Why,
    /// Counts it as what it was.
    tally: Tally,
}

/// Why a path cannot simply be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Why {
    /// Somebody else has changed it since.
    Changed,
    /// Somebody else has removed it since.
    Removed,
    /// Somebody else has put something there since.
    Appeared,
    /// The version that it should become was not kept.
    Lost,
    /// It belongs to version control.
    OffLimits,
}

/// Changes taken back, the newest first.
pub(in crate::commands) fn backward<'a>(changes: impl DoubleEndedIterator<Item = &'a Change>) -> Vec<Move> {
    let moves = changes.rev().map(|change| Move {
        path: change.path.clone(),
        from: change.after.clone(),
        to: change.before.clone(),
    });
    moves.collect()
}

/// Changes made again, the oldest first.
fn forward<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<Move> {
    let moves = changes.map(|change| Move {
        path: change.path.clone(),
        from: change.before.clone(),
        to: change.after.clone(),
    });
    moves.collect()
}

impl Past {
    /// What the files must go through from one place in the session to another: back to where both ways part, then forward.
    pub(in crate::commands) fn moves_to(&self, target: &[Arc<Item>]) -> Vec<Move> {
        let common = self
            .items
            .iter()
            .zip(target)
            .take_while(|(one, two)| one.id == two.id)
            .count();
        let mut moves = backward(self.items[common..].iter().flat_map(|item| changes(item)));
        moves.extend(forward(target[common..].iter().flat_map(|item| changes(item))));
        moves
    }

    /// Works out what has to be done, by what is on disk now.
    pub(in crate::commands) async fn plan(&self, moves: Vec<Move>, clash: Clash) -> Result<(Plan, Kept)> {
        let versions: Vec<&Version> = moves.iter().flat_map(|step| step.from.iter().chain(&step.to)).collect();
        let kept = Kept::find(&self.store, &versions).await?;
        let mut paths: BTreeMap<&Path, Vec<&Move>> = BTreeMap::new();
        for step in &moves {
            paths.entry(&step.path).or_default().push(step);
        }
        let mut plan = Plan::default();
        for (path, moves) in paths {
            let now = look(&self.root, path)
                .map_err(|error| Failure::failed(format!("cannot look at {}: {error}", path.display())))?;
            plan.path(path, now, &moves, clash, &kept);
        }
        Ok((plan, kept))
    }

    /// Where versions of files are kept, as far as there is room for them.
    pub(in crate::commands) fn depot(&self) -> Depot {
        self.store.files().limited(self.limits)
    }

    /// Carries a plan out. What others have written and would be lost is kept first; where it cannot be, nothing is done.
    pub(in crate::commands) fn carry_out(&self, plan: &mut Plan, kept: &Kept) -> Result<()> {
        let depot = self.depot();
        for step in &mut plan.steps {
            let Some(from) = step.from.as_mut() else { continue };
            from.kept = kept.has(from) || keep_current(&depot, &self.root.join(&step.path), from);
            if !from.kept && plan.overwritten.contains(&step.path) {
                let path = step.path.display();
                return Err(
                    Failure::failed(format!("cannot keep what others made of {path}; nothing was done")).hint(
                        "--keep leaves such files alone; checkpoints.quota and checkpoints.max_file say what is kept",
                    ),
                );
            }
        }
        match restore(&self.root, &plan.steps, kept) {
            Ok(Outcome { left }) => {
                plan.steps.retain(|step| !left.contains(&step.path));
                plan.left = left;
                Ok(())
            }
            Err(Failed { path, source, left }) => {
                let failure = Failure::failed(format!("cannot change {}: {source}", path.display()));
                Err(match left.as_slice() {
                    [] => failure.hint("nothing was changed"),
                    left => failure.hint(format!(
                        "these could not be made again what they were: {}",
                        left.iter()
                            .map(|path| path.display().to_string())
                            .collect::<Vec<_>>()
                            .join(", ")
                    )),
                })
            }
        }
    }
}

impl Conflict {
    /// Whether nothing that a person could say would help.
    fn is_final(&self) -> bool {
        match self.why {
            Why::Lost | Why::OffLimits => true,
            Why::Changed | Why::Removed | Why::Appeared => false,
        }
    }
}

impl Plan {
    /// Follows one path through all its versions, as far as what is there allows.
    fn path(&mut self, path: &Path, now: Option<Version>, moves: &[&Move], clash: Clash, kept: &Kept) {
        let goal = moves.last().and_then(|step| step.to.clone());
        if is_like(&now, &goal) {
            return;
        }
        let mut tally = Tally::default();
        tally.count(moves.first().and_then(|step| step.from.as_ref()), goal.as_ref());
        if is_off_limits(path) {
            self.conflicts.push(Conflict {
                path: path.to_owned(),
                why: Why::OffLimits,
                tally,
            });
            return;
        }
        let mut reached = now.clone();
        let mut conflict = None;
        for step in moves {
            if is_like(&reached, &step.from) {
                reached = step.to.clone();
            } else if !is_like(&reached, &step.to) {
                conflict = Some(match (&reached, &step.from) {
                    (None, Some(_)) => Why::Removed,
                    (Some(_), None) => Why::Appeared,
                    (Some(_), Some(_)) | (None, None) => Why::Changed,
                });
                match clash {
                    Clash::Overwrite => reached = step.to.clone(),
                    Clash::Refuse | Clash::Keep => break,
                }
            }
        }
        let path = path.to_owned();
        let is_lost = reached.as_ref().is_some_and(|version| {
            let is_there = now
                .as_ref()
                .is_some_and(|now| now.content == version.content && now.content.is_some());
            !is_there && !kept.has(version)
        });
        if is_lost {
            let why = Why::Lost;
            self.conflicts.push(Conflict { path, why, tally });
            return;
        }
        self.conflicts.extend(conflict.map(|why| Conflict {
            path: path.clone(),
            why,
            tally,
        }));
        if !is_like(&now, &reached) {
            if conflict.is_some() && clash == Clash::Overwrite {
                self.overwritten.push(path.clone());
            }
            self.steps.push(Step {
                path,
                from: now,
                to: reached,
            });
        }
    }

    /// Refuses to go on where something stands in the way and nobody said what to do about it.
    pub(in crate::commands) fn check(&self, clash: Clash) -> Result<()> {
        let blocking = self.conflicts.iter().filter(|conflict| match clash {
            Clash::Refuse => true,
            Clash::Overwrite => conflict.is_final(),
            Clash::Keep => false,
        });
        let blocking: Vec<&Conflict> = blocking.collect();
        if blocking.is_empty() {
            return Ok(());
        }
        let count = blocking.iter().map(|conflict| conflict.tally).sum::<Tally>();
        let (what, hint) = match blocking.iter().all(|conflict| conflict.is_final()) {
            true if blocking.iter().all(|conflict| conflict.why == Why::Lost) => (
                format!("{count} cannot be brought back, because an earlier version was not kept; nothing was done"),
                "--keep goes on with the others",
            ),
            true => (
                format!("{count} cannot be brought back; nothing was done"),
                "--keep goes on with the others",
            ),
            false => (
                format!("{count} cannot be taken back without losing what others did since; nothing was done"),
                "--keep leaves those files alone and goes on with the others, --force overwrites them",
            ),
        };
        Err(Failure::failed(what).hint(hint))
    }

    /// Refuses where everything stands in the way, so that leaving it alone would do nothing at all.
    pub(in crate::commands) fn refuse_idle(&self, verb: &str) -> Result<()> {
        if !self.steps.is_empty() || self.conflicts.is_empty() {
            return Ok(());
        }
        let count = self.conflicts.iter().map(|conflict| conflict.tally).sum::<Tally>();
        let why = |what: &str| Failure::failed(format!("nothing was {verb}: {count} {what}"));
        Err(match self.conflicts.iter().all(Conflict::is_final) {
            true => why("cannot be brought back"),
            false => why("cannot be taken back without losing what others did since").hint("--force overwrites it"),
        })
    }

    /// Only what stands in the way.
    pub(in crate::commands) fn only_conflicts(&self) -> Plan {
        Plan {
            conflicts: self.conflicts.clone(),
            ..Plan::default()
        }
    }

    /// What was done, as changes.
    pub(in crate::commands) fn changes(&self) -> Vec<Change> {
        let changes = self.steps.iter().map(|step| Change {
            path: step.path.clone(),
            before: step.from.clone(),
            after: step.to.clone(),
        });
        changes.collect()
    }
}

fn is_like(one: &Option<Version>, two: &Option<Version>) -> bool {
    session::alike(one.as_ref(), two.as_ref())
}
