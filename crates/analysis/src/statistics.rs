//! Statistics of sessions, from the measurements in the session database.

mod groups;
mod html;
mod plot;

use crate::failure::Result;
use crate::output::format::{dollars, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::selection::SessionSelection;
use clap::ValueEnum;
use groups::{StatsSum, aggregate};
use serde_json::{Value, json};
use session::{RequestRecord, SessionId, SessionMeta, Store as _, SurvivalPoint, Time};
use std::collections::{BTreeMap, HashMap};
use store::{Measurements, SqliteStore};

/// The grouping of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatsGrouping {
    /// Models
    Model,
    /// Days
    Day,
    /// Modes
    Mode,
    /// Projects
    Project,
    /// Sessions
    Session,
    /// Purposes of requests: turns, titles, summaries
    Purpose,
    /// Tools
    Tool,
    /// Edits, by format and by how the old text was found
    Edit,
    /// Turns, by how they ended
    Ending,
}

impl StatsGrouping {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            StatsGrouping::Model => "model",
            StatsGrouping::Day => "day",
            StatsGrouping::Mode => "mode",
            StatsGrouping::Project => "project",
            StatsGrouping::Session => "session",
            StatsGrouping::Purpose => "purpose",
            StatsGrouping::Tool => "tool",
            StatsGrouping::Edit => "edit",
            StatsGrouping::Ending => "ending",
        }
    }
}

/// The counted values of selected sessions and their subtasks.
#[derive(Debug)]
pub struct StatsData {
    sessions: HashMap<SessionId, SessionMeta>,
    requests: Vec<(SessionId, RequestRecord)>,
    measured: Measurements,
}

/// Statistics in groups.
#[derive(Debug)]
pub struct StatsReport {
    by: StatsGrouping,
    rows: BTreeMap<String, StatsSum>,
    total: StatsSum,
}

impl StatsReport {
    /// Whether no request matches.
    pub fn is_empty(&self) -> bool {
        self.total.requests == 0
    }

    /// A table.
    pub fn text(&self) -> String {
        as_text(self.by, &self.rows, &self.total)
    }

    /// The rows and their sum.
    pub fn json(&self) -> Value {
        as_json(self.by, &self.rows, &self.total)
    }
}

impl StatsData {
    /// Loads the measurements of the selected sessions. Edits of sessions that have ended are measured first.
    pub async fn load(store: &SqliteStore, selection: &SessionSelection<'_>) -> Result<StatsData> {
        host::survival::measure(store).await?;
        let all: Vec<SessionMeta> = store.list(None).await?;
        let chosen: Vec<SessionId> = match selection.session {
            Some(_) => vec![selection.find(store).await?.id],
            None => {
                let is_chosen = |meta: &&SessionMeta| selection.all_projects || meta.root == selection.project;
                all.iter().filter(is_chosen).map(|meta| meta.id).collect()
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
                    .filter(|record| record.at >= selection.since)
                    .map(|record| (meta.id, record)),
            );
        }
        let mut measured = store.measurements(selection.since).await?;
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

    /// Groups and adds up.
    pub fn report(&self, by: StatsGrouping) -> StatsReport {
        let (rows, total) = aggregate(self, by);
        StatsReport { by, rows, total }
    }

    /// One HTML page with tables and plots.
    pub fn html(&self, at: Time) -> String {
        html::page(self, at)
    }
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
