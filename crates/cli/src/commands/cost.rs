//! `hew cost`: sums up request costs.

use super::ledger::prices;
use crate::args::{CostArgs as Args, CostGrouping, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::format::{dollars, line, now, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::{output, project};
use host::sessions::{find, short_id};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use model::Cost;
use serde_json::{Value, json};
use session::{RequestRecord, SessionMeta, Store as _, Time};
use std::collections::BTreeMap;

/// Tokens and cost.
#[derive(Debug, Clone, Copy, Default)]
struct CostSum {
    requests: u64,
    prompt: u64,
    cached: u64,
    output: u64,
    cost: Cost,
    /// Requests without a known price.
    unpriced: u64,
}

pub(super) async fn cost(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let since = args.since.as_deref().map(|when| parse_since(when, now())).transpose()?;
    let store = host::sessions::open_store(env)?;
    let here = project::root(global.cwd.as_deref(), env)?;
    let sessions: Vec<SessionMeta> = match &args.session {
        Some(named) => vec![find(&store, Some(named.as_str()).filter(|name| *name != "last"), &here).await?],
        None => {
            let all = store.list((!args.all).then_some(here)).await?.into_iter();
            // The records of a session hold those of its subtasks.
            all.filter(|meta| meta.parent.is_none()).collect()
        }
    };
    let (mut rows, mut total): (BTreeMap<String, CostSum>, CostSum) = (BTreeMap::new(), CostSum::default());
    for meta in &sessions {
        for record in store.request_records(meta.id).await? {
            if since.is_none_or(|since| record.at >= since) {
                total.add(&CostSum::of(&record));
                add(&mut rows, args.by, meta, &record);
            }
        }
    }
    if args.json {
        output::print_checked(&output::pretty(&as_json(args.by, &rows, &total))?)?;
    } else if total.requests == 0 {
        output::print_checked(&no_requests(args.all))?;
    } else {
        output::print_checked(&as_text(args.by, &rows, &total))?;
    }
    Ok(ExitStatus::Done)
}

/// What is printed instead of an empty table.
pub(super) fn no_requests(all: bool) -> String {
    match all {
        true => "No recorded requests match.\n".into(),
        false => "No recorded requests match; `--all` includes other projects.\n".into(),
    }
}

/// Adds a request to the rows that it belongs to.
fn add(rows: &mut BTreeMap<String, CostSum>, by: CostGrouping, meta: &SessionMeta, record: &RequestRecord) {
    let mut put = |name: String, sum: &CostSum| rows.entry(name).or_default().add(sum);
    match by {
        CostGrouping::Model => put(record.model.clone(), &CostSum::of(record)),
        CostGrouping::Day => put(day(record.at), &CostSum::of(record)),
        CostGrouping::Session => {
            let title = meta.title.as_deref().unwrap_or("(no title)");
            put(
                format!("{}  {}", short_id(meta.id), line(title, 50)),
                &CostSum::of(record),
            );
        }
        CostGrouping::Section | CostGrouping::Tool => {
            parts(record, by).iter().for_each(|(name, sum)| put(name.clone(), sum))
        }
    }
}

/// The parts of a request with their costs.
fn parts(record: &RequestRecord, by: CostGrouping) -> Vec<(String, CostSum)> {
    let prices = prices(record);
    let Some(prices) = prices.filter(|prices| !prices.is_empty()) else {
        // Requests for titles, summaries and tools are separate parts.
        return vec![(format!("({})", record.purpose), CostSum::of(record))];
    };
    let mut parts = Vec::new();
    let mut spent = 0;
    for (section, price) in record.sections.iter().zip(&prices) {
        spent += price.nano_usd;
        let name = match by {
            CostGrouping::Tool => tool_of(&section.name),
            CostGrouping::Section | CostGrouping::Model | CostGrouping::Day | CostGrouping::Session => {
                section.name.clone()
            }
        };
        let sum = CostSum {
            prompt: section.tokens,
            cached: section.cached,
            cost: *price,
            ..CostSum::default()
        };
        parts.push((name, sum));
    }
    let all = record.cost.unwrap_or_default().nano_usd;
    parts.push((
        "(replies)".into(),
        CostSum {
            requests: 1,
            output: record.usage.output,
            // Rounding differences are added here, so that the sum is exact.
            cost: Cost { nano_usd: all - spent },
            ..CostSum::default()
        },
    ));
    parts
}

/// The tool that a section is about.
fn tool_of(section: &str) -> String {
    let mut words = section.splitn(3, '/');
    match (words.next(), words.next(), words.next()) {
        (Some("tools"), None, None) => "(descriptions of tools)".into(),
        (_, Some("calls" | "results"), Some(tool)) => tool.to_owned(),
        _ => "(everything else)".into(),
    }
}

impl CostSum {
    fn of(record: &RequestRecord) -> CostSum {
        CostSum {
            requests: 1,
            prompt: record.usage.prompt_tokens(),
            cached: record.usage.cache_read,
            output: record.usage.output,
            cost: record.cost.unwrap_or_default(),
            unpriced: u64::from(record.cost.is_none() && record.usage.prompt_tokens() > 0),
        }
    }

    fn add(&mut self, other: &CostSum) {
        self.requests += other.requests;
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.output += other.output;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let count = |count: u64| if count == 0 { String::new() } else { tokens(count) };
        vec![
            name.to_owned(),
            count(self.requests),
            count(self.prompt),
            count(self.cached),
            count(self.output),
            dollars(self.cost),
        ]
    }

    fn as_json(&self) -> Value {
        json!({
            "requests": self.requests,
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "output_tokens": self.output,
            "cost_usd": self.cost.usd(),
            "unpriced_requests": self.unpriced,
        })
    }
}

/// Sorts days by date, everything else by cost.
fn sorted(by: CostGrouping, rows: &BTreeMap<String, CostSum>) -> Vec<(&String, &CostSum)> {
    let mut rows: Vec<(&String, &CostSum)> = rows.iter().collect();
    if by != CostGrouping::Day {
        rows.sort_by_key(|(name, sum)| {
            (
                -sum.cost.nano_usd,
                std::cmp::Reverse(sum.prompt + sum.output),
                (*name).clone(),
            )
        });
    }
    rows
}

fn as_text(by: CostGrouping, rows: &BTreeMap<String, CostSum>, total: &CostSum) -> String {
    let title = match by {
        CostGrouping::Section => "SECTION",
        CostGrouping::Tool => "TOOL",
        CostGrouping::Model => "MODEL",
        CostGrouping::Day => "DAY",
        CostGrouping::Session => "SESSION",
    };
    let columns = [
        (title, ColumnAlign::Left),
        ("REQUESTS", ColumnAlign::Right),
        ("PROMPT", ColumnAlign::Right),
        ("CACHED", ColumnAlign::Right),
        ("REPLY", ColumnAlign::Right),
        ("COST", ColumnAlign::Right),
    ];
    let mut cells: Vec<Vec<String>> = sorted(by, rows).iter().map(|(name, sum)| sum.cells(name)).collect();
    cells.push(total.cells("all"));
    let mut text = table::render(&columns, &cells);
    if total.unpriced > 0 {
        let requests = plural(total.unpriced, "request");
        text.push_str(&format!("The price of {requests} is not known and not counted.\n"));
    }
    text
}

fn as_json(by: CostGrouping, rows: &BTreeMap<String, CostSum>, total: &CostSum) -> Value {
    let by_name = match by {
        CostGrouping::Section => "section",
        CostGrouping::Tool => "tool",
        CostGrouping::Model => "model",
        CostGrouping::Day => "day",
        CostGrouping::Session => "session",
    };
    let rows: Vec<Value> = sorted(by, rows)
        .into_iter()
        .map(|(name, sum)| {
            let mut row = sum.as_json();
            if let Some(row) = row.as_object_mut() {
                let name = match by {
                    CostGrouping::Session => name.split("  ").next().unwrap_or(name),
                    CostGrouping::Section | CostGrouping::Tool | CostGrouping::Model | CostGrouping::Day => name,
                };
                row.insert("name".into(), name.into());
            }
            row
        })
        .collect();
    json!({"by": by_name, "rows": rows, "total": total.as_json()})
}

/// The local date of a time.
pub(super) fn day(at: Time) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(TimeZone::system()).date().to_string(),
        Err(_) => "unknown".into(),
    }
}

