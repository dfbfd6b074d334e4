//! Writes the messages: the system prompt, merged turns, cache breakpoints and the order that strict servers require.

use super::message_form::{ChatMessageForm, UserContent, render};
use crate::presets::{Quirks, SchemaStyle, SystemRole};
use crate::prompt_size::{block_size, joined_len, text_part_len};
use crate::settings::ProviderSettings;
use crate::wire::BodyWriter;
use crate::wire_cache::{MessageSpan, WireCache};
use bytes::Bytes;
use model::{Breakpoint, Info, Message, Request};
use serde_json::json;

const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}}";

/// The message between a tool result or the system prompt and a user message, for servers that require one.
const BRIDGE: &str = "{\"role\":\"assistant\",\"content\":\"Understood.\"}";

/// Writes all messages, comma-separated.
pub(super) fn write(
    pieces: &mut BodyWriter,
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) {
    let quirks = &settings.quirks;
    let marks = quirks.cache_marks.applies_to(&info.id);
    let breakpoints = if marks { &request.breakpoints[..] } else { &[] };
    let before = if write_system(pieces, request, quirks, marks) {
        ","
    } else {
        ""
    };
    if !request.system.is_empty() {
        let sections = request.system.iter().map(|section| &**section);
        cache.system(&request.system, || {
            block_size("system", text_part_len(joined_len(sections)))
        });
    }
    let form = |before: Option<&Bytes>, message: &Message| render(before, message, info, quirks, notices);
    let turns = |pieces: &mut BodyWriter, span: &MessageSpan<'_>| write_turns(pieces, turns(span, quirks, breakpoints));
    cache.write(pieces, before, &request.messages, breakpoints, form, turns);
}

/// Writes turns, comma-separated.
fn write_turns(pieces: &mut BodyWriter, turns: Vec<ChatTurn>) {
    for (nth, turn) in turns.into_iter().enumerate() {
        if nth > 0 {
            pieces.push_raw(",");
        }
        match turn {
            ChatTurn::Whole {
                form,
                marked: CacheMark::No,
            } => pieces.push_shared(form),
            ChatTurn::Whole {
                form,
                marked: CacheMark::Yes,
            } => write_marked_message(pieces, form),
            ChatTurn::Bridge => pieces.push_raw(BRIDGE),
            ChatTurn::User(run) => write_user(pieces, run),
        }
    }
}

/// Writes the system prompt and returns whether there is one.
fn write_system(pieces: &mut BodyWriter, request: &Request, quirks: &Quirks, marks: bool) -> bool {
    let mut sections: Vec<(&str, bool)> = Vec::new();
    for (index, section) in request.system.iter().enumerate() {
        let marked = marks && request.breakpoints.contains(&Breakpoint::System(index));
        sections.push((section, marked));
    }
    let schema = request
        .output_schema
        .as_ref()
        .filter(|_| quirks.schema == SchemaStyle::JsonObject);
    let wish = schema.map(|schema| {
        format!(
            "Reply with one JSON object that follows this schema:\n{}",
            schema.schema
        )
    });
    sections.extend(wish.as_deref().map(|wish| (wish, false)));
    if sections.is_empty() {
        return false;
    }
    pieces.push_raw(match quirks.system_role {
        SystemRole::System => "{\"role\":\"system\",\"content\":",
        SystemRole::User => "{\"role\":\"user\",\"content\":",
    });
    if sections.iter().any(|(_, marked)| *marked) {
        let part = |(text, marked): &(&str, bool)| match marked {
            true => json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
            false => json!({"type": "text", "text": text}),
        };
        pieces.push_json(&sections.iter().map(part).collect::<Vec<_>>());
    } else {
        let texts: Vec<&str> = sections.iter().map(|(text, _)| *text).collect();
        pieces.push_json(&texts.join("\n\n"));
    }
    pieces.push_raw("}");
    if quirks.system_role == SystemRole::User {
        pieces.push_raw(",");
        pieces.push_raw(BRIDGE);
    }
    true
}

/// One or several wire messages.
enum ChatTurn {
    /// Complete messages.
    Whole { form: Bytes, marked: CacheMark },
    /// The user's content in adjacent messages: one message on the wire.
    User(Vec<(UserContent, CacheMark)>),
    /// An assistant message that has to precede the user's.
    Bridge,
}

