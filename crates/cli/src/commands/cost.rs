//! `hew cost`: what requests cost, added up.

use super::ledger::prices;
use super::run::{find, short};
use crate::args::{By, Cost as Args, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::table::{self, Align};
use crate::output::words::{line, money, now, plural, tokens};
use crate::{output, project, wiring};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use model::Cost;
use serde_json::{Value, json};
use session::{Meta, Record, Store as _, Time};
use std::collections::BTreeMap;

/// What was taken and what it cost.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    requests: u64,
    prompt: u64,
    cached: u64,
    output: u64,
    cost: Cost,
    /// Requests whose price nobody knows.
    unpriced: u64,
}

pub(super) async fn cost(args: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    let since = args.since.as_deref().map(|when| parse_since(when, now())).transpose()?;
    let store = wiring::open_store(env)?;
    let here = project::root(global.cwd.as_deref(), env)?;
    let sessions: Vec<Meta> = match &args.session {
        Some(named) => vec![find(&store, Some(named.as_str()).filter(|name| *name != "last"), &here).await?],
        None => {
            let all = store.list((!args.all).then_some(here)).await?.into_iter();
            // The records of a session hold those of its subtasks.
            all.filter(|meta| meta.parent.is_none()).collect()
        }
    };
    let (mut rows, mut total): (BTreeMap<String, Sum>, Sum) = (BTreeMap::new(), Sum::default());
    for meta in &sessions {
        for record in store.records(meta.id).await? {
            if since.is_none_or(|since| record.at >= since) {
                total.add(&Sum::of(&record));
                add(&mut rows, args.by, meta, &record);
            }
        }
    }
    if args.json {
        output::deliver(&output::pretty(&as_json(args.by, &rows, &total))?)?;
    } else {
        output::deliver(&as_text(args.by, &rows, &total))?;
    }
    Ok(Exit::Done)
}

/// Adds a request to the rows that it belongs to.
fn add(rows: &mut BTreeMap<String, Sum>, by: By, meta: &Meta, record: &Record) {
    let mut put = |name: String, sum: &Sum| rows.entry(name).or_default().add(sum);
    match by {
        By::Model => put(record.model.clone(), &Sum::of(record)),
        By::Day => put(day(record.at), &Sum::of(record)),
        By::Session => {
            let title = meta.title.as_deref().unwrap_or("(no title)");
            put(format!("{}  {}", short(meta.id), line(title, 50)), &Sum::of(record));
        }
        By::Section | By::Tool => parts(record, by).iter().for_each(|(name, sum)| put(name.clone(), sum)),
    }
}

/// The parts of a request and what each of them cost.
fn parts(record: &Record, by: By) -> Vec<(String, Sum)> {
    let prices = prices(record);
    let Some(prices) = prices.filter(|prices| !prices.is_empty()) else {
        // Titles, summaries and what tools ask models for stand for themselves.
        return vec![(format!("({})", record.purpose), Sum::of(record))];
    };
    let mut parts = Vec::new();
    let mut spent = 0;
    for (section, price) in record.sections.iter().zip(&prices) {
        spent += price.nano_usd;
        let name = match by {
            By::Tool => tool_of(&section.name),
            By::Section | By::Model | By::Day | By::Session => section.name.clone(),
        };
        let sum = Sum {
            prompt: section.tokens,
            cached: section.cached,
            cost: *price,
            ..Sum::default()
        };
        parts.push((name, sum));
    }
    let all = record.cost.unwrap_or_default().nano_usd;
    parts.push((
        "(replies)".into(),
        Sum {
            requests: 1,
            output: record.usage.output,
            // What dividing has left over goes here too, so that everything adds up.
            cost: Cost { nano_usd: all - spent },
            ..Sum::default()
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

impl Sum {
    fn of(record: &Record) -> Sum {
        Sum {
            requests: 1,
            prompt: record.usage.prompt(),
            cached: record.usage.cache_read,
            output: record.usage.output,
            cost: record.cost.unwrap_or_default(),
            unpriced: u64::from(record.cost.is_none() && record.usage.prompt() > 0),
        }
    }

    fn add(&mut self, other: &Sum) {
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
            money(self.cost),
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

/// Days in order, everything else by what it cost.
fn sorted(by: By, rows: &BTreeMap<String, Sum>) -> Vec<(&String, &Sum)> {
    let mut rows: Vec<(&String, &Sum)> = rows.iter().collect();
    if by != By::Day {
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

fn as_text(by: By, rows: &BTreeMap<String, Sum>, total: &Sum) -> String {
    let title = match by {
        By::Section => "SECTION",
        By::Tool => "TOOL",
        By::Model => "MODEL",
        By::Day => "DAY",
        By::Session => "SESSION",
    };
    let columns = [
        (title, Align::Left),
        ("REQUESTS", Align::Right),
        ("PROMPT", Align::Right),
        ("CACHED", Align::Right),
        ("REPLY", Align::Right),
        ("COST", Align::Right),
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

fn as_json(by: By, rows: &BTreeMap<String, Sum>, total: &Sum) -> Value {
    let by_name = match by {
        By::Section => "section",
        By::Tool => "tool",
        By::Model => "model",
        By::Day => "day",
        By::Session => "session",
    };
    let rows: Vec<Value> = sorted(by, rows)
        .into_iter()
        .map(|(name, sum)| {
            let mut row = sum.as_json();
            if let Some(row) = row.as_object_mut() {
                let name = match by {
                    By::Session => name.split("  ").next().unwrap_or(name),
                    By::Section | By::Tool | By::Model | By::Day => name,
                };
                row.insert("name".into(), name.into());
            }
            row
        })
        .collect();
    json!({"by": by_name, "rows": rows, "total": total.as_json()})
}

/// The day of a moment, where the person is.
fn day(at: Time) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(TimeZone::system()).date().to_string(),
        Err(_) => "unknown".into(),
    }
}

/// A day, or so many hours, days or weeks ago.
fn parse_since(text: &str, now: Time) -> Result<Time> {
    let wrong = || {
        Failure::usage(format!("`{text}` is no day and no span of time"))
            .hint("write a day as 2026-11-01, or 12h, 7d or 4w for so long ago")
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
