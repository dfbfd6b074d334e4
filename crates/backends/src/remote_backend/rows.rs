//! Rows of the HTTP API as values of the front end.

use model::{Cost, Stop, Usage};
use serde_json::Value;
use session::{LedgerSection, RequestEnd, RequestFacts, RequestId, RequestRecord, SessionMeta, Time, Totals};

/// A session of the list; `None` if the form is unknown.
pub(super) fn session_meta(row: &Value) -> Option<SessionMeta> {
    Some(SessionMeta {
        id: row["id"].as_str()?.parse().ok()?,
        title: row["title"].as_str().map(str::to_owned),
        root: row["root"].as_str()?.into(),
        model: super::text(row, "model"),
        created: Time(row["created_ms"].as_u64()?),
        updated: Time(row["updated_ms"].as_u64()?),
        totals: Totals {
            cost: Cost::from_usd(row["cost_usd"].as_f64().unwrap_or_default()),
            ..Totals::default()
        },
        items: row["items"].as_u64()?,
        parent: None,
    })
}

/// A request, as far as the API describes it; `None` if the form is unknown.
pub(super) fn request_record(row: &Value) -> Option<RequestRecord> {
    let count = |row: &Value, key: &str| row[key].as_u64().unwrap_or_default();
    let section = |section: &Value| LedgerSection {
        name: super::text(section, "name"),
        bytes: 0,
        tokens: count(section, "tokens"),
        cached: count(section, "cached"),
    };
    let outcome = match row["outcome"].as_str()? {
        "applied" => RequestEnd::Applied,
        "rejected" => RequestEnd::Rejected,
        "interrupted" => RequestEnd::Interrupted,
        "failed" => RequestEnd::Failed { error: String::new() },
        _ => RequestEnd::Finished(Stop::End),
    };
    Some(RequestRecord {
        id: row["id"].as_str()?.parse::<RequestId>().ok()?,
        item: row["item"].as_str().and_then(|item| item.parse().ok()),
        purpose: super::text(row, "purpose"),
        model: super::text(row, "model"),
        attempt: 1,
        at: Time(row["at_ms"].as_u64()?),
        first_chunk: None,
        total: count(row, "total_ms"),
        usage: Usage {
            input: count(row, "input"),
            cache_read: count(row, "cache_read"),
            cache_write: count(row, "cache_write"),
            output: count(row, "output"),
            ..Usage::default()
        },
        cost: row["cost_usd"].as_f64().map(Cost::from_usd),
        outcome,
        sections: row["sections"].as_array()?.iter().map(section).collect(),
        prompt: None,
        facts: RequestFacts::default(),
    })
}
