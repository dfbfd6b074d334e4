//! Results as text.

use crate::comparison::{Comparison, PairedDifference};
use crate::summary::{ConfigurationSummary, Summary};

/// A table with a line for each configuration.
pub fn summary_text(summary: &Summary) -> String {
    let head = [
        "",
        "solved",
        "95 %",
        "pass@k",
        "errors",
        "tokens in",
        "out",
        "cost",
        "steps",
        "tool errors",
        "refused edits",
        "time",
    ];
    let mut rows: Vec<Vec<String>> = vec![head.map(String::from).into()];
    rows.extend(summary.configurations.iter().map(row));
    align(&rows)
}

fn row(one: &ConfigurationSummary) -> Vec<String> {
    let mean = |sum: u64| format!("{:.0}", one.per_attempt(sum));
    let pass = match one.pass_at.last() {
        Some(share) if one.pass_at.len() > 1 => format!("{} (k={})", percent(*share), one.pass_at.len()),
        Some(_) | None => "-".into(),
    };
    vec![
        one.name.clone(),
        format!("{}/{} {}", one.solved, one.attempts, percent(one.rate())),
        format!("{}-{}", percent(one.interval[0]), percent(one.interval[1])),
        pass,
        one.errors.to_string(),
        mean(one.totals.input_tokens),
        mean(one.totals.output_tokens),
        one.totals
            .cost_usd
            .map_or("-".into(), |cost| format!("${:.4}", cost / one.attempts.max(1) as f64)),
        format!("{:.1}", one.per_attempt(one.totals.steps)),
        one.totals.tool_errors.to_string(),
        one.totals.refused_edits.to_string(),
        format!("{:.1}s", one.per_attempt(one.totals.duration_ms) / 1000.0),
    ]
}

/// A comparison in a few lines, followed by the tasks that changed.
pub fn comparison_text(comparison: &Comparison) -> String {
    let Comparison {
        before,
        after,
        tasks,
        gained,
        lost,
        p_value,
        ..
    } = comparison;
    let points = |one: &PairedDifference| {
        format!(
            "{:+.1} points ({:+.1} to {:+.1})",
            one.mean * 100.0,
            one.low * 100.0,
            one.high * 100.0
        )
    };
    let plain = |one: &PairedDifference, digits: usize| {
        format!(
            "{:+.digits$} ({:+.digits$} to {:+.digits$})",
            one.mean, one.low, one.high
        )
    };
    let mut text = format!(
        "{after} compared with {before} on {tasks} tasks:\n  solved  {}, {gained} gained, {lost} lost, McNemar p = {p_value:.3}\n  \
         tokens  {}\n  cost    {}\n  seconds {}\n",
        points(&comparison.solved),
        plain(&comparison.tokens, 0),
        plain(&comparison.cost_usd, 4),
        plain(&comparison.seconds, 1),
    );
    for change in &comparison.changes {
        let sessions: Vec<&str> = change
            .sessions_before
            .iter()
            .chain(&change.sessions_after)
            .map(String::as_str)
            .collect();
        text.push_str(&format!(
            "  {}: {}/{} -> {}/{}  {}\n",
            change.task,
            change.before.0,
            change.before.1,
            change.after.0,
            change.after.1,
            sessions.join(" ")
        ));
    }
    text
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Columns of equal width; the first one is aligned to the left.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