/// Whether the last message has a cache breakpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CacheMark {
    Yes,
    No,
}

fn turns(span: &MessageSpan<'_>, quirks: &Quirks, marks: &[Breakpoint]) -> Vec<ChatTurn> {
    let mut turns: Vec<ChatTurn> = Vec::new();
    let mut after_tool = false;
    for (index, message, packed) in span.non_empty() {
        let form = ChatMessageForm::unpack(packed);
        let mark = marks.contains(&Breakpoint::Message(index));
        let marked = if mark { CacheMark::Yes } else { CacheMark::No };
        let user = match &form.user {
            UserContent::Text(user) | UserContent::Parts(user) => !user.is_empty(),
        };
        if !form.messages.is_empty() {
            after_tool = message.role == model::Role::User;
            let marked = if user { CacheMark::No } else { marked };
            turns.push(ChatTurn::Whole {
                form: form.messages,
                marked,
            });
        }
        if !user {
            continue;
        }
        if std::mem::take(&mut after_tool) && quirks.bridge_tools {
            turns.push(ChatTurn::Bridge);
        }
        match turns.last_mut() {
            Some(ChatTurn::User(run)) => run.push((form.user, marked)),
            Some(ChatTurn::Whole { .. } | ChatTurn::Bridge) | None => {
                turns.push(ChatTurn::User(vec![(form.user, marked)]))
            }
        }
    }
    turns
}

/// Writes adjacent user messages as one: as plain text if possible, because some servers accept nothing else.
fn write_user(pieces: &mut BodyWriter, run: Vec<(UserContent, CacheMark)>) {
    let plain =
        |(user, marked): &(UserContent, CacheMark)| matches!(user, UserContent::Text(_)) && *marked == CacheMark::No;
    pieces.push_raw("{\"role\":\"user\",\"content\":");
    if run.iter().all(plain) {
        pieces.push_raw("\"");
        for (index, (user, _)) in run.into_iter().enumerate() {
            if index > 0 {
                pieces.push_raw("\\n\\n");
            }
            match user {
                UserContent::Text(text) | UserContent::Parts(text) => pieces.push_shared(text),
            }
        }
        pieces.push_raw("\"}");
        return;
    }
    pieces.push_raw("[");
    for (index, (user, marked)) in run.into_iter().enumerate() {
        if index > 0 {
            pieces.push_raw(",");
        }
        match (user, marked) {
            (UserContent::Text(text), marked) => {
                pieces.push_raw("{\"type\":\"text\",\"text\":\"");
                pieces.push_shared(text);
                pieces.push_raw("\"");
                pieces.push_raw(if marked == CacheMark::Yes { MARK } else { "}" });
            }
            (UserContent::Parts(parts), CacheMark::No) => pieces.push_shared(parts),
            (UserContent::Parts(parts), CacheMark::Yes) => write_marked_object(pieces, parts),
        }
    }
    pieces.push_raw("]}");
}

/// Writes complete messages and marks the last one: a tool result in its text, as the gateways document it.
fn write_marked_message(pieces: &mut BodyWriter, form: Bytes) {
    // Quotes in a JSON string are escaped, so this can only be the last message's own key.
    const KEY: &[u8] = b"\",\"content\":\"";
    let result = form.starts_with(b"{\"role\":\"tool\"");
    let Some(key) = memchr::memmem::rfind(&form, KEY).filter(|_| result) else {
        return write_marked_object(pieces, form);
    };
    let text = key + KEY.len() - 1;
    let end = form.len().saturating_sub(1);
    pieces.push_shared(form.slice(..text));
    pieces.push_raw("[{\"type\":\"text\",\"text\":");
    pieces.push_shared(form.slice(text..end));
    pieces.push_raw(MARK);
    pieces.push_raw("]}");
}

/// Writes objects and marks the last one.
fn write_marked_object(pieces: &mut BodyWriter, form: Bytes) {
    let end = form.len().saturating_sub(1);
    pieces.push_shared(form.slice(..end));
    pieces.push_raw(MARK);
}
