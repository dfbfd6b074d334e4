//! `hew prompt explain`: what requests were made of, what came from the cache, and why the rest did not.

use super::{Book, prices};
use crate::args::{Global, PromptExplain};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output;
use crate::output::table::{self, Align};
use crate::output::words::{moment, money, tame};
use serde_json::{Value, json};
use session::{Difference, Prompt, Record};

pub(in crate::commands) async fn explain(args: &PromptExplain, global: &Global, env: &Environment) -> Result<Exit> {
    let book = Book::open(args.request.as_deref(), global, env).await?;
    if args.json {
        let value = match book.chosen {
            Some(place) => as_json(&book, place),
            None => (0..book.requests.len()).map(|place| as_json(&book, place)).collect(),
        };
        output::deliver(&output::pretty(&value)?)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    if book.chosen.is_none() {
        text.push_str(&overview(&book));
        text.push('\n');
    }
    text.push_str(&sections(&book, book.chosen()));
    output::deliver(&tame(&text))?;
    Ok(Exit::Done)
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
            (place + 1).to_string(),
            record.usage.prompt().to_string(),
            record.prompt.as_ref().map_or(0, |prompt| prompt.cached).to_string(),
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
fn sections(book: &Book, place: usize) -> String {
    let record = &book.requests[place];
    let prices = prices(record);
    let columns = [
        ("SECTION", Align::Left),
        ("TOKENS", Align::Right),
        ("EXPECTED CACHED", Align::Right),
        ("PRICE", Align::Right),
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (at, section) in record.sections.iter().enumerate() {
        rows.push(vec![
            section.name.clone(),
            section.tokens.to_string(),
            section.cached.to_string(),
            prices.as_ref().map(|prices| money(prices[at])).unwrap_or_default(),
        ]);
    }
    rows.push(vec![
        "reply".into(),
        record.usage.output.to_string(),
        String::new(),
        reply_price(record),
    ]);
    let expected = record.prompt.as_ref().map_or(0, |prompt| prompt.cached);
    let mut text = format!(
        "Request {} of {}, {}, {}\n\n",
        book.name(place),
        book.requests.len(),
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
    }
    if let Some(cost) = record.cost {
        text.push_str(&format!("It cost {}.\n", money(cost)));
    }
    text
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

fn as_json(book: &Book, place: usize) -> Value {
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
        "id": record.id.to_string(),
        "item": record.item.map(|item| item.to_string()),
        "model": record.model,
        "at": moment(record.at),
        "attempt": record.attempt,
        "outcome": record.outcome,
        "prompt_tokens": record.usage.prompt(),
        "expected_cached": record.prompt.as_ref().map(|prompt| prompt.cached),
        "cache_read": record.usage.cache_read,
        "cache_write": record.usage.cache_write + record.usage.cache_write_1h,
        "output_tokens": record.usage.output,
        "estimated": record.usage.estimated,
        "cost_usd": record.cost.map(model::Cost::usd),
        "difference": difference,
        "sections": sections.collect::<Vec<_>>(),
    })
}
