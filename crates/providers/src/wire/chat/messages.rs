//! Lays out the messages: the system prompt, joined turns, cache marks and the order that strict servers want.

use super::form::{Form, Said, render};
use crate::kept::{Kept, Span};
use crate::length::{block, joined, text_part};
use crate::presets::{Quirks, SchemaStyle};
use crate::settings::Settings;
use crate::wire::Pieces;
use bytes::Bytes;
use model::{Breakpoint, Info, Message, Request};
use serde_json::json;

const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}}";

/// What stands between a tool's result and a user message where a server wants the model to speak first.
const BRIDGE: &str = "{\"role\":\"assistant\",\"content\":\"Understood.\"}";

/// Writes all messages, comma-separated.
pub(super) fn write(
    pieces: &mut Pieces,
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
) {
    let quirks = &settings.quirks;
    let marks = quirks.cache_marks.apply(&info.id);
    let breakpoints = if marks { &request.breakpoints[..] } else { &[] };
    let before = if system(pieces, request, quirks, marks) {
        ","
    } else {
        ""
    };
    if !request.system.is_empty() {
        let sections = request.system.iter().map(|section| &**section);
        kept.system(&request.system, || block("system", text_part(joined(sections))));
    }
    let form = |before: Option<&Bytes>, message: &Message| render(before, message, info, quirks, notices);
    let turns = |pieces: &mut Pieces, span: &Span<'_>| write_turns(pieces, turns(span, quirks, breakpoints));
    kept.write(pieces, before, &request.messages, breakpoints, form, turns);
}

/// Writes turns, comma-separated.
fn write_turns(pieces: &mut Pieces, turns: Vec<Turn>) {
    for (nth, turn) in turns.into_iter().enumerate() {
        if nth > 0 {
            pieces.text(",");
        }
        match turn {
            Turn::Whole {
                form,
                marked: Marked::No,
            } => pieces.share(form),
            Turn::Whole {
                form,
                marked: Marked::Yes,
            } => marked_whole(pieces, form),
            Turn::Bridge => pieces.text(BRIDGE),
            Turn::User(run) => user(pieces, run),
        }
    }
}

/// Writes the system prompt as one message and says whether there is one.
fn system(pieces: &mut Pieces, request: &Request, quirks: &Quirks, marks: bool) -> bool {
    let mut sections: Vec<(&str, bool)> = Vec::new();
    for (place, section) in request.system.iter().enumerate() {
        let marked = marks && request.breakpoints.contains(&Breakpoint::System(place));
        sections.push((section, marked));
    }
    let schema = request
        .output_schema
        .as_ref()
        .filter(|_| quirks.schema == SchemaStyle::JsonObject);
    let wish = schema.map(|schema| {
        format!(
            "Answer with one JSON object that follows this schema:\n{}",
            schema.schema
        )
    });
    sections.extend(wish.as_deref().map(|wish| (wish, false)));
    if sections.is_empty() {
        return false;
    }
    pieces.text("{\"role\":\"system\",\"content\":");
    if sections.iter().any(|(_, marked)| *marked) {
        let part = |(text, marked): &(&str, bool)| match marked {
            true => json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
            false => json!({"type": "text", "text": text}),
        };
        pieces.json(&sections.iter().map(part).collect::<Vec<_>>());
    } else {
        let texts: Vec<&str> = sections.iter().map(|(text, _)| *text).collect();
        pieces.json(&texts.join("\n\n"));
    }
    pieces.text("}");
    true
}

/// A wire message, or several that stand together.
enum Turn {
    /// Whole messages.
    Whole { form: Bytes, marked: Marked },
    /// What the person says in neighbouring messages: one message on the wire.
    User(Vec<(Said, Marked)>),
    /// The model speaks, so that the person may.
    Bridge,
}

/// Whether a cache mark stands at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    Yes,
    No,
}

fn turns(span: &Span<'_>, quirks: &Quirks, marks: &[Breakpoint]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut after_tool = false;
    for (place, message, packed) in span.spoken() {
        let form = Form::unpack(packed);
        let mark = marks.contains(&Breakpoint::Message(place));
        let marked = if mark { Marked::Yes } else { Marked::No };
        let said = match &form.said {
            Said::Text(said) | Said::Parts(said) => !said.is_empty(),
        };
        if !form.whole.is_empty() {
            after_tool = message.role == model::Role::User;
            let marked = if said { Marked::No } else { marked };
            turns.push(Turn::Whole {
                form: form.whole,
                marked,
            });
        }
        if !said {
            continue;
        }
        if std::mem::take(&mut after_tool) && quirks.bridge_tools {
            turns.push(Turn::Bridge);
        }
        match turns.last_mut() {
            Some(Turn::User(run)) => run.push((form.said, marked)),
            Some(Turn::Whole { .. } | Turn::Bridge) | None => turns.push(Turn::User(vec![(form.said, marked)])),
        }
    }
    turns
}

/// Writes neighbouring user messages as one: as plain text where that is enough, because some servers take nothing else.
fn user(pieces: &mut Pieces, run: Vec<(Said, Marked)>) {
    let plain = |(said, marked): &(Said, Marked)| matches!(said, Said::Text(_)) && *marked == Marked::No;
    pieces.text("{\"role\":\"user\",\"content\":");
    if run.iter().all(plain) {
        pieces.text("\"");
        for (place, (said, _)) in run.into_iter().enumerate() {
            if place > 0 {
                pieces.text("\\n\\n");
            }
            match said {
                Said::Text(text) | Said::Parts(text) => pieces.share(text),
            }
        }
        pieces.text("\"}");
        return;
    }
    pieces.text("[");
    for (place, (said, marked)) in run.into_iter().enumerate() {
        if place > 0 {
            pieces.text(",");
        }
        match (said, marked) {
            (Said::Text(text), marked) => {
                pieces.text("{\"type\":\"text\",\"text\":\"");
                pieces.share(text);
                pieces.text("\"");
                pieces.text(if marked == Marked::Yes { MARK } else { "}" });
            }
            (Said::Parts(parts), Marked::No) => pieces.share(parts),
            (Said::Parts(parts), Marked::Yes) => marked_object(pieces, parts),
        }
    }
    pieces.text("]}");
}

/// Writes whole messages and marks the last: a tool's result in its text, as the gateways document it.
fn marked_whole(pieces: &mut Pieces, form: Bytes) {
    // Inside a JSON string every quote is escaped, so that this can only be the last message's own key.
    const KEY: &[u8] = b"\",\"content\":\"";
    let result = form.starts_with(b"{\"role\":\"tool\"");
    let Some(key) = memchr::memmem::rfind(&form, KEY).filter(|_| result) else {
        return marked_object(pieces, form);
    };
    let text = key + KEY.len() - 1;
    let end = form.len().saturating_sub(1);
    pieces.share(form.slice(..text));
    pieces.text("[{\"type\":\"text\",\"text\":");
    pieces.share(form.slice(text..end));
    pieces.text(MARK);
    pieces.text("]}");
}

/// Writes objects and marks the last of them.
fn marked_object(pieces: &mut Pieces, form: Bytes) {
    let end = form.len().saturating_sub(1);
    pieces.share(form.slice(..end));
    pieces.text(MARK);
}
