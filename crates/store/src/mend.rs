//! Mending what a crash left: replies that were still streaming become items.

use crate::apply::{account, insert, is_item, unknown};
use crate::fault::Fault;
use crate::read;
use crate::row;
use crate::value::{Key, number};
use model::Reply;
use rusqlite::{Connection, OptionalExtension, params};
use session::{Body, End, Item, ItemId, Record, RequestId, SessionId, Time};
use std::sync::Arc;

/// A reply as far as it was written.
struct Remains {
    id: ItemId,
    parent: Option<ItemId>,
    model: String,
    request: RequestId,
    began: Time,
    ended: Time,
    reply: Reply,
}

/// Makes an item of every draft of the session, and an entry in the ledger for what its request is known to have cost.
pub(crate) fn mend(connection: &Connection, session: SessionId) -> Result<(), Fault> {
    let head: Option<Option<Key>> = connection
        .prepare_cached("SELECT head FROM sessions WHERE id = ?1")?
        .query_row([Key(session.0)], |row| row.get(0))
        .optional()?;
    let Some(head) = head else {
        return Err(unknown(session));
    };
    let mut head = head.map(|key| ItemId(key.0));
    for remains in drafts(connection, session)? {
        if is_item(connection, session, remains.id)? {
            continue;
        }
        if let Some(record) = remains.record() {
            account(connection, session, &record)?;
        }
        let parent = match remains.parent {
            Some(parent) if !is_item(connection, session, parent)? => head,
            parent => parent,
        };
        if let Some(item) = remains.into_item(parent) {
            insert(connection, session, &item)?;
            head = Some(item.id);
        }
    }
    connection
        .prepare_cached("DELETE FROM drafts WHERE session = ?1")?
        .execute(params![Key(session.0)])?;
    Ok(())
}

fn drafts(connection: &Connection, session: SessionId) -> Result<Vec<Remains>, Fault> {
    let mut all: Vec<Remains> = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT id, parent, model, request, at, chunks FROM drafts WHERE session = ?1 ORDER BY id, seq",
    )?;
    let mut rows = statement.query([Key(session.0)])?;
    while let Some(row) = rows.next()? {
        let id = ItemId(row.get::<_, Key>(0)?.0);
        let at = Time(number(row.get(4)?));
        if all.last().is_none_or(|last| last.id != id) {
            all.push(Remains {
                id,
                parent: row.get::<_, Option<Key>>(1)?.map(|key| ItemId(key.0)),
                model: row.get(2)?,
                request: RequestId(row.get::<_, Key>(3)?.0),
                began: at,
                ended: at,
                reply: Reply::default(),
            });
        }
        let json = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
        let chunks = row::decode_chunks(json).map_err(|error| read::unreadable(5, error))?;
        if let Some(remains) = all.last_mut() {
            remains.ended = at;
            chunks.into_iter().for_each(|chunk| remains.reply.push(chunk));
        }
    }
    Ok(all)
}

impl Remains {
    /// The tokens of a request whose process died before it could account for them.
    fn record(&self) -> Option<Record> {
        let usage = self.reply.usage?;
        Some(Record {
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
            outcome: "interrupted".into(),
            sections: Vec::new(),
            prompt: None,
        })
    }

    /// The item that it becomes; `None` where nothing worth keeping had arrived.
    fn into_item(self, parent: Option<ItemId>) -> Option<Item> {
        // A reply that had arrived whole is no less whole for its process having died before it was told so.
        let end = self.reply.stop.clone().map_or(End::Interrupted, End::Finished);
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
