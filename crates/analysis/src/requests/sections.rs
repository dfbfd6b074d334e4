//! The sections of requests, cache hits and causes of misses.

use super::rebuild::rebuild;
use super::{SessionRequests, TURN, prices};
use crate::output::format::{dollars, rfc3339, sanitise};
use crate::output::table::{self, ColumnAlign};
use prompt::tokens::{ExactTokenizer, TokenizerFamily};
use serde_json::{Value, json};
use session::{PromptDifference, PromptRecord, RequestRecord};
use std::collections::HashMap;

/// The sections of a session's requests: of the selected one, or of all.
pub struct RequestSections<'a> {
    session: &'a SessionRequests,
    counted: Option<TokenizerCounts>,
}

impl<'a> RequestSections<'a> {
    /// Counts the sections of the selected request with its model's tokenizer, if possible.
    pub async fn load(session: &'a SessionRequests) -> RequestSections<'a> {
        let counted = counted(session, session.chosen()).await;
        RequestSections { session, counted }
    }

    /// Tables: without a selected request, one with a line for each request comes first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.session.chosen.is_none() {
            text.push_str(&overview(self.session));
            text.push('\n');
        }
        text.push_str(&sections(self.session, self.session.chosen(), self.counted.as_ref()));
        sanitise(&text)
    }

    /// The selected request, or a list of all.
    pub fn json(&self) -> Value {
        match self.session.chosen {
            Some(index) => as_json(self.session, index, self.counted.as_ref()),
            None => (0..self.session.requests.len())
                .map(|index| as_json(self.session, index, None))
                .collect(),
        }
    }
}

/// Exact token counts of the sections of a request.
#[derive(Debug)]
struct TokenizerCounts {
    /// The name of the tokenizer.
    by: &'static str,
    sections: HashMap<String, u64>,
}

/// Counts the sections of a request with the model's tokenizer, if that is public and the request is stored completely. The
/// tables are decompressed on demand.
async fn counted(session: &SessionRequests, index: usize) -> Option<TokenizerCounts> {
    let record = session.requests.get(index)?;
    let family = TokenizerFamily::of_id(&record.model);
    let by = family.tokenizer()?;
    let request = rebuild(session, index).await.ok()?;
    let exact = ExactTokenizer::load(family)?;
    let sections = prompt::Ledger::exact_counts(&request, &record.model, &exact).into_iter();
    let sections = sections.map(|(name, tokens)| match record.purpose.as_str() {
        TURN => (name, tokens),
        purpose => (format!("{purpose}/{name}"), tokens),
    });
    Some(TokenizerCounts {
        by,
        sections: sections.collect(),
    })
}

/// One line for each request.
fn overview(session: &SessionRequests) -> String {
    let columns = [
        ("REQUEST", ColumnAlign::Right),
        ("PROMPT", ColumnAlign::Right),
        ("EXPECTED CACHED", ColumnAlign::Right),
        ("CACHED", ColumnAlign::Right),
        ("REPLY", ColumnAlign::Right),
        ("PRICE", ColumnAlign::Right),
        ("SINCE THE LAST REQUEST", ColumnAlign::Left),
    ];
    let row = |(index, record): (usize, &RequestRecord)| {
        vec![
            session.number(index),
            record.usage.prompt_tokens().to_string(),
            record.prompt.as_ref().map(expected).unwrap_or_default(),
            record.usage.cache_read.to_string(),
            record.usage.output.to_string(),
            record.cost.map(dollars).unwrap_or_default(),
            record
                .prompt
                .as_ref()
                .map_or_else(|| "in flight when hew was killed".into(), since),
        ]
    };
    let rows: Vec<Vec<String>> = session.requests.iter().enumerate().map(row).collect();
    table::render(&columns, &rows)
}

