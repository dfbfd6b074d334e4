//! `hew stats`: statistics of sessions, from the measurements in the session database.

use crate::args::{GlobalArgs, StatsArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::format::now;
use crate::{output, project};
use analysis::{SessionSelection, StatsData, parse_since};
use session::Time;
use std::path::Path;

pub(super) async fn stats(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let project = project::root(global.cwd.as_deref(), env)?;
    let selection = selection(args.session.as_deref(), args.all, args.since.as_deref(), &project)?;
    let store = host::sessions::open_store(env)?;
    let data = StatsData::load(&store, &selection).await?;
    if let Some(path) = &args.html {
        std::fs::write(path, data.html(now())).map_err(|error| Failure::file("write", path, &error))?;
        output::print_stderr(&format!("wrote {}\n", path.display()));
        if !args.json {
            return Ok(ExitStatus::Done);
        }
    }
    let report = data.report(args.by);
    output::print_checked(&match (args.json, report.is_empty()) {
        (true, _) => output::pretty(&report.json())?,
        (false, true) => no_requests(args.all),
        (false, false) => report.text(),
    })?;
    Ok(ExitStatus::Done)
}

/// The sessions and the time that the arguments select.
pub(super) fn selection<'a>(
    session: Option<&'a str>,
    all_projects: bool,
    since: Option<&str>,
    project: &'a Path,
) -> Result<SessionSelection<'a>> {
    let since = since.map(|when| parse_since(when, now())).transpose()?;
    Ok(SessionSelection {
        session,
        all_projects,
        project,
        since: since.unwrap_or(Time(0)),
    })
}

/// What is printed instead of an empty table.
pub(super) fn no_requests(all: bool) -> String {
    match all {
        true => "No recorded requests match.\n".into(),
        false => "No recorded requests match; `--all` includes other projects.\n".into(),
    }
}
