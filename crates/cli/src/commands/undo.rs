//! `hew undo` and `hew redo`: reverts the file changes of turns, or applies them again.

use super::history::{PlanState, RestoreReport, access, conflict_policy, open_history};
use crate::args::{GlobalArgs, RedoArgs, RestoreArgs, UndoArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::format::now;
use backends::describe_turns;
use host::sessions::short_id;
use review::{SessionHistory, UndoOperation};

pub(super) async fn undo(args: &UndoArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let history = open_history(args.session.as_deref(), access(&args.going), global, env).await?;
    let operation = UndoOperation::undo(&history, args.count as usize);
    run(operation, history, ("undo", "Undid"), &args.going).await
}

pub(super) async fn redo(args: &RedoArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let history = open_history(args.session.as_deref(), access(&args.going), global, env).await?;
    let operation = UndoOperation::redo(&history, args.count as usize);
    run(operation, history, ("redo", "Redid"), &args.going).await
}

/// Applies and prints the plan, or only prints it for a dry run.
async fn run(
    operation: Option<UndoOperation>,
    mut history: SessionHistory,
    (action, done): (&'static str, &str),
    going: &RestoreArgs,
) -> Result<ExitStatus> {
    let operation = operation.ok_or_else(|| {
        Failure::failed(format!("nothing to {action} in session {}", short_id(history.id())))
            .hint("`hew sessions list` lists other sessions; select one with --session")
    })?;
    let items = operation.items().to_vec();
    let report = RestoreReport {
        session: history.id(),
        action,
        items: &items,
        json: going.json,
    };
    let policy = conflict_policy(going);
    let (plan, contents) = operation.plan(&history, policy).await?;
    if going.dry_run {
        report.print(&plan, PlanState::Planned)?;
        return Ok(ExitStatus::Done);
    }
    // A plan without steps is not recorded, so that the turn can still be undone with another policy.
    if let Err(error) = plan.check(policy).and_then(|()| plan.check_not_empty()) {
        report.print_conflicts(&plan)?;
        return Err(error.into());
    }
    let turns = describe_turns(&operation);
    let plan = operation.apply_and_record(&mut history, plan, &contents, now()).await?;
    report.print(&plan, PlanState::Applied)?;
    if !going.json {
        output::print_stderr(&format!("{done} {turns}: {}\n", plan.summary()));
    }
    Ok(ExitStatus::Done)
}

#[cfg(test)]
mod tests;
