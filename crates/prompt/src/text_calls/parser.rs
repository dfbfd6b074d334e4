//! Parses tool calls in streamed text and emits them as if the provider had sent them.
//!
//! A call is `<tool><parameter>value</parameter>…</tool>`, the same in Qwen's tags (see `syntax.rs`), or JSON in
//! `<tool_call>` (see `hermes.rs`). Text may be split anywhere. Text that only looks like a call stays text: an unknown
//! tag, a tag in inline code, a tag without a parameter. In a value only its own closing tag is significant, so that
//! code needs no escaping; in a multi-line value, the closing tag counts only if the call continues or ends after it.

use super::grammar::{CallGrammar, ParameterKind};
use super::syntax::{CallStart, CallSyntax, call_start};
use super::tags::{TagMatch, closing, opening, overlap, word};
use super::value::{ParameterValue, quoted};
use super::{RESULT, WIRE, hermes, render};
use model::{CallId, Chunk, ChunkPart, ReplayData, Stop};
use serde_json::{Map, json};
use std::sync::Arc;

/// Tags around reasoning.
const THINKING: [&str; 2] = ["think", "thinking"];

/// Parses one reply.
#[derive(Debug)]
pub struct TextCallParser {
    grammar: Arc<CallGrammar>,
    /// Prefix of call ids.
    name: String,
    calls: u32,
    state: ParserState,
    /// Input that is not classified yet.
    held: String,
    /// Trailing whitespace: it belongs to the following call, or to more text.
    space: String,
    /// The last character of the text so far.
    last: Option<char>,
    /// Whether text, a call or tagged reasoning came before.
    wrote: bool,
    ended: bool,
}

#[derive(Debug)]
enum ParserState {
    Text,
    /// Inside a tag with this name.
    Thinking(&'static str),
    /// Between the parameters of a call.
    Call(TextCall),
    Value(TextCall, ParameterValue),
    /// Inside a JSON call, with its content so far.
    Json(String),
    /// The model invents results: the rest is ignored.
    Over,
}

/// A call that is being parsed.
#[derive(Debug)]
struct TextCall {
    id: CallId,
    name: String,
    form: CallSyntax,
    /// As the model wrote it.
    raw: String,
    /// As emitted.
    json: String,
    /// Whether nothing comes before it.
    first: bool,
    /// Parameters that are emitted at the end, because they may come in several parts.
    later: Map<String, serde_json::Value>,
}

/// Classification of a `<`.
enum TagKind {
    /// Undecided.
    Open,
    /// Plain text.
    Plain,
    Thinking(&'static str),
    /// A call of this tool; its tag has this many bytes.
    Call(String, CallSyntax, usize),
    /// A JSON call.
    Json,
    /// A complete call without parameters.
    Whole(String, usize),
    Result,
}

/// The result of a parsing step.
enum ParseStep {
    /// Continue after this many bytes in this state.
    Go(usize, ParserState),
    /// Wait for more input after this many bytes.
    Wait(usize, ParserState),
}

impl TextCallParser {
    /// Creates a parser for one reply; the name makes its call ids unique.
    pub fn new(grammar: Arc<CallGrammar>, name: impl Into<String>) -> Self {
        TextCallParser {
            grammar,
            name: name.into(),
            calls: 0,
            state: ParserState::Text,
            held: String::new(),
            space: String::new(),
            last: None,
            wrote: false,
            ended: false,
        }
    }

    /// Parses a chunk of the provider and appends the resulting chunks.
    pub fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) {
        match chunk {
            Chunk::Text(text) => {
                self.held.push_str(&text);
                self.run(out);
            }
            Chunk::Stop(stop) => {
                let stop = self.finish(stop, out);
                out.push(Chunk::Stop(stop));
            }
            Chunk::Thinking(_) | Chunk::Replay { .. } | Chunk::ToolStart { .. } => {
                self.flush_text(out);
                self.wrote &= !matches!(chunk, Chunk::Thinking(_));
                out.push(chunk);
            }
            Chunk::ToolInput { .. }
            | Chunk::ToolEnd { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_)
            | Chunk::PromptSize(_) => out.push(chunk),
        }
    }

    /// Emits held-back input as text, because something else follows.
    fn flush_text(&mut self, out: &mut Vec<Chunk>) {
        if matches!(self.state, ParserState::Text) {
            let held = std::mem::take(&mut self.held);
            self.emit_text(&held, out);
            let space = std::mem::take(&mut self.space);
            if !space.is_empty() {
                out.push(Chunk::Text(space));
            }
        }
    }

