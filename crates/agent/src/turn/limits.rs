//! Limits on requests and cost of a turn.

use crate::session::Session;
use model::Cost;
use session::{Limit, Totals, TurnEnd};

/// Ends the turn if a limit is reached. The time limit is enforced by the actor, because time also passes within a step.
pub(super) fn check(session: &Session, step: u32) -> Result<(), TurnEnd> {
    let (env, limits) = (&session.env, session.env.config.limits);
    let own = env.max_steps.filter(|limit| step >= *limit).map(Limit::Steps);
    let cost = || limits.cost.filter(|limit| env.budget.cost() >= *limit).map(Limit::Cost);
    // Last, because taking a step counts for the whole session tree.
    let shared = || match env.budget.take_step(limits.steps) {
        true => None,
        false => limits.steps.map(Limit::Steps),
    };
    match own.or_else(cost).or_else(shared) {
        Some(limit) => Err(TurnEnd::Limit(limit)),
        None => Ok(()),
    }
}

/// Asks the user whether to continue after the configured number of requests or cost; ends the turn if not.
pub(super) async fn ask_to_continue_past_limit(session: &mut Session) -> Result<(), TurnEnd> {
    let spent = session.accounting.since_confirmation;
    let policy = session.env.policy.current();
    let approval = policy.permissions.approval.resolve(policy.level);
    let requests = u32::try_from(spent.requests).unwrap_or(u32::MAX);
    let micros = u64::try_from(spent.cost.nano_usd / 1_000).unwrap_or(0);
    let (limit, reason) = match approval.limit(requests, micros) {
        None => return Ok(()),
        Some(policy::ApprovalLimit::Requests(most)) => (Limit::Steps(most), format!("{most} requests were made")),
        Some(policy::ApprovalLimit::Cost(most)) => {
            let most = Cost::from_usd(most as f64 / 1e6);
            (Limit::Cost(most), format!("more than ${:.2} was spent", most.usd()))
        }
    };
    let question = format!("Since you were last asked, {reason}. Continue?");
    if !session.approver(None, "hew").confirm(&question).await {
        return Err(TurnEnd::Limit(limit));
    }
    session.accounting.since_confirmation = Totals::default();
    Ok(())
}
