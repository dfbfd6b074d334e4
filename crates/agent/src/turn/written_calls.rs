//! Makes calls that a model wrote in its text although its protocol does not expect them there.

use super::calls::CallQueue;
use super::request::receive_batch;
use crate::session::Session;
use model::{CallId, Chunk, ChunkPart, Message, Part, ReplayData, Stop};
use prompt::{CallPlacement, CallProtocol, WrittenCall};
use serde_json::Value;
use session::{Body, ItemId, ItemKind};

/// The tool that runs commands.
const COMMAND_TOOL: &str = "terminal";

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
        (CallProtocol::Xml, _) if made_tagged_calls(session) => CallPlacement::OutsideBlocks,
        (CallProtocol::Native, false) | (CallProtocol::Xml, _) => CallPlacement::Anywhere,
    };
    let mut written = prompt::written_calls(&message.text(), &session.turn.grammar, placement);
    let is_direct = written.is_empty() && session.turn.model.info().is_small();
    if is_direct {
        written = written_changes(session, &message.text());
        // The model sees the output of its commands.
        session.turn.wrote_edits = !written.is_empty() && written.iter().all(|call| call.name != COMMAND_TOOL);
    }
    if written.is_empty() {
        return Ok(stop);
    }
    let request = reply.draft.request;
    let chunks = written.into_iter().enumerate();
    let chunks = chunks.flat_map(|(n, call)| {
        let id = match is_direct {
            true => prompt::direct_call_id(&request.to_string(), n),
            false => CallId::from(format!("{request}-w{n}")),
        };
        chunks_of(id, call)
    });
    receive_batch(session, calls, id, chunks.map(Ok).collect()).await?;
    if protocol == CallProtocol::Native && !has_native && !is_direct {
        session.switch_to_text_calls("writes its tool calls as text").await;
    }
    Ok(Stop::ToolUse)
}

/// The calls for the edits that a small model wrote in its reply, followed by those for its commands.
fn written_changes(session: &Session, text: &str) -> Vec<WrittenCall> {
    let changes = prompt::written_changes(text);
    let mut calls = changes.edits;
    calls.extend(changes.commands);
    if calls.is_empty() {
        calls = prompt::edits_of_only_file(&changes.unnamed, &session.turn.shown_files, &last_prompt(session));
    }
    calls.retain(|call| session.env.config.tools.get(&call.name).is_some());
    calls
}

/// The text of the user's last prompt.
fn last_prompt(session: &Session) -> String {
    let mut items = session.conversation.items.iter().rev();
    let prompt = items.find(|item| item.kind() == ItemKind::Prompt);
    prompt
        .and_then(|item| item.message())
        .map(|message| message.text())
        .unwrap_or_default()
}

/// Whether the reply of a finished step is code of a small model that names no file, although no file was changed.
pub(super) fn is_unnamed_code(session: &Session) -> bool {
    let message = session.conversation.items.last().and_then(|item| item.message());
    let text = message.map(|message| message.text()).unwrap_or_default();
    let can_write = session.turn.frame.tools.iter().any(|tool| tool.name == "write_file");
    session.turn.model.info().is_small() && can_write && !prompt::written_changes(&text).unnamed.is_empty()
}

/// Whether the reply of a finished step only repeats the task, as small models do that do not know an answer.
pub(super) fn is_echo(session: &Session) -> bool {
    let message = session.conversation.items.last().and_then(|item| item.message());
    let text = message.map(|message| message.text()).unwrap_or_default();
    let items = session.conversation.items.iter();
    let prompts = items.filter(|item| item.kind() == ItemKind::Prompt);
    let mut prompts = prompts.filter_map(|item| item.message());
    session.turn.model.info().is_small() && prompts.any(|prompt| prompt::repeats_task(&text, &prompt.text()))
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
    made_calls(session, |replay| {
        replay.is_none_or(|replay| replay.wire != CallProtocol::Xml.name())
    })
}

/// Whether the model of the session has written calls in tags outside of code blocks. Other calls in its text have no data.
fn made_tagged_calls(session: &Session) -> bool {
    made_calls(session, |replay| {
        replay.is_some_and(|replay| replay.wire == CallProtocol::Xml.name() && replay.data != "")
    })
}

fn made_calls(session: &Session, is_such: impl Fn(Option<&ReplayData>) -> bool) -> bool {
    let name = session.turn.model.info().name();
    let is_such = |part: &Part| match part {
        Part::ToolCall { replay, .. } => is_such(replay.as_ref()),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => false,
    };
    session.conversation.items.iter().any(|item| match &item.body {
        Body::Reply { message, model, .. } => *model == name && message.parts.iter().any(is_such),
        _ => false,
    })
}

fn chunks_of(id: CallId, call: WrittenCall) -> [Chunk; 4] {
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
