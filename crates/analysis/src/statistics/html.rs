//! Statistics as one HTML page, with plots and without any reference to other files.

use super::groups::{StatsSum, aggregate};
use super::plot::{bars, escape, histogram};
use super::{StatsData, StatsGrouping, as_text, duration, percent, point_text};
use crate::output::format::{rfc3339, tokens};
use session::{SurvivalPoint, Time};
use std::collections::BTreeMap;

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;max-width:1320px;margin:2em auto;padding:0 1em;color:#222}\
h1,h2{font-weight:600}figure{display:inline-block;width:640px;max-width:100%;margin:0 8px 16px 0}figcaption{font-weight:600}\
svg{width:100%}.l{font-size:10px;fill:#555}pre{background:#f6f6f6;padding:1em;overflow:auto}";

pub(super) fn page(data: &StatsData, at: Time) -> String {
    let mut body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>hew statistics</title><style>{STYLE}</style>\
         </head><body><h1>hew statistics</h1><p>{} sessions, as of {}</p>",
        data.sessions.len(),
        escape(&rfc3339(at))
    );
    let (days, total) = aggregate(data, StatsGrouping::Day);
    body.push_str(&bars(
        "Cost per day",
        &[],
        &values(&days, |sum| vec![sum.cost.usd()]),
        |usd| format!("${usd:.2}"),
    ));
    body.push_str(&bars(
        "Prompt tokens per day",
        &["cached", "not cached"],
        &values(&days, |sum| {
            vec![sum.cached as f64, sum.prompt.saturating_sub(sum.cached) as f64]
        }),
        |count| tokens(count as u64),
    ));
    body.push_str(&bars(
        "Output tokens per day",
        &[],
        &values(&days, |sum| vec![sum.output as f64]),
        |count| tokens(count as u64),
    ));
    body.push_str(&histogram("Requests by duration", total.request_times(), duration));
    let (tools, _) = aggregate(data, StatsGrouping::Tool);
    body.push_str(&bars(
        "Tool calls",
        &["done", "failed"],
        &values(&tools, |sum| {
            vec![(sum.calls - sum.failed_calls) as f64, sum.failed_calls as f64]
        }),
        |count| format!("{count:.0}"),
    ));
    let (edits, _) = aggregate(data, StatsGrouping::Edit);
    body.push_str(&bars(
        "Edits by format and match",
        &[],
        &values(&edits, |sum| vec![sum.calls as f64]),
        |count| format!("{count:.0}"),
    ));
    let survival: Vec<(String, Vec<f64>)> = SurvivalPoint::ALL
        .into_iter()
        .filter_map(|point| Some((point_text(point).to_owned(), vec![total.survival(point)?])))
        .collect();
    body.push_str(&bars("Share of edits that remained", &[], &survival, percent));
    for by in [
        StatsGrouping::Model,
        StatsGrouping::Mode,
        StatsGrouping::Tool,
        StatsGrouping::Edit,
        StatsGrouping::Ending,
        StatsGrouping::Project,
    ] {
        let (rows, total) = aggregate(data, by);
        let table = as_text(by, &rows, &total);
        body.push_str(&format!("<h2>By {}</h2><pre>{}</pre>", by.name(), escape(&table)));
    }
    body.push_str("</body></html>\n");
    body
}

fn values(rows: &BTreeMap<String, StatsSum>, of: fn(&StatsSum) -> Vec<f64>) -> Vec<(String, Vec<f64>)> {
    rows.iter().map(|(name, sum)| (name.clone(), of(sum))).collect()
}
