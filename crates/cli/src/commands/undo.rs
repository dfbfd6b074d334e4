//! `hew undo` and `hew redo`: takes back what turns have changed on disk, or makes it again.

use super::past::{Access, Clash, Kept, Move, Past, Plan, Turn, backward, clash, history, print, sentence, sum};
use super::run::short;
use crate::args::{Global, Going, Redo, Undo};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::words::{line, plural};
use model::Message;
use session::{Body, ItemId, Restoring, SessionId};
use std::sync::Arc;

pub(super) async fn undo(args: &Undo, global: &Global, env: &Environment) -> Result<Exit> {
    let past = open(args.session.as_deref(), &args.going, global, env).await?;
    match Doing::undo(&past, args.count as usize) {
        Some(doing) => doing.told(past, &args.going).await,
        None => Err(nothing(&past, "undo")),
    }
}

pub(super) async fn redo(args: &Redo, global: &Global, env: &Environment) -> Result<Exit> {
    let past = open(args.session.as_deref(), &args.going, global, env).await?;
    match Doing::redo(&past, args.count as usize) {
        Some(doing) => doing.told(past, &args.going).await,
        None => Err(nothing(&past, "redo")),
    }
}

/// Undoes the last turn of a session that is open elsewhere in this process, or redoes it: what was done, in words, and what
/// whoever holds the session has to keep of it.
pub(crate) async fn beside(
    how: Restoring,
    session: SessionId,
    global: &Global,
    env: &Environment,
) -> Result<(String, Body)> {
    let mut past = Past::open(Some(&session.to_string()), Access::Read, global, env).await?;
    let (doing, what) = match how {
        Restoring::Undo => (Doing::undo(&past, 1), "undo"),
        Restoring::Redo | Restoring::Left => (Doing::redo(&past, 1), "redo"),
    };
    let doing = doing.ok_or_else(|| Failure::failed(format!("there is nothing to {what}")))?;
    let (plan, kept) = past.plan(doing.moves.clone(), Clash::Refuse).await?;
    plan.check(Clash::Refuse)?;
    let said = doing.what.clone();
    let (plan, body) = doing.change(&mut past, plan, &kept)?;
    Ok((format!("{what}: {said}; {}", sum(&plan)), body))
}

async fn open(session: Option<&str>, going: &Going, global: &Global, env: &Environment) -> Result<Past> {
    let access = match going.dry_run {
        true => Access::Read,
        false => Access::Write,
    };
    Past::open(session, access, global, env).await
}

fn nothing(past: &Past, what: &str) -> Failure {
    Failure::failed(format!("there is nothing to {what} in session {}", short(past.meta.id)))
        .hint("`hew sessions list` shows other sessions; --session names one")
}

fn said(turns: &[Turn]) -> String {
    match turns {
        [turn] if !turn.said.trim().is_empty() => format!("“{}”", line(turn.said.trim(), 60)),
        turns => plural(turns.len() as u64, "turn"),
    }
}

/// Something that is to be undone or redone.
struct Doing {
    how: Restoring,
    /// The items whose changes are taken back.
    of: Vec<ItemId>,
    moves: Vec<Move>,
    /// What it is, in words for the person.
    what: String,
    /// How the model is told of it.
    begin: String,
}

impl Doing {
    /// The last so many turns that changed something; nothing where there is none.
    fn undo(past: &Past, count: usize) -> Option<Self> {
        let mut turns = history(&past.items).standing;
        turns.retain(|turn| !turn.changes.is_empty());
        let turns = turns.split_off(turns.len().saturating_sub(count));
        let begin = match turns.len() {
            0 => return None,
            1 => "The person took back what the last turn changed".to_owned(),
            many => format!("The person took back what the last {many} turns changed"),
        };
        Some(Doing {
            how: Restoring::Undo,
            of: turns.iter().map(|turn| turn.id).collect(),
            moves: backward(turns.iter().flat_map(|turn| &turn.changes)),
            what: said(&turns),
            begin,
        })
    }

    /// The last so many takings-back; nothing where there is none.
    fn redo(past: &Past, count: usize) -> Option<Self> {
        let mut undone = history(&past.items).undone;
        let undone = undone.split_off(undone.len().saturating_sub(count));
        if undone.is_empty() {
            return None;
        }
        Some(Doing {
            how: Restoring::Redo,
            of: undone.iter().map(|undone| undone.id).collect(),
            moves: backward(undone.iter().flat_map(|undone| &undone.changes)),
            what: said(&undone.into_iter().flat_map(|undone| undone.turns).collect::<Vec<_>>()),
            begin: "The person made changes again that had been taken back".to_owned(),
        })
    }

    /// Does it, or only says what it would do, and tells the person.
    async fn told(self, mut past: Past, going: &Going) -> Result<Exit> {
        let clash = clash(going);
        let (id, of) = (past.meta.id, self.of.clone());
        let (action, verb) = match self.how {
            Restoring::Undo => ("undo", "undone"),
            Restoring::Redo => ("redo", "redone"),
            Restoring::Left => ("left", "left"),
        };
        let (plan, kept) = past.plan(self.moves.clone(), clash).await?;
        if going.dry_run {
            print(id, action, &of, &plan, false, going.json)?;
            return Ok(Exit::Done);
        }
        if let Err(failure) = plan.check(clash) {
            print(id, action, &of, &plan.only_conflicts(), false, going.json)?;
            return Err(failure);
        }
        // What is left to do is nothing: the turn must still be there for whoever says something else.
        if let Err(failure) = plan.refuse_idle(verb) {
            print(id, action, &of, &plan.only_conflicts(), false, going.json)?;
            return Err(failure);
        }
        let what = self.what.clone();
        let plan = self.carry_out(&mut past, plan, &kept).await?;
        print(id, action, &of, &plan, true, going.json)?;
        if !going.json {
            output::complain(&format!("{verb}: {what}; {}\n", sum(&plan)));
        }
        Ok(Exit::Done)
    }

    /// Changes the files and keeps that it was done.
    async fn carry_out(self, past: &mut Past, plan: Plan, kept: &Kept) -> Result<Plan> {
        let (plan, body) = self.change(past, plan, kept)?;
        past.append(body).await?;
        Ok(plan)
    }

    /// Changes the files; what the session has to keep of it.
    fn change(self, past: &mut Past, mut plan: Plan, kept: &Kept) -> Result<(Plan, Body)> {
        past.carry_out(&mut plan, kept)?;
        let body = Body::Restored {
            message: Arc::new(Message::user(sentence(&self.begin, &plan))),
            how: self.how,
            of: self.of,
            changes: plan.changes(),
        };
        Ok((plan, body))
    }
}

#[cfg(test)]
mod tests;