    fn run(&mut self, out: &mut Vec<Chunk>) {
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        loop {
            let state = std::mem::replace(&mut self.state, ParserState::Over);
            let rest = &held[at..];
            let step = match state {
                ParserState::Text => self.text(rest, out),
                ParserState::Thinking(tag) => self.thinking(tag, rest, out),
                ParserState::Call(call) => self.call(call, rest, out),
                ParserState::Value(call, value) => self.value(call, value, rest, out),
                ParserState::Json(json) => self.json(json, rest, out),
                ParserState::Over => ParseStep::Wait(rest.len(), ParserState::Over),
            };
            match step {
                ParseStep::Go(bytes, state) => {
                    at += bytes;
                    self.state = state;
                }
                ParseStep::Wait(bytes, state) => {
                    at += bytes;
                    self.state = state;
                    break;
                }
            }
        }
        self.held.push_str(&held[at..]);
    }

    /// Ends the reply: closes open calls if that is safe. Returns the stop reason.
    fn finish(&mut self, stop: Stop, out: &mut Vec<Chunk>) -> Stop {
        self.ended = true;
        self.run(out);
        let whole = matches!(stop, Stop::End | Stop::ToolUse | Stop::Other { .. });
        match std::mem::replace(&mut self.state, ParserState::Text) {
            ParserState::Text | ParserState::Thinking(_) | ParserState::Json(_) | ParserState::Over => {}
            // It ends between parameters: only the last tag is missing.
            ParserState::Call(call) if whole => self.end(call, out),
            ParserState::Call(call) | ParserState::Value(call, _) => TextCallParser::break_off(call, out),
        }
        match stop {
            Stop::End if self.calls > 0 => Stop::ToolUse,
            stop => stop,
        }
    }

    /// Emits text except for its trailing whitespace.
    fn emit_text(&mut self, text: &str, out: &mut Vec<Chunk>) {
        let words = text.trim_end();
        if let Some(last) = words.chars().next_back() {
            let mut emitted = std::mem::take(&mut self.space);
            emitted.push_str(words);
            self.last = Some(last);
            self.wrote = true;
            out.push(Chunk::Text(emitted));
        }
        self.space.push_str(&text[words.len()..]);
    }

    fn text(&mut self, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let Some(place) = rest.find('<') else {
            self.emit_text(rest, out);
            return ParseStep::Wait(rest.len(), ParserState::Text);
        };
        self.emit_text(&rest[..place], out);
        let tag = &rest[place..];
        match self.tag(tag) {
            TagKind::Open if !self.ended => ParseStep::Wait(place, ParserState::Text),
            TagKind::Open | TagKind::Plain => {
                self.emit_text("<", out);
                ParseStep::Go(place + 1, ParserState::Text)
            }
            TagKind::Thinking(name) => ParseStep::Go(place + name.len() + 2, ParserState::Thinking(name)),
            TagKind::Result => ParseStep::Go(rest.len(), ParserState::Over),
            TagKind::Json => ParseStep::Go(place + hermes::OPEN.len(), ParserState::Json(String::new())),
            TagKind::Call(name, form, bytes) => {
                let call = self.begin(name, form, &tag[..bytes], out);
                ParseStep::Go(place + bytes, ParserState::Call(call))
            }
            TagKind::Whole(name, bytes) => {
                let call = self.begin(name, CallSyntax::Tags, &tag[..bytes], out);
                self.end(call, out);
                ParseStep::Go(place + bytes, ParserState::Text)
            }
        }
    }

