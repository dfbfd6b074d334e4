//! Events, items and records of a session as JSON of the HTTP API.

use super::types::{LedgerRow, LedgerSectionRow};
use crate::json_events::{JsonEvent, JsonItem, JsonTotals, JsonTurnEnd};
use serde_json::{Value, json};
use session::{Event, Item, RequestRecord, Totals};

/// An event as JSON text.
pub(super) fn event_json(event: &Event) -> String {
    match JsonEvent::of(event) {
        // Events are plain data: serialising them does not fail.
        Some(event) => serde_json::to_string(&event).unwrap_or_default(),
        None => event_value(event).to_string(),
    }
}

/// An event as a JSON value.
pub(super) fn event_value(event: &Event) -> Value {
    if let Event::TurnFinished { ending, answer } = event {
        return json!({"type": "turn.finished", "ending": JsonTurnEnd::of(ending), "answer": answer});
    }
    let event = JsonEvent::of(event);
    event.map_or(Value::Null, |event| serde_json::to_value(&event).unwrap_or_default())
}

/// A finished item as the event of its end.
pub(super) fn item_event_json(item: &Item) -> String {
    json!({"type": "item.finished", "item": JsonItem::of(item)}).to_string()
}

/// An item.
pub(super) fn item_value(item: &Item) -> Value {
    serde_json::to_value(JsonItem::of(item)).unwrap_or_default()
}

/// Totals.
pub(super) fn totals_value(totals: &Totals) -> Value {
    serde_json::to_value(JsonTotals::of(totals)).unwrap_or_default()
}

impl LedgerRow {
    /// A request.
    pub(super) fn of(record: &RequestRecord) -> Self {
        LedgerRow {
            id: record.id.to_string(),
            item: record.item.map(|item| item.to_string()),
            purpose: record.purpose.clone(),
            model: record.model.clone(),
            at_ms: record.at.0,
            total_ms: record.total,
            input: record.usage.input,
            cache_read: record.usage.cache_read,
            cache_write: record.usage.cache_write + record.usage.cache_write_1h,
            output: record.usage.output,
            cost_usd: record.cost.map(model::Cost::usd),
            outcome: record.outcome.name().into(),
            sections: record
                .sections
                .iter()
                .map(|section| LedgerSectionRow {
                    name: section.name.clone(),
                    tokens: section.tokens,
                    cached: section.cached,
                })
                .collect(),
        }
    }
}
