//! The report: one HTML file without scripts and external resources.

use crate::comparison::{Comparison, PairedDifference, tokens};
use crate::results::{Attempt, AttemptOutcome};
use crate::summary::{Summary, solved_by_task};
use crate::table::percent;
use std::collections::BTreeSet;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:right}\
td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}code{font-size:85%}\
.grid td{padding:0;width:1.4rem;height:1.1rem;border:1px solid #fff}.grid td:first-child{padding-right:.7rem}\
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td,th{border-color:#444}.grid td{border-color:#181818}}";
const COLOURS: [&str; 6] = ["#2a78d6", "#d9822b", "#3a9d5d", "#b04fc4", "#c23b3b", "#6b7280"];

/// Renders a report.
pub fn report(title: &str, configurations: &[String], attempts: &[Attempt], comparisons: &[Comparison]) -> String {
    let summary = Summary::new(configurations, attempts);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{0}</title><style>{STYLE}</style>\n<h1>{0}</h1>\n",
        escape(title)
    );
    page.push_str(&summary_table(&summary));
    page.push_str("<h2>Solved, with 95 % Wilson intervals</h2>\n");
    page.push_str(&interval_plot(&summary));
    page.push_str("<h2>Solved against tokens per attempt</h2>\n");
    page.push_str(&scatter_plot(&summary));
    for comparison in comparisons {
        page.push_str(&comparison_section(comparison));
    }
    page.push_str("<h2>Tasks</h2>\n");
    page.push_str(&task_grid(configurations, attempts));
    page.push_str("<h2>Attempts</h2>\n");
    page.push_str(&attempt_table(attempts));
    page.push_str("</html>\n");
    page
}

fn summary_table(summary: &Summary) -> String {
    let mut table =
        "<table><tr><th>configuration<th>solved<th>95 %<th>pass@k<th>errors<th>tokens in<th>cached<th>tokens \
                     out<th>cost<th>steps<th>tool calls<th>tool errors<th>refused edits<th>time</tr>\n"
            .to_owned();
    for one in &summary.configurations {
        let pass: Vec<String> = one.pass_at.iter().map(|share| percent(*share)).collect();
        let per = |sum: u64| format!("{:.0}", one.per_attempt(sum));
        let cost = one
            .totals
            .cost_usd
            .map_or("-".into(), |cost| format!("${:.4}", cost / one.attempts.max(1) as f64));
        let cells = [
            escape(&one.name),
            format!("{}/{} ({})", one.solved, one.attempts, percent(one.rate())),
            format!("{} to {}", percent(one.interval[0]), percent(one.interval[1])),
            pass.join(", "),
            one.errors.to_string(),
            per(one.totals.input_tokens),
            per(one.totals.cached_tokens),
            per(one.totals.output_tokens),
            cost,
            format!("{:.1}", one.per_attempt(one.totals.steps)),
            per(one.totals.tool_calls),
            one.totals.tool_errors.to_string(),
            one.totals.refused_edits.to_string(),
            format!("{:.1} s", one.per_attempt(one.totals.duration_ms) / 1000.0),
        ];
        table.push_str(&row(&cells));
    }
    table
        + "</table>\n<p>Tokens, cost, steps and time are means per attempt; tool errors and refused edits are sums.</p>\n"
}

fn row(cells: &[String]) -> String {
    format!("<tr><td>{}</tr>\n", cells.join("<td>"))
}

/// Horizontal intervals from 0 to 100 %.
fn interval_plot(summary: &Summary) -> String {
    let (left, width, line) = (200.0, 560.0, 28.0);
    let height = line * summary.configurations.len() as f64 + 30.0;
    let x = |share: f64| left + share * width;
    let mut plot = format!(
        "<svg viewBox=\"0 0 800 {height}\" width=\"800\" role=\"img\" aria-label=\"solved by configuration\" font-size=\"12\" fill=\"currentColor\">\n"
    );
    for tick in 0..=4 {
        let share = f64::from(tick) / 4.0;
        append(
            &mut plot,
            format_args!(
                "<line x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{1}\" stroke=\"#999\" stroke-opacity=\".3\"/><text x=\"{0}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\n",
                x(share),
                height - 22.0,
                height - 6.0,
                percent(share)
            ),
        );
    }
    for (at, one) in summary.configurations.iter().enumerate() {
        let (y, colour) = (line * (at as f64 + 0.5), COLOURS[at % COLOURS.len()]);
        append(
            &mut plot,
            format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><line x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\"/>\
             <circle cx=\"{}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\"><title>{}</title></circle>\n",
                left - 10.0,
                y + 4.0,
                escape(&one.name),
                x(one.interval[0]),
                x(one.interval[1]),
                x(one.rate()),
                percent(one.rate())
            ),
        );
    }
    plot + "</svg>\n"
}

