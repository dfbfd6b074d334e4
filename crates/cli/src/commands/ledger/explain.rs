//! `hew prompt explain`: what requests were made of, what came from the cache, and why the rest did not.

use super::again::again;
use super::{Book, TURN, prices};
use crate::args::{Global, PromptExplain};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output;
use crate::output::table::{self, Align};
use crate::output::words::{moment, money, tame};
use prompt::tokens::{Exact, Family};
use serde_json::{Value, json};
use session::{Difference, Prompt, Record};
use std::collections::HashMap;

pub(in crate::commands) async fn explain(args: &PromptExplain, global: &Global, env: &Environment) -> Result<Exit> {
    let book = Book::open(args.request.as_deref(), global, env).await?;
    let counted = counted(&book, book.chosen()).await;
    if args.json {
        let value = match book.chosen {
            Some(place) => as_json(&book, place, counted.as_ref()),
            None => (0..book.requests.len())
                .map(|place| as_json(&book, place, None))
                .collect(),
        };
        output::deliver(&output::pretty(&value)?)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    if book.chosen.is_none() {
        text.push_str(&overview(&book));
        text.push('\n');
    }
    text.push_str(&sections(&book, book.chosen(), counted.as_ref()));
    output::deliver(&tame(&text))?;
    Ok(Exit::Done)
}

/// What the tokenizer of a model says about the sections of a request.
struct Counted {
    /// What the tokenizer is called.
    by: &'static str,
    sections: HashMap<String, u64>,
}

/// Counts the sections of a request by the model's own tokenizer, where that is public and the request is kept whole. The tables
/// are unpacked only here, where a person asks.
async fn counted(book: &Book, place: usize) -> Option<Counted> {
    let record = book.requests.get(place)?;
    let family = Family::of_id(&record.model);
    let by = family.tokenizer()?;
    let request = again(book, place).await.ok()?;
    let exact = Exact::load(family)?;
    let sections = prompt::Ledger::counted(&request, &record.model, &exact).into_iter();
    let sections = sections.map(|(name, tokens)| match record.purpose.as_str() {
        TURN => (name, tokens),
        purpose => (format!("{purpose}/{name}"), tokens),
    });
    Some(Counted {
        by,
        sections: sections.collect(),
    })
}

/// One line for each request.
fn overview(book: &Book) -> String {
    let columns = [
        ("REQUEST", Align::Right),
        ("PROMPT", Align::Right),
        ("EXPECTED CACHED", Align::Right),
        ("CACHED", Align::Right),
        ("REPLY", Align::Right),
        ("PRICE", Align::Right),
        ("SINCE THE LAST REQUEST", Align::Left),
    ];
    let row = |(place, record): (usize, &Record)| {
        vec![
            book.number(place),
            record.usage.prompt().to_string(),
            record.prompt.as_ref().map(expected).unwrap_or_default(),
            record.usage.cache_read.to_string(),
            record.usage.output.to_string(),
            record.cost.map(money).unwrap_or_default(),
            record.prompt.as_ref().map(since).unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = book.requests.iter().enumerate().map(row).collect();
    table::render(&columns, &rows)
}

/// The sections of one request.
fn sections(book: &Book, place: usize, counted: Option<&Counted>) -> String {
    let record = &book.requests[place];
    let prices = prices(record);
    let mut columns = vec![
        ("SECTION", Align::Left),
        ("TOKENS", Align::Right),
        ("EXPECTED CACHED", Align::Right),
        ("PRICE", Align::Right),
    ];
    columns.extend(counted.map(|counted| (counted.by, Align::Right)));
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
            prices.as_ref().map(|prices| money(prices[at])).unwrap_or_default(),
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
        book.name(place),
        book.turns,
        record.model,
        moment(record.at)
    );
    text.push_str(&table::render(&columns, &rows));
    let word = if record.usage.estimated {
        "estimated"
    } else {
        "as the provider counted"
    };
    text.push_str(&format!(
        "\n{} prompt tokens ({word}): {} from the cache, {expected} expected; {} newly cached.\n",
        record.usage.prompt(),
        record.usage.cache_read,
        record.usage.cache_write + record.usage.cache_write_1h,
    ));
    if let Some(prompt) = &record.prompt {
        text.push_str(&format!("{}\n", sentence(prompt)));
        if prompt.is_estimate {
            text.push_str(
                "What is expected of the cache is an estimate: the provider has counted requests that begin so, but never \
                 their beginning by itself, or its figures do not quite add up.\n",
            );
        }
    }
    if let Some(counted) = counted {
        let all: u64 = counted.sections.values().sum();
        text.push_str(&format!(
            "By the model's own tokenizer ({}) its texts have {all} tokens; the rest is what the provider puts around them.\n",
            counted.by
        ));
    }
    if let Some(cost) = record.cost {
        text.push_str(&format!("It cost {}.\n", money(cost)));
    }
    text
}

/// The tokens that the cache was expected to hold.
fn expected(prompt: &Prompt) -> String {
    match prompt.is_estimate {
        true => format!("~{}", prompt.cached),
        false => prompt.cached.to_string(),
    }
}

fn reply_price(record: &Record) -> String {
    let paid = record.prompt.as_ref().and_then(|prompt| prompt.paid);
    match (record.cost, paid) {
        (Some(cost), Some(paid)) => money(model::Cost {
            nano_usd: (cost.nano_usd - paid.cached.nano_usd - paid.fresh.nano_usd).max(0),
        }),
        _ => String::new(),
    }
}

/// What became of the cache, in a column.
fn since(prompt: &Prompt) -> String {
    prompt.difference.words()
}

/// The same, for one request.
fn sentence(prompt: &Prompt) -> String {
    match &prompt.difference {
        Difference::First => "It is the first: nothing could be expected of the cache.".into(),
        Difference::Extends => "It extends the request before it: nothing broke the cache.".into(),
        Difference::At { byte, part } => {
            format!("It is as the request before it up to byte {byte}; then: {part}.")
        }
        Difference::Lost { why } => format!("It extends the request before it, but {why}."),
    }
}

fn as_json(book: &Book, place: usize, counted: Option<&Counted>) -> Value {
    let record = &book.requests[place];
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
        Difference::First => json!({"kind": "first"}),
        Difference::Extends => json!({"kind": "extends"}),
        Difference::At { byte, part } => json!({"kind": "changed", "byte": byte, "part": part}),
        Difference::Lost { why } => json!({"kind": "lost", "why": why}),
    });
    json!({
        "request": book.name(place),
        "purpose": record.purpose,
        "id": record.id.to_string(),
        "item": record.item.map(|item| item.to_string()),
        "model": record.model,
        "at": moment(record.at),
        "attempt": record.attempt,
        "outcome": record.outcome,
        "prompt_tokens": record.usage.prompt(),
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
