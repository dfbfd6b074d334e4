//! The costs of requests by model, day, session, tool or prompt section.

use crate::dates::day;
use crate::failure::Result;
use crate::output::format::{dollars, line, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::requests::prices;
use crate::selection::SessionSelection;
use clap::ValueEnum;
use host::sessions::short_id;
use model::Cost;
use serde_json::{Value, json};
use session::{RequestRecord, SessionMeta, Store as _};
use std::collections::BTreeMap;
use store::SqliteStore;

/// The grouping of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostGrouping {
    /// Prompt sections and replies
    Section,
    /// Tools: their descriptions, calls and results in the prompt
    Tool,
    /// Models
    Model,
    /// Days
    Day,
    /// Sessions
    Session,
}

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

/// The costs of selected sessions in groups.
#[derive(Debug)]
pub struct CostReport {
    by: CostGrouping,
    rows: BTreeMap<String, CostSum>,
    total: CostSum,
}

impl CostReport {
    /// Sums up the requests of the selected sessions.
    pub async fn load(store: &SqliteStore, selection: &SessionSelection<'_>, by: CostGrouping) -> Result<CostReport> {
        let sessions = match selection.session {
            Some(_) => vec![selection.find(store).await?],
            None => {
                let all = store.list(selection.project_filter()).await?.into_iter();
                // The records of a session hold those of its subtasks.
                all.filter(|meta| meta.parent.is_none()).collect()
            }
        };
        let (mut rows, mut total): (BTreeMap<String, CostSum>, CostSum) = (BTreeMap::new(), CostSum::default());
        for meta in &sessions {
            for record in store.request_records(meta.id).await? {
                if record.at >= selection.since {
                    total.add(&CostSum::of(&record));
                    add(&mut rows, by, meta, &record);
                }
            }
        }
        Ok(CostReport { by, rows, total })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

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