/// Solved share against tokens per attempt.
fn scatter_plot(summary: &Summary) -> String {
    let (left, top, width, height) = (60.0, 10.0, 700.0, 260.0);
    let per_attempt = |at: usize| summary.configurations[at].per_attempt(tokens(&summary.configurations[at].totals));
    let most = (0..summary.configurations.len()).map(per_attempt).fold(1.0, f64::max);
    let mut plot = format!(
        "<svg viewBox=\"0 0 800 {}\" width=\"800\" role=\"img\" aria-label=\"solved against tokens\" font-size=\"12\" fill=\"currentColor\">\n",
        height + 50.0
    );
    for tick in 0..=4 {
        let share = f64::from(tick) / 4.0;
        let (x, y) = (left + share * width, top + (1.0 - share) * height);
        append(
            &mut plot,
            format_args!(
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#999\" stroke-opacity=\".3\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{:.0}</text>\n",
                left + width,
                left - 6.0,
                y + 4.0,
                percent(share),
                top + height + 18.0,
                share * most * 1.1
            ),
        );
    }
    for (at, one) in summary.configurations.iter().enumerate() {
        let (x, y) = (
            left + per_attempt(at) / (most * 1.1) * width,
            top + (1.0 - one.rate()) * height,
        );
        append(
            &mut plot,
            format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"6\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                COLOURS[at % COLOURS.len()],
                x + 9.0,
                y - 6.0,
                escape(&one.name)
            ),
        );
    }
    plot + "</svg>\n"
}

fn comparison_section(comparison: &Comparison) -> String {
    let show = |one: &PairedDifference, factor: f64, digits: usize| {
        format!(
            "{:+.digits$} ({:+.digits$} to {:+.digits$})",
            one.mean * factor,
            one.low * factor,
            one.high * factor
        )
    };
    let mut section = format!(
        "<h2>{} compared with {}</h2>\n<p>On {} tasks: {} attempts gained, {} lost, McNemar's exact test p = {:.4}. Mean differences per \
         attempt with 95 % bootstrap intervals over tasks:</p>\n<table>",
        escape(&comparison.after),
        escape(&comparison.before),
        comparison.tasks,
        comparison.gained,
        comparison.lost,
        comparison.p_value
    );
    for (name, text) in [
        ("solved, percentage points", show(&comparison.solved, 100.0, 1)),
        ("tokens", show(&comparison.tokens, 1.0, 0)),
        ("cost, US dollars", show(&comparison.cost_usd, 1.0, 4)),
        ("seconds", show(&comparison.seconds, 1.0, 1)),
    ] {
        section.push_str(&row(&[name.into(), text]));
    }
    section.push_str("</table>\n");
    if !comparison.changes.is_empty() {
        section.push_str("<table><tr><th>task<th>before<th>after<th>sessions before<th>sessions after</tr>\n");
        for change in &comparison.changes {
            let links = |ids: &[String]| ids.iter().map(|id| session_link(id)).collect::<Vec<_>>().join(" ");
            let share = |(solved, trials): (u64, u64)| format!("{solved}/{trials}");
            section.push_str(&row(&[
                escape(&change.task),
                share(change.before),
                share(change.after),
                links(&change.sessions_before),
                links(&change.sessions_after),
            ]));
        }
        section.push_str("</table>\n");
    }
    section
}

/// A link to the row of a session's attempt.
fn session_link(id: &str) -> String {
    let id = escape(id);
    let short: String = id.chars().take(8).collect();
    format!("<a href=\"#s-{id}\"><code>{short}</code></a>")
}

fn task_grid(configurations: &[String], attempts: &[Attempt]) -> String {
    let tasks: BTreeSet<&str> = attempts.iter().map(|attempt| attempt.key.task.as_str()).collect();
    let columns: Vec<_> = configurations
        .iter()
        .map(|name| {
            solved_by_task(
                attempts
                    .iter()
                    .filter(move |attempt| attempt.key.configuration == *name),
            )
        })
        .collect();
    let mut grid = "<table class=\"grid\">\n".to_owned();
    for task in tasks {
        append(&mut grid, format_args!("<tr><td>{}", escape(task)));
        for (name, column) in configurations.iter().zip(&columns) {
            let (solved, trials) = column.get(task).copied().unwrap_or_default();
            let (red, green) = match trials {
                0 => (128, 128),
                trials => (220 - 170 * solved / trials, 80 + 90 * solved / trials),
            };
            append(
                &mut grid,
                format_args!(
                    "<td style=\"background:rgb({red},{green},90)\" title=\"{}: {solved}/{trials}\">",
                    escape(name)
                ),
            );
        }
        grid.push_str("</tr>\n");
    }
    grid + "</table>\n"
}

fn attempt_table(attempts: &[Attempt]) -> String {
    let mut table =
        "<table><tr><th>task<th>configuration<th>n<th>result<th>tokens<th>steps<th>time<th>session<th>detail</tr>\n"
            .to_owned();
    for attempt in attempts {
        let session = attempt.session.as_deref().map_or(String::new(), |id| {
            let id = escape(id);
            format!("<code id=\"s-{id}\">{id}</code>")
        });
        let outcome = match attempt.outcome {
            AttemptOutcome::Solved => "solved",
            AttemptOutcome::Unsolved => "unsolved",
            AttemptOutcome::Error => "error",
        };
        let detail = attempt.detail.as_deref().map_or(String::new(), |detail| {
            format!(
                "<details><summary>output</summary><pre>{}</pre></details>",
                escape(detail)
            )
        });
        table.push_str(&row(&[
            escape(&attempt.key.task),
            escape(&attempt.key.configuration),
            attempt.key.repetition.to_string(),
            outcome.into(),
            tokens(&attempt.metrics).to_string(),
            attempt.metrics.steps.to_string(),
            format!("{:.1} s", attempt.metrics.duration_ms as f64 / 1000.0),
            session,
            detail,
        ]));
    }
    table + "</table>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.push_str(&arguments.to_string());
}
