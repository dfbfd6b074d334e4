//! `hew cost`: sums up request costs.

use super::stats::{no_requests, selection};
use crate::args::{CostArgs as Args, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::{output, project};
use analysis::CostReport;

pub(super) async fn cost(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let project = project::root(global.cwd.as_deref(), env)?;
    let selection = selection(args.session.as_deref(), args.all, args.since.as_deref(), &project)?;
    let store = host::sessions::open_store(env)?;
    let report = CostReport::load(&store, &selection, args.by).await?;
    output::print_checked(&match (args.json, report.is_empty()) {
        (true, _) => output::pretty(&report.json())?,
        (false, true) => no_requests(args.all),
        (false, false) => report.text(),
    })?;
    Ok(ExitStatus::Done)
}
