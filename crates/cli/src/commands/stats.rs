//! `hew stats`: statistics of sessions, from the measurements in the session database.

mod aggregate;
mod html;
mod plot;

use super::cost::{no_requests, parse_since};
use crate::args::{GlobalArgs, StatsArgs as Args, StatsGrouping};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::format::{dollars, now, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::{output, project};
use aggregate::{StatsData, StatsSum, aggregate};
use host::sessions::find;
use serde_json::{Value, json};
use session::{SessionId, SessionMeta, Store as _, SurvivalPoint, Time};
use std::collections::{BTreeMap, HashMap};
use store::SqliteStore;

pub(super) async fn stats(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let since = args.since.as_deref().map(|when| parse_since(when, now())).transpose()?;
    let store = host::sessions::open_store(env)?;
    // Edits of sessions that have ended are measured now.
    host::survival::measure(&store).await?;
    let data = load(&store, args, since.unwrap_or(Time(0)), global, env).await?;
    if let Some(path) = &args.html {
        let page = html::page(&data, now());
        std::fs::write(path, page).map_err(|error| Failure::file("write", path, &error))?;
        output::print_stderr(&format!("wrote {}\n", path.display()));
        if !args.json {
            return Ok(ExitStatus::Done);
        }
    }
    let (rows, total) = aggregate(&data, args.by);
    match args.json {
        true => output::print_checked(&output::pretty(&as_json(args.by, &rows, &total))?)?,
        false if total.requests == 0 => output::print_checked(&no_requests(args.all))?,
        false => output::print_checked(&as_text(args.by, &rows, &total))?,
    }
    Ok(ExitStatus::Done)
}

/// The measurements of the selected sessions and their subtasks.
async fn load(
    store: &SqliteStore,
    args: &Args,
    since: Time,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<StatsData> {
    let here = project::root(global.cwd.as_deref(), env)?;
    let all: Vec<SessionMeta> = store.list(None).await?;
    let chosen: Vec<SessionId> = match &args.session {
        Some(named) => {
            let named = Some(named.as_str()).filter(|name| *name != "last");
            vec![find(store, named, &here).await?.id]
        }
        None => {
            let is_here = |meta: &&SessionMeta| args.all || meta.root == here;
            all.iter().filter(is_here).map(|meta| meta.id).collect()
        }
    };
    let mut sessions: HashMap<SessionId, SessionMeta> = HashMap::new();
    for meta in &all {
        // A subtask belongs to the session that started it.
        let mut root = meta;
        while let Some(parent) = root
            .parent
            .as_ref()
            .and_then(|parent| all.iter().find(|it| it.id == parent.session))
        {
            root = parent;
        }
        if chosen.contains(&meta.id) || chosen.contains(&root.id) {
            sessions.insert(meta.id, meta.clone());
        }
    }
    let mut requests = Vec::new();
    let roots = sessions.values().filter(|meta| {
        let parent = meta.parent.as_ref();
        parent.is_none_or(|parent| !sessions.contains_key(&parent.session))
    });
    for meta in roots {
        let records = store.request_records(meta.id).await?.into_iter();
        requests.extend(
            records
                .filter(|record| record.at >= since)
                .map(|record| (meta.id, record)),
        );
    }
    let mut measured = store.measurements(since).await?;
    measured.turns.retain(|(session, _)| sessions.contains_key(session));
    measured.calls.retain(|(session, _)| sessions.contains_key(session));
    measured
        .survival
        .retain(|record| sessions.contains_key(&record.session));
    Ok(StatsData {
        sessions,
        requests,
        measured,
    })
}

/// Days by date, everything else by the larger number of requests or calls.
fn sorted(by: StatsGrouping, rows: &BTreeMap<String, StatsSum>) -> Vec<(&String, &StatsSum)> {
    let mut rows: Vec<(&String, &StatsSum)> = rows.iter().collect();
    if by != StatsGrouping::Day {
        rows.sort_by_key(|(name, sum)| {
            (
                std::cmp::Reverse(sum.requests.max(sum.calls).max(sum.turns)),
                (*name).clone(),
            )
        });
    }
    rows
}

fn as_text(by: StatsGrouping, rows: &BTreeMap<String, StatsSum>, total: &StatsSum) -> String {
    let title = by.name().to_uppercase();
    let names: &[&str] = match by {
        StatsGrouping::Tool => &["CALLS", "FAILED", "INVALID", "REFUSED", "MEDIAN", "LINES", "REMAINS"],
        StatsGrouping::Edit => &["CALLS", "FAILED", "LINES", "REMAINS"],
        StatsGrouping::Ending => &["TURNS"],
        StatsGrouping::Model
        | StatsGrouping::Day
        | StatsGrouping::Mode
        | StatsGrouping::Project
        | StatsGrouping::Session
        | StatsGrouping::Purpose => &[
            "TURNS", "REQUESTS", "PROMPT", "HITS", "OUTPUT", "COST", "FIRST", "MEDIAN", "CALLS", "FAILED", "LINES",
            "REMAINS",
        ],
    };
    let mut columns = vec![(title.as_str(), ColumnAlign::Left)];
    columns.extend(names.iter().map(|name| (*name, ColumnAlign::Right)));
    let rows = sorted(by, rows);
    let mut cells: Vec<Vec<String>> = rows.iter().map(|(name, sum)| row(by, name, sum)).collect();
    cells.push(row(by, "all", total));
    let mut text = table::render(&columns, &cells);
    let survival: Vec<String> = SurvivalPoint::ALL
        .into_iter()
        .filter_map(|point| {
            Some(format!(
                "{} after {}",
                percent(total.survival(point)?),
                point_text(point)
            ))
        })
        .collect();
    if !survival.is_empty() {
        text.push_str(&format!("Edits that remained: {}.\n", survival.join(", ")));
    }
    if total.unpriced() > 0 {
        let requests = plural(total.unpriced(), "request");
        text.push_str(&format!("The price of {requests} is not known and not counted.\n"));
    }
    text
}

fn row(by: StatsGrouping, name: &str, sum: &StatsSum) -> Vec<String> {
    let count = |count: u64| if count == 0 { String::new() } else { tokens(count) };
    let millis = |millis: Option<u64>| millis.map(duration).unwrap_or_default();
    let lines = sum.lines();
    let lines = match (lines.added, lines.removed) {
        (0, 0) => String::new(),
        (added, removed) => format!("+{added} -{removed}"),
    };
    let latest = SurvivalPoint::ALL[..3]
        .iter()
        .rev()
        .find_map(|point| sum.survival(*point));
    let remains = latest.map(percent).unwrap_or_default();
    let cells = match by {
        StatsGrouping::Tool => vec![
            count(sum.calls),
            count(sum.failed_calls),
            count(sum.invalid_calls()),
            count(sum.refusals()),
            millis(sum.median_call()),
            lines,
            remains,
        ],
        StatsGrouping::Edit => vec![count(sum.calls), count(sum.failed_calls), lines, remains],
        StatsGrouping::Ending => vec![count(sum.turns)],
        StatsGrouping::Model
        | StatsGrouping::Day
        | StatsGrouping::Mode
        | StatsGrouping::Project
        | StatsGrouping::Session
        | StatsGrouping::Purpose => vec![
            count(sum.turns),
            count(sum.requests),
            count(sum.prompt),
            sum.cache_hits().map(percent).unwrap_or_default(),
            count(sum.output),
            dollars(sum.cost),
            millis(sum.median_first_chunk()),
            millis(sum.median_request()),
            count(sum.calls),
            count(sum.failed_calls),
            lines,
            remains,
        ],
    };
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn as_json(by: StatsGrouping, rows: &BTreeMap<String, StatsSum>, total: &StatsSum) -> Value {
    let rows: Vec<Value> = sorted(by, rows)
        .into_iter()
        .map(|(name, sum)| {
            let mut row = sum.as_json();
            if let Some(row) = row.as_object_mut() {
                row.insert("name".into(), name.as_str().into());
            }
            row
        })
        .collect();
    json!({"by": by.name(), "rows": rows, "total": total.as_json()})
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A duration in a suitable unit.
fn duration(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{millis} ms"),
        _ => format!("{:.1} s", millis as f64 / 1000.0),
    }
}

fn point_text(point: SurvivalPoint) -> &'static str {
    match point {
        SurvivalPoint::OneMinute => "1 minute",
        SurvivalPoint::FiveMinutes => "5 minutes",
        SurvivalPoint::FifteenMinutes => "15 minutes",
        SurvivalPoint::Commit => "the commit",
    }
}
