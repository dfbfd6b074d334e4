//! Makes calls that a model wrote in its text although its protocol does not expect them there.

use super::calls::CallQueue;
use super::request::receive_batch;
use crate::session::Session;
use model::{Chunk, ChunkPart, Message, Part, ReplayData, Stop};
use prompt::{CallPlacement, CallProtocol, WrittenCall};
use serde_json::Value;
use session::{Body, ItemId};

/// Adds the calls in the text of a complete reply to it. Returns the stop reason.
pub(super) async fn make_written_calls(
    session: &mut Session,
    calls: &mut CallQueue,
    id: ItemId,
    stop: Stop,
) -> Result<Stop, model::Error> {
    match &stop {
        Stop::End | Stop::ToolUse | Stop::Other { .. } => {}
        // A reply that was cut may end within a call.
        Stop::MaxTokens | Stop::Refusal { .. } => return Ok(stop),
    }
    let Some(reply) = &session.turn.reply else {
        return Ok(stop);
    };
    let message = reply.reply.clone().into_message();
    if has_calls(&message) {
        return Ok(stop);
    }
    let (protocol, has_native) = (session.turn.frame.protocol, made_native_calls(session));
    let placement = match (protocol, has_native) {
        (CallProtocol::Native, true) => CallPlacement::WholeReply,
        (CallProtocol::Native, false) | (CallProtocol::Xml, _) => CallPlacement::Anywhere,
    };
    let written = prompt::written_calls(&message.text(), &session.turn.grammar, placement);
    if written.is_empty() {
        return Ok(stop);
    }
    let request = reply.draft.request;
    let chunks = written.into_iter().enumerate();
    let chunks = chunks.flat_map(|(n, call)| chunks_of(format!("{request}-w{n}"), call));
    receive_batch(session, calls, id, chunks.map(Ok).collect()).await?;
    if protocol == CallProtocol::Native && !has_native {
        session.switch_to_text_calls("writes its tool calls as text").await;
    }
    Ok(Stop::ToolUse)
}

/// Whether the reply of a finished step is an attempt at a call that could not be understood.
pub(super) fn is_call_attempt(session: &Session) -> bool {
    let message = session.conversation.items.last().and_then(|item| item.message());
    let text = message.map(|message| message.text()).unwrap_or_default();
    prompt::resembles_call(&text, &session.turn.grammar)
}

fn has_calls(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }))
}

/// Whether the model of the session has made calls through its API.
fn made_native_calls(session: &Session) -> bool {
    let name = session.turn.model.info().name();
    let is_native = |part: &Part| match part {
        Part::ToolCall { replay, .. } => replay
            .as_ref()
            .is_none_or(|replay| replay.wire != CallProtocol::Xml.name()),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => false,
    };
    session.conversation.items.iter().any(|item| match &item.body {
        Body::Reply { message, model, .. } => *model == name && message.parts.iter().any(is_native),
        _ => false,
    })
}

fn chunks_of(id: String, call: WrittenCall) -> [Chunk; 4] {
    let id = model::CallId::from(id);
    [
        Chunk::ToolStart {
            id: id.clone(),
            name: call.name,
        },
        Chunk::ToolInput {
            id: id.clone(),
            delta: Value::Object(call.input).to_string(),
        },
        // The text of the reply already contains the call.
        Chunk::Replay {
            of: ChunkPart::Call(id.clone()),
            replay: ReplayData {
                wire: CallProtocol::Xml.name().into(),
                data: "".into(),
            },
        },
        Chunk::ToolEnd { id },
    ]
}