    /// Classifies a text that begins with `<`.
    fn tag(&self, text: &str) -> TagKind {
        for name in THINKING {
            let tag = format!("<{name}>");
            if text.starts_with(&tag) {
                return TagKind::Thinking(name);
            }
            if tag.starts_with(text) {
                return TagKind::Open;
            }
        }
        // In inline code it is a quotation, not a call.
        let in_code = self.last == Some('`') && self.space.is_empty();
        match call_start(text) {
            CallStart::Json => return TagKind::Json,
            CallStart::Maybe => return TagKind::Open,
            CallStart::Call(name, bytes) if self.grammar.has(name) && !in_code => {
                return TagKind::Call(name.into(), CallSyntax::Function, bytes);
            }
            CallStart::Call(..) => return TagKind::Plain,
            CallStart::No => {}
        }
        let name = word(&text[1..]);
        let after = &text[1 + name.len()..];
        if after.is_empty() {
            let open = self.grammar.begins(name) || (self.calls > 0 && RESULT.starts_with(name));
            return if open { TagKind::Open } else { TagKind::Plain };
        }
        if name == RESULT && self.calls > 0 {
            return TagKind::Result;
        }
        if !self.grammar.has(name) || in_code {
            return TagKind::Plain;
        }
        let bytes = |rest: &str| text.len() - rest.len();
        let after = after.trim_start();
        if let Some(rest) = after.strip_prefix("/>") {
            return TagKind::Whole(name.into(), bytes(rest));
        }
        if after.is_empty() || after == "/" {
            return TagKind::Open;
        }
        let Some(inside) = after.strip_prefix('>') else {
            return TagKind::Plain;
        };
        let call = TagKind::Call(name.into(), CallSyntax::Tags, bytes(inside));
        let next = inside.trim_start();
        match (closing(next, name), opening(next)) {
            (TagMatch::Yes(_), _) | (_, TagMatch::Yes(_)) => call,
            (TagMatch::Maybe, _) | (_, TagMatch::Maybe) => TagKind::Open,
            (TagMatch::No, TagMatch::No) => TagKind::Plain,
        }
    }

    fn thinking(&mut self, tag: &'static str, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let end = format!("</{tag}>");
        if let Some(place) = rest.find(&end) {
            if place > 0 {
                out.push(Chunk::Thinking(rest[..place].into()));
            }
            self.wrote = true;
            let lead = std::mem::take(&mut self.space);
            out.push(Chunk::Replay {
                of: ChunkPart::Thinking,
                replay: ReplayData {
                    wire: WIRE.into(),
                    data: json!([lead, tag]),
                },
            });
            return ParseStep::Go(place + end.len(), ParserState::Text);
        }
        let kept = match self.ended {
            true => 0,
            false => overlap(rest, &end),
        };
        let emitted = rest.len() - kept;
        if emitted > 0 {
            out.push(Chunk::Thinking(rest[..emitted].into()));
        }
        ParseStep::Wait(emitted, ParserState::Thinking(tag))
    }

    fn json(&mut self, mut json: String, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let end = rest.find(hermes::CLOSE);
        let (inside, bytes) = match end {
            Some(place) => (place, place + hermes::CLOSE.len()),
            None if self.ended => (rest.len(), rest.len()),
            None => {
                let bytes = rest.len() - overlap(rest, hermes::CLOSE);
                json.push_str(&rest[..bytes]);
                return ParseStep::Wait(bytes, ParserState::Json(json));
            }
        };
        json.push_str(&rest[..inside]);
        let raw = format!("{}{json}{}", hermes::OPEN, &rest[inside..bytes]);
        match hermes::parse(&json) {
            Some((name, input)) if self.grammar.has(&name) => {
                let mut call = self.begin(name, CallSyntax::Tags, &raw, out);
                call.later = input;
                self.end(call, out);
            }
            Some(_) | None => self.emit_text(&raw, out),
        }
        ParseStep::Go(bytes, ParserState::Text)
    }

    fn begin(&mut self, name: String, form: CallSyntax, tag: &str, out: &mut Vec<Chunk>) -> TextCall {
        self.calls += 1;
        let id = CallId::from(format!("{}-{}", self.name, self.calls));
        out.push(Chunk::ToolStart {
            id: id.clone(),
            name: name.clone(),
        });
        let mut call = TextCall {
            id,
            name,
            form,
            raw: std::mem::take(&mut self.space) + tag,
            json: String::new(),
            first: !std::mem::replace(&mut self.wrote, true),
            later: Map::new(),
        };
        call.emit_input("{", out);
        call
    }

