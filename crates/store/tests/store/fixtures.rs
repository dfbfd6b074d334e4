//! Test data: sessions, items, drafts, records.

use model::{Breakpoint, CallId, Chunk, ChunkPart, Cost, Message, Part, ReplayData, Stop, Usage};
use serde_json::json;
use session::{
    Body, Change, Item, ItemId, LedgerSection, MessageRef, NewSession, PromptCost, PromptDifference, PromptRecord,
    ReplyDraft, ReplyEnd, RequestEnd, RequestId, RequestRecord, SessionId, Time,
};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const MODEL: &str = "maker/model-1";

/// A session of the project `/project`.
pub(crate) fn new_session() -> NewSession {
    NewSession {
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

/// A prompt.
pub(crate) fn prompt(parent: Option<ItemId>, text: &str) -> Arc<Item> {
    let message = Arc::new(Message::user(text));
    item(parent, 2_000, Body::Prompt { message })
}

/// A finished reply.
pub(crate) fn reply(draft: &ReplyDraft, text: &str) -> Arc<Item> {
    Arc::new(Item {
        id: draft.id,
        parent: draft.parent,
        at: Time(3_000),
        body: Body::Reply {
            message: Arc::new(Message::assistant(text)),
            model: draft.model.clone(),
            request: draft.request,
            end: ReplyEnd::Finished(Stop::End),
        },
    })
}

/// A tool result with changes.
pub(crate) fn result(parent: ItemId, changes: Vec<Change>) -> Arc<Item> {
    let part = Part::ToolResult {
        id: CallId::from("call-1"),
        name: "edit_file".into(),
        content: vec![model::Block::text("done")],
        outcome: model::ToolOutcome::Ok,
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
        exit: None,
        millis: 12,
        changes,
    };
    item(Some(parent), 4_000, body)
}

/// A reply that starts to stream.
pub(crate) fn draft(parent: Option<ItemId>) -> ReplyDraft {
    ReplyDraft {
        id: ItemId::new(),
        parent,
        model: MODEL.into(),
        request: RequestId::new(),
    }
}

/// A finished request.
pub(crate) fn record(at: u64) -> RequestRecord {
    RequestRecord {
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
        outcome: RequestEnd::Finished(Stop::End),
        sections: vec![LedgerSection {
            name: "system".into(),
            bytes: 4_096,
            tokens: 1_000,
            cached: 900,
        }],
        facts: Default::default(),
        prompt: Some(PromptRecord {
            cached: 900,
            is_estimate: false,
            difference: PromptDifference::At {
                byte: 17,
                part: "system: rules changed".into(),
            },
            base: Some(RequestId::new()),
            frame: None,
            frame_parts: Vec::new(),
            shared_messages: 3,
            messages: vec![MessageRef::Item(ItemId::new(), 0)],
            breakpoints: vec![Breakpoint::Tools, Breakpoint::Message(3)],
            cost: Some(PromptCost {
                cached: Cost { nano_usd: 1 },
                fresh: Cost { nano_usd: 2 },
            }),
        }),
    }
}

/// Chunks of a reply with thinking, text and two calls; the second call is incomplete.
pub(crate) fn streamed_chunks() -> Vec<Chunk> {
    vec![
        Chunk::Thinking("let me ".into()),
        Chunk::Thinking("see".into()),
        Chunk::Replay {
            of: ChunkPart::Thinking,
            replay: ReplayData {
                wire: "w".into(),
                data: json!("sig"),
            },
        },
        Chunk::Text("I ".into()),
        Chunk::Text("look.".into()),
        Chunk::ToolStart {
            id: "c1".into(),
            name: "grep".into(),
        },
        Chunk::ToolInput {
            id: "c1".into(),
            delta: "{\"a\"".into(),
        },
        Chunk::ToolInput {
            id: "c1".into(),
            delta: ":1}".into(),
        },
        Chunk::Replay {
            of: ChunkPart::Call("c1".into()),
            replay: ReplayData {
                wire: "w".into(),
                data: json!(7),
            },
        },
        Chunk::ToolEnd { id: "c1".into() },
        Chunk::ToolStart {
            id: "c2".into(),
            name: "grep".into(),
        },
        Chunk::ToolInput {
            id: "c2".into(),
            delta: "{".into(),
        },
        Chunk::Notice("by the way".into()),
        Chunk::Cost(Cost { nano_usd: 9 }),
    ]
}
