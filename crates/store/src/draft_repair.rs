//! Crash repair: replies that were still streaming become items.

use crate::apply::{insert_item, is_item, record_request, unknown_session};
use crate::error::StoreError;
use crate::read;
use crate::row;
use crate::sql_value::{IdValue, from_sql};
use model::{Part, Reply};
use rusqlite::{Connection, OptionalExtension, params};
use session::{Body, Item, ItemId, ReplyEnd, RequestEnd, RequestFacts, RequestId, RequestRecord, SessionId, Time};
use std::sync::Arc;

/// An estimate for replies without reported usage.
const BYTES_PER_TOKEN: u64 = 4;

/// The stored part of a reply.
struct DraftRemains {
    id: ItemId,
    parent: Option<ItemId>,
    model: String,
    request: RequestId,
    began: Time,
    ended: Time,
    reply: Reply,
}

/// Turns every draft of the session into an item, and records the usage of its request as far as known.
pub(crate) fn repair(connection: &Connection, session: SessionId) -> Result<(), StoreError> {
    let head: Option<Option<IdValue>> = connection
        .prepare_cached("SELECT head FROM sessions WHERE id = ?1")?
        .query_row([IdValue(session.0)], |row| row.get(0))
        .optional()?;
    let Some(head) = head else {
        return Err(unknown_session(session));
    };
    let mut head = head.map(|key| ItemId(key.0));
    for remains in drafts(connection, session)? {
        if is_item(connection, session, remains.id)? {
            continue;
        }
        if let Some(record) = remains.record() {
            record_request(connection, session, &record)?;
        }
        let parent = match remains.parent {
            Some(parent) if !is_item(connection, session, parent)? => head,
            parent => parent,
        };
        if let Some(item) = remains.into_item(parent) {
            insert_item(connection, session, &item)?;
            head = Some(item.id);
        }
    }
    connection
        .prepare_cached("DELETE FROM drafts WHERE session = ?1")?
        .execute(params![IdValue(session.0)])?;
    Ok(())
}

/// The records of the requests that a repair would record.
pub(crate) fn records(connection: &Connection, session: SessionId) -> Result<Vec<RequestRecord>, StoreError> {
    let mut records = Vec::new();
    for remains in drafts(connection, session)? {
        if !is_item(connection, session, remains.id)? {
            records.extend(remains.record());
        }
    }
    Ok(records)
}

fn drafts(connection: &Connection, session: SessionId) -> Result<Vec<DraftRemains>, StoreError> {
    let mut all: Vec<DraftRemains> = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT id, parent, model, request, at, chunks FROM drafts WHERE session = ?1 ORDER BY id, seq",
    )?;
    let mut rows = statement.query([IdValue(session.0)])?;
    while let Some(row) = rows.next()? {
        let id = ItemId(row.get::<_, IdValue>(0)?.0);
        let at = Time(from_sql(row.get(4)?));
        if all.last().is_none_or(|last| last.id != id) {
            all.push(DraftRemains {
                id,
                parent: row.get::<_, Option<IdValue>>(1)?.map(|key| ItemId(key.0)),
                model: row.get(2)?,
                request: RequestId(row.get::<_, IdValue>(3)?.0),
                began: at,
                ended: at,
                reply: Reply::default(),
            });
        }
        let json = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
        let chunks = row::decode_chunks(json).map_err(|error| read::decode_error(5, error))?;
        if let Some(remains) = all.last_mut() {
            remains.ended = at;
            chunks.into_iter().for_each(|chunk| remains.reply.push(chunk));
        }
    }
    Ok(all)
}

fn text_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
        Part::ToolCall { input, .. } => input.to_string().len(),
        Part::ToolResult { .. } | Part::Media(_) => 0,
    }
}

impl DraftRemains {
    /// The record of a request that was not recorded before the crash.
    fn record(&self) -> Option<RequestRecord> {
        let mut usage = self.reply.usage?;
        if usage.estimated {
            let message = self.reply.clone().into_message();
            let bytes: usize = message.parts.iter().map(text_bytes).sum();
            usage.output = usage.output.max((bytes as u64).div_ceil(BYTES_PER_TOKEN));
        }
        Some(RequestRecord {
            id: self.request,
            item: Some(self.id),
            purpose: "turn".into(),
            model: self.model.clone(),
            attempt: 1,
            at: self.began,
            first_chunk: None,
            total: self.ended.0.saturating_sub(self.began.0),
            usage,
            cost: self.reply.cost,
            outcome: RequestEnd::Interrupted,
            sections: Vec::new(),
            prompt: None,
            facts: RequestFacts::default(),
        })
    }

    /// The resulting item; `None` if the reply is empty.
    fn into_item(self, parent: Option<ItemId>) -> Option<Item> {
        // A reply with a stop reason is complete, even if the process died before it was appended.
        let end = self
            .reply
            .stop
            .clone()
            .map_or(ReplyEnd::Interrupted, ReplyEnd::Finished);
        let message = self.reply.into_message();
        if message.parts.is_empty() {
            return None;
        }
        Some(Item {
            id: self.id,
            parent,
            at: self.ended,
            body: Body::Reply {
                message: Arc::new(message),
                model: self.model,
                request: self.request,
                end,
            },
        })
    }
}