    fn call(&mut self, mut call: TextCall, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        // Text between parameters is ignored.
        let place = rest.find('<').unwrap_or(rest.len());
        call.raw.push_str(&rest[..place]);
        let rest = &rest[place..];
        if rest.is_empty() {
            return ParseStep::Wait(place, ParserState::Call(call));
        }
        match call.form.closing(rest, &call.name) {
            TagMatch::Yes(bytes) => {
                call.raw.push_str(&rest[..bytes]);
                self.end(call, out);
                return ParseStep::Go(place + bytes, ParserState::Text);
            }
            TagMatch::Maybe if !self.ended => return ParseStep::Wait(place, ParserState::Call(call)),
            TagMatch::Maybe | TagMatch::No => {}
        }
        match call_start(rest) {
            // Another call begins: the end of this one is missing.
            CallStart::Call(..) if call.form == CallSyntax::Function => {
                self.end(call, out);
                return ParseStep::Go(place, ParserState::Text);
            }
            CallStart::Maybe if call.form == CallSyntax::Function && !self.ended => {
                return ParseStep::Wait(place, ParserState::Call(call));
            }
            CallStart::Call(..) | CallStart::Json | CallStart::Maybe | CallStart::No => {}
        }
        match call.form.opening(rest) {
            (TagMatch::Yes(bytes), name) => {
                let is_call = call.form == CallSyntax::Tags && self.grammar.has(name);
                if is_call && !self.grammar.has_parameter(&call.name, name) {
                    // Another call begins: the end of this one is missing.
                    self.end(call, out);
                    return ParseStep::Go(place, ParserState::Text);
                }
                call.raw.push_str(&rest[..bytes]);
                let kind = match (self.grammar.kind(&call.name, name), call.form) {
                    // In this syntax, the line break before the closing tag is always layout.
                    (ParameterKind::File, CallSyntax::Function) => ParameterKind::Verbatim,
                    (kind, _) => kind,
                };
                let value = ParameterValue::new(name, kind);
                if value.streams() {
                    call.emit_key(name, out);
                    call.emit_input("\"", out);
                }
                ParseStep::Go(place + bytes, ParserState::Value(call, value))
            }
            (TagMatch::Maybe, _) if !self.ended => ParseStep::Wait(place, ParserState::Call(call)),
            (TagMatch::Maybe | TagMatch::No, _) => {
                call.raw.push('<');
                ParseStep::Go(place + 1, ParserState::Call(call))
            }
        }
    }

    fn value(&mut self, mut call: TextCall, mut value: ParameterValue, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let place = rest.find('<').unwrap_or(rest.len());
        call.push_value(&mut value, &rest[..place], out);
        let tag = &rest[place..];
        if tag.is_empty() {
            return ParseStep::Wait(place, ParserState::Value(call, value));
        }
        match self.ends_value(&call, &value, tag) {
            TagMatch::Yes(bytes) => {
                call.raw.push_str(&tag[..bytes]);
                call.finish_value(value, out);
                ParseStep::Go(place + bytes, ParserState::Call(call))
            }
            TagMatch::Maybe => ParseStep::Wait(place, ParserState::Value(call, value)),
            TagMatch::No => {
                call.push_value(&mut value, "<", out);
                ParseStep::Go(place + 1, ParserState::Value(call, value))
            }
        }
    }

    /// Whether a value ends with this tag, and its length in bytes.
    fn ends_value(&self, call: &TextCall, value: &ParameterValue, tag: &str) -> TagMatch {
        let bytes = match closing(tag, call.form.end_of(&value.name)) {
            TagMatch::Yes(bytes) => bytes,
            TagMatch::Maybe if !self.ended => return TagMatch::Maybe,
            TagMatch::Maybe | TagMatch::No => return self.ends_with_call(call, tag),
        };
        // A single-line value ends with the first tag; in a multi-line value, the tag may be part of it.
        if !value.has_lines() {
            return TagMatch::Yes(bytes);
        }
        let next = tag[bytes..].trim_start();
        if next.is_empty() {
            return if self.ended {
                TagMatch::Yes(bytes)
            } else {
                TagMatch::Maybe
            };
        }
        let continues_value = match call.form.closing(next, &call.name) {
            TagMatch::No => self.continues_value(call, value, next),
            found => found,
        };
        match continues_value {
            TagMatch::Yes(_) => TagMatch::Yes(bytes),
            TagMatch::Maybe if self.ended => TagMatch::Yes(bytes),
            TagMatch::Maybe => TagMatch::Maybe,
            TagMatch::No => TagMatch::No,
        }
    }

