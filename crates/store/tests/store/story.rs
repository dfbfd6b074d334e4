//! What the stories are made of: sessions, items, drafts, records.

use model::{Breakpoint, CallId, Cost, Message, Part, Stop, Usage};
use session::{
    Body, Change, Difference, Draft, End, Item, ItemId, New, Paid, Prompt, Record, RequestId, Said, Section, SessionId,
    Time,
};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const MODEL: &str = "maker/model-1";

/// A session of the project `/project`.
pub(crate) fn new_session() -> New {
    New {
        id: SessionId::new(),
        root: PathBuf::from("/project"),
        model: MODEL.into(),
        at: Time(1_000),
        parent: None,
    }
}

/// An item that follows another.
pub(crate) fn item(parent: Option<ItemId>, at: u64, body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent,
        at: Time(at),
        body,
    })
}

/// The person says something.
pub(crate) fn prompt(parent: Option<ItemId>, text: &str) -> Arc<Item> {
    let message = Arc::new(Message::user(text));
    item(parent, 2_000, Body::Prompt { message })
}

/// The model has said something.
pub(crate) fn reply(draft: &Draft, text: &str) -> Arc<Item> {
    Arc::new(Item {
        id: draft.id,
        parent: draft.parent,
        at: Time(3_000),
        body: Body::Reply {
            message: Arc::new(Message::assistant(text)),
            model: draft.model.clone(),
            request: draft.request,
            end: End::Finished(Stop::End),
        },
    })
}

/// A tool has answered, and changed files.
pub(crate) fn result(parent: ItemId, changes: Vec<Change>) -> Arc<Item> {
    let part = Part::ToolResult {
        id: CallId::from("call-1"),
        name: "edit_file".into(),
        content: vec![model::Block::text("done")],
        outcome: model::Outcome::Ok,
    };
    let body = Body::Result {
        message: Arc::new(Message {
            role: model::Role::User,
            parts: vec![part],
        }),
        call: "call-1".into(),
        tool: "edit_file".into(),
        title: "Edit a.txt".into(),
        summary: None,
        millis: 12,
        changes,
    };
    item(Some(parent), 4_000, body)
}

/// A reply that begins to stream.
pub(crate) fn draft(parent: Option<ItemId>) -> Draft {
    Draft {
        id: ItemId::new(),
        parent,
        model: MODEL.into(),
        request: RequestId::new(),
    }
}

/// A request that has been answered.
pub(crate) fn record(at: u64) -> Record {
    Record {
        id: RequestId::new(),
        item: None,
        purpose: "turn".into(),
        model: MODEL.into(),
        attempt: 1,
        at: Time(at),
        first_chunk: Some(150),
        total: 900,
        usage: Usage {
            input: 10,
            cache_read: 20,
            cache_write: 30,
            cache_write_1h: 40,
            output: 50,
            thinking: 5,
            estimated: false,
        },
        cost: Some(Cost { nano_usd: 1_234 }),
        outcome: "end".into(),
        sections: vec![Section {
            name: "system".into(),
            bytes: 4_096,
            tokens: 1_000,
            cached: 900,
        }],
        prompt: Some(Prompt {
            cached: 900,
            is_estimate: false,
            difference: Difference::At {
                byte: 17,
                part: "system: rules changed".into(),
            },
            base: Some(RequestId::new()),
            frame: None,
            frame_parts: Vec::new(),
            shared: 3,
            said: vec![Said::Item(ItemId::new(), 0)],
            marks: vec![Breakpoint::Tools, Breakpoint::Message(3)],
            paid: Some(Paid {
                cached: Cost { nano_usd: 1 },
                fresh: Cost { nano_usd: 2 },
            }),
        }),
    }
}