/// A day, or so many hours, days or weeks ago.
pub(super) fn parse_since(text: &str, now: Time) -> Result<Time> {
    let wrong = || {
        Failure::usage(format!("`{text}` is not a date or a duration"))
            .hint("write a date such as 2026-11-01, or a duration such as 12h, 7d or 4w")
    };
    if let Ok(date) = text.parse::<Date>() {
        let start = date.to_zoned(TimeZone::system()).map_err(|_| wrong())?;
        return Ok(Time(u64::try_from(start.timestamp().as_millisecond()).unwrap_or(0)));
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        _ => return Err(wrong()),
    };
    let hours = count
        .checked_mul(hours)
        .filter(|hours| (0..1_000_000).contains(hours))
        .ok_or_else(wrong)?;
    let now = Timestamp::from_millisecond(i64::try_from(now.0).unwrap_or(i64::MAX)).map_err(|_| wrong())?;
    let then = now.checked_sub(hours.hours()).map_err(|_| wrong())?;
    Ok(Time(u64::try_from(then.as_millisecond()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_day_or_a_span_of_time() {
        let now = Time(1_000_000_000_000);
        assert_eq!(parse_since("2h", now).unwrap(), Time(now.0 - 2 * 3_600_000));
        assert_eq!(parse_since("7d", now).unwrap(), Time(now.0 - 7 * 86_400_000));
        assert_eq!(parse_since("1w", now).unwrap(), parse_since("7d", now).unwrap());
        assert!(parse_since("2001-09-01", now).unwrap() < now);
        for wrong in ["", "x", "d", "-3d", "7y", "2001-13-01", "99999999999999999999h", "ä"] {
            assert!(parse_since(wrong, now).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_section_names_its_tool() {
        let cases = [
            ("tools", "(descriptions of tools)"),
            ("turn/results/read_file", "read_file"),
            ("history/calls/a/b", "a/b"),
            ("system/rules", "(everything else)"),
        ];
        for (section, tool) in cases {
            assert_eq!(tool_of(section), tool);
        }
    }
}