    /// Whether another parameter of the call, or another call, begins here.
    fn continues_value(&self, call: &TextCall, value: &ParameterValue, text: &str) -> TagMatch {
        // A model that writes one unknown parameter may write others.
        let is_open = !self.grammar.has_parameter(&call.name, &value.name);
        if call.form == CallSyntax::Function {
            return match (call.form.opening(text).0, call_start(text)) {
                (TagMatch::No, CallStart::Call(..)) => TagMatch::Yes(0),
                (TagMatch::No, CallStart::Maybe) => TagMatch::Maybe,
                (found, _) => found,
            };
        }
        let name = text.strip_prefix('<').map(word).unwrap_or_default();
        match opening(text) {
            TagMatch::Yes(bytes)
                if is_open || self.grammar.has_parameter(&call.name, name) || self.grammar.has(name) =>
            {
                TagMatch::Yes(bytes)
            }
            TagMatch::Maybe
                if is_open || self.grammar.parameter_begins(&call.name, name) || self.grammar.begins(name) =>
            {
                TagMatch::Maybe
            }
            TagMatch::Yes(_) | TagMatch::Maybe | TagMatch::No => TagMatch::No,
        }
    }

    /// Whether the call ends here because the end of the value is missing: only at the end of all text.
    fn ends_with_call(&self, call: &TextCall, tag: &str) -> TagMatch {
        match call.form.closing(tag, &call.name) {
            TagMatch::Yes(bytes) if tag[bytes..].trim().is_empty() => {
                if self.ended {
                    TagMatch::Yes(0)
                } else {
                    TagMatch::Maybe
                }
            }
            TagMatch::Maybe if !self.ended => TagMatch::Maybe,
            TagMatch::Yes(_) | TagMatch::Maybe | TagMatch::No => TagMatch::No,
        }
    }

    /// Completes a call.
    fn end(&mut self, mut call: TextCall, out: &mut Vec<Chunk>) {
        for (name, value) in std::mem::take(&mut call.later) {
            call.emit_key(&name, out);
            call.emit_input(&value.to_string(), out);
        }
        call.emit_input("}", out);
        let canonical = model::json::parse_object(&call.json).map(|input| render::call(&call.name, &input));
        let lead = if call.first { "" } else { render::LEAD };
        let is_canonical = canonical.is_ok_and(|text| call.raw.strip_prefix(lead) == Some(text.as_str()));
        // Text that can be reproduced from the input is not stored again.
        if !is_canonical {
            call.emit_replay(out);
        }
        out.push(Chunk::ToolEnd { id: call.id });
    }

    /// Emits a truncated call as it is, so that the model is informed and nothing is run.
    fn break_off(call: TextCall, out: &mut Vec<Chunk>) {
        call.emit_replay(out);
        out.push(Chunk::ToolEnd { id: call.id });
    }
}

impl TextCall {
    fn emit_input(&mut self, json: &str, out: &mut Vec<Chunk>) {
        self.json.push_str(json);
        out.push(Chunk::ToolInput {
            id: self.id.clone(),
            delta: json.into(),
        });
    }

    fn emit_key(&mut self, name: &str, out: &mut Vec<Chunk>) {
        let comma = if self.json == "{" { "" } else { "," };
        let key = format!("{comma}\"{}\":", quoted(name));
        self.emit_input(&key, out);
    }

    fn push_value(&mut self, value: &mut ParameterValue, text: &str, out: &mut Vec<Chunk>) {
        self.raw.push_str(text);
        let more = value.push(text);
        if !more.is_empty() {
            self.emit_input(&quoted(&more), out);
        }
    }

    /// Completes a value.
    fn finish_value(&mut self, value: ParameterValue, out: &mut Vec<Chunk>) {
        if value.streams() {
            let rest = value.rest();
            self.emit_input(&format!("{}\"", quoted(&rest)), out);
            return;
        }
        let read = value.parse();
        if value.kind == ParameterKind::Short {
            self.emit_key(&value.name, out);
            self.emit_input(&read.to_string(), out);
            return;
        }
        // A list may be written as several parameters with the same name.
        match (self.later.get_mut(&value.name), read) {
            (Some(serde_json::Value::Array(list)), serde_json::Value::Array(mut more)) => list.append(&mut more),
            (Some(serde_json::Value::Array(list)), more) => list.push(more),
            (Some(_) | None, read) => drop(self.later.insert(value.name, read)),
        }
    }

    fn emit_replay(&self, out: &mut Vec<Chunk>) {
        out.push(Chunk::Replay {
            of: ChunkPart::Call(self.id.clone()),
            replay: ReplayData {
                wire: WIRE.into(),
                data: self.raw.as_str().into(),
            },
        });
    }
}

#[cfg(test)]
mod tests;