/// The sections of one request.
fn sections(session: &SessionRequests, index: usize, counted: Option<&TokenizerCounts>) -> String {
    let record = &session.requests[index];
    let prices = prices(record);
    let mut columns = vec![
        ("SECTION", ColumnAlign::Left),
        ("TOKENS", ColumnAlign::Right),
        ("EXPECTED CACHED", ColumnAlign::Right),
        ("PRICE", ColumnAlign::Right),
    ];
    columns.extend(counted.map(|counted| (counted.by, ColumnAlign::Right)));
    let own = |name: &str| -> Option<String> {
        let tokens = counted?.sections.get(name).copied().unwrap_or(0);
        Some(tokens.to_string())
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (at, section) in record.sections.iter().enumerate() {
        let mut row = vec![
            section.name.clone(),
            section.tokens.to_string(),
            section.cached.to_string(),
            prices.as_ref().map(|prices| dollars(prices[at])).unwrap_or_default(),
        ];
        row.extend(own(&section.name));
        rows.push(row);
    }
    let mut reply = vec![
        "reply".into(),
        record.usage.output.to_string(),
        String::new(),
        reply_price(record),
    ];
    reply.extend(counted.map(|_| String::new()));
    rows.push(reply);
    let expected = record.prompt.as_ref().map(expected).unwrap_or_default();
    let mut text = format!(
        "Request {} of {}, {}, {}\n\n",
        session.name(index),
        session.turns,
        record.model,
        rfc3339(record.at)
    );
    text.push_str(&table::render(&columns, &rows));
    let word = if record.usage.estimated {
        "estimated"
    } else {
        "as the provider counted"
    };
    if record.prompt.is_none() {
        let tokens = record.usage.prompt_tokens();
        text.push_str(&format!(
            "\n{tokens} prompt tokens ({word}). The request was in flight when hew was killed.\n"
        ));
        return text;
    }
    text.push_str(&format!(
        "\n{} prompt tokens ({word}): {} from the cache, {expected} expected; {} newly cached.\n",
        record.usage.prompt_tokens(),
        record.usage.cache_read,
        record.usage.cache_write + record.usage.cache_write_1h,
    ));
    if let Some(prompt) = &record.prompt {
        text.push_str(&format!("{}\n", sentence(prompt)));
        if prompt.is_estimate {
            text.push_str(
                "The expected cache hit is an estimate: the provider has not reported the size of this prefix, or its figures \
                 are inconsistent.\n",
            );
        }
    }
    if let Some(counted) = counted {
        let all: u64 = counted.sections.values().sum();
        text.push_str(&format!(
            "By the model's own tokenizer ({}) its texts have {all} tokens; the rest is added by the provider.\n",
            counted.by
        ));
    }
    if let Some(cost) = record.cost {
        text.push_str(&format!("It cost {}.\n", dollars(cost)));
    }
    text
}

/// The tokens that the cache was expected to hold.
fn expected(prompt: &PromptRecord) -> String {
    match prompt.is_estimate {
        true => format!("~{}", prompt.cached),
        false => prompt.cached.to_string(),
    }
}

fn reply_price(record: &RequestRecord) -> String {
    let paid = record.prompt.as_ref().and_then(|prompt| prompt.cost);
    match (record.cost, paid) {
        (Some(cost), Some(paid)) => dollars(model::Cost {
            nano_usd: (cost.nano_usd - paid.cached.nano_usd - paid.fresh.nano_usd).max(0),
        }),
        _ => String::new(),
    }
}

/// The cache result as a table cell.
fn since(prompt: &PromptRecord) -> String {
    prompt.difference.describe()
}

/// The same, for one request.
fn sentence(prompt: &PromptRecord) -> String {
    match &prompt.difference {
        PromptDifference::First => "First request: no cache hit expected.".into(),
        PromptDifference::Extends => "Extends the previous request: the cached prefix is intact.".into(),
        PromptDifference::At { byte, part } => {
            format!("Identical to the previous request up to byte {byte}, then: {part}.")
        }
        PromptDifference::CacheExpired { reason: why } => format!("It extends the request before it, but {why}."),
    }
}

fn as_json(session: &SessionRequests, index: usize, counted: Option<&TokenizerCounts>) -> Value {
    let record = &session.requests[index];
    let prices = prices(record);
    let price = |at: usize| prices.as_ref().map(|prices| prices[at].usd());
    let sections = record.sections.iter().enumerate().map(|(at, section)| {
        json!({
            "name": section.name,
            "bytes": section.bytes,
            "tokens": section.tokens,
            "expected_cached": section.cached,
            "cost_usd": price(at),
            "counted": counted.map(|counted| counted.sections.get(&section.name).copied().unwrap_or(0)),
        })
    });
    let difference = record.prompt.as_ref().map(|prompt| match &prompt.difference {
        PromptDifference::First => json!({"kind": "first"}),
        PromptDifference::Extends => json!({"kind": "extends"}),
        PromptDifference::At { byte, part } => json!({"kind": "changed", "byte": byte, "part": part}),
        PromptDifference::CacheExpired { reason: why } => json!({"kind": "lost", "why": why}),
    });
    json!({
        "request": session.name(index),
        "purpose": record.purpose,
        "id": record.id.to_string(),
        "item": record.item.map(|item| item.to_string()),
        "model": record.model,
        "at": rfc3339(record.at),
        "attempt": record.attempt,
        "outcome": record.outcome.name(),
        "detail": record.outcome.detail(),
        "prompt_tokens": record.usage.prompt_tokens(),
        "expected_cached": record.prompt.as_ref().map(|prompt| prompt.cached),
        "expected_is_estimate": record.prompt.as_ref().is_some_and(|prompt| prompt.is_estimate),
        "tokenizer": counted.map(|counted| counted.by),
        "cache_read": record.usage.cache_read,
        "cache_write": record.usage.cache_write + record.usage.cache_write_1h,
        "output_tokens": record.usage.output,
        "estimated": record.usage.estimated,
        "cost_usd": record.cost.map(model::Cost::usd),
        "difference": difference,
        "sections": sections.collect::<Vec<_>>(),
    })
}
