//! Parses tool calls in streamed text and emits them as if the provider had sent them.
//!
//! A call is `<tool><parameter>value</parameter>…</tool>`, the same in Qwen's tags (see `syntax.rs`), or JSON in
//! `<tool_call>` (see `hermes.rs`). Text may be split anywhere. Text that only looks like a call stays text: an unknown
//! tag, a tag in inline code, a tag without a parameter. In a value only its own closing tag is significant, so that
//! code needs no escaping; in a multi-line value, the closing tag counts only if the call continues or ends after it.
//! Where a value ends is a guess while text arrives; `readings.rs` checks it at the end of the reply, and only then are
//! calls complete. A call in a code fence is text.

use super::fences::FenceTracker;
use super::grammar::{CallGrammar, ParameterKind};
use super::readings::{self, CallReading, StreamedCall};
use super::syntax::{CallStart, CallSyntax, call_start};
use super::tags::{TagMatch, closing, opening, overlap, word};
use super::text_call::TextCall;
use super::value::ParameterValue;
use super::{RESULT, WIRE, hermes, render};
use model::{CallId, Chunk, ChunkPart, ReplayData, Stop};
use serde_json::{Map, json};
use std::sync::Arc;

/// Ends the input of a call that can be read in several ways, so that it is not valid.
pub const AMBIGUOUS_CALL: &str = "<ambiguous>";

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
    fences: FenceTracker,
    /// All text so far, and the position of the current step in it.
    seen: String,
    at: usize,
    /// Where the reply ends: at its end, or where the model invents a result.
    limit: usize,
    /// Calls whose ends are not confirmed yet.
    made: Vec<TextCall>,
    /// Text after the last call: it may be part of its last value.
    after: String,
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
            fences: FenceTracker::default(),
            seen: String::new(),
            at: 0,
            limit: 0,
            made: Vec::new(),
            after: String::new(),
        }
    }

    /// Parses a chunk of the provider and appends the resulting chunks.
    pub fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) {
        match chunk {
            Chunk::Text(text) => {
                self.held.push_str(&text);
                self.seen.push_str(&text);
                if !matches!(self.state, ParserState::Over) {
                    self.limit = self.seen.len();
                }
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
            self.flush_after(out);
            let space = std::mem::take(&mut self.space);
            if !space.is_empty() {
                out.push(Chunk::Text(space));
            }
        }
    }

    fn flush_after(&mut self, out: &mut Vec<Chunk>) {
        if !self.after.is_empty() {
            out.push(Chunk::Text(std::mem::take(&mut self.after)));
        }
    }

    fn run(&mut self, out: &mut Vec<Chunk>) {
        let held = std::mem::take(&mut self.held);
        let base = self.seen.len() - held.len();
        let mut at = 0;
        loop {
            self.at = base + at;
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
            ParserState::Call(call) if whole => self.made.push(call),
            ParserState::Call(call) | ParserState::Value(call, _) => {
                self.settle(out);
                TextCallParser::break_off(call, out);
            }
        }
        self.settle(out);
        match stop {
            Stop::End if self.calls > 0 => Stop::ToolUse,
            stop => stop,
        }
    }

    /// Emits text except for its trailing whitespace.
    fn emit_text(&mut self, text: &str, out: &mut Vec<Chunk>) {
        self.fences.push(text);
        let words = text.trim_end();
        if let Some(last) = words.chars().next_back() {
            let mut emitted = std::mem::take(&mut self.space);
            emitted.push_str(words);
            self.last = Some(last);
            self.wrote = true;
            match self.made.is_empty() {
                true => out.push(Chunk::Text(emitted)),
                false => self.after.push_str(&emitted),
            }
        }
        self.space.push_str(&text[words.len()..]);
    }

    fn text(&mut self, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let Some(position) = rest.find('<') else {
            self.emit_text(rest, out);
            return ParseStep::Wait(rest.len(), ParserState::Text);
        };
        self.emit_text(&rest[..position], out);
        let tag = &rest[position..];
        match self.tag(tag) {
            TagKind::Open if !self.ended => ParseStep::Wait(position, ParserState::Text),
            TagKind::Open | TagKind::Plain => {
                self.emit_text("<", out);
                ParseStep::Go(position + 1, ParserState::Text)
            }
            TagKind::Thinking(name) => ParseStep::Go(position + name.len() + 2, ParserState::Thinking(name)),
            TagKind::Result => {
                self.limit = self.at + position;
                ParseStep::Go(rest.len(), ParserState::Over)
            }
            TagKind::Json => ParseStep::Go(position + hermes::OPEN.len(), ParserState::Json(String::new())),
            TagKind::Call(name, form, bytes) => {
                let call = self.begin(name, form, (position, &tag[..bytes]), out);
                ParseStep::Go(position + bytes, ParserState::Call(call))
            }
            TagKind::Whole(name, bytes) => {
                let call = self.begin(name, CallSyntax::Json, (position, &tag[..bytes]), out);
                self.made.push(call);
                ParseStep::Go(position + bytes, ParserState::Text)
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
        // In code it is a quotation, not a call.
        let in_code = self.last == Some('`') && self.space.is_empty() || self.fences.is_open();
        match call_start(text) {
            CallStart::Json if !in_code => return TagKind::Json,
            CallStart::Maybe => return TagKind::Open,
            CallStart::Call(name, form, bytes) if self.grammar.names_tool(name) && !in_code => {
                return TagKind::Call(name.into(), form, bytes);
            }
            CallStart::Json | CallStart::Call(..) => return TagKind::Plain,
            CallStart::No => {}
        }
        let name = word(&text[1..]);
        let after = &text[1 + name.len()..];
        if after.is_empty() {
            let open = self.grammar.begins(name) || (self.calls > 0 && RESULT.starts_with(name));
            return if open { TagKind::Open } else { TagKind::Plain };
        }
        if name == RESULT && self.calls > 0 && !in_code {
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
        if let Some(position) = rest.find(&end) {
            if position > 0 {
                out.push(Chunk::Thinking(rest[..position].into()));
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
            return ParseStep::Go(position + end.len(), ParserState::Text);
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
        let is_end = |position: &usize| !hermes::ends_in_string(&format!("{json}{}", &rest[..*position]));
        let end = rest
            .match_indices(hermes::CLOSE)
            .map(|(position, _)| position)
            .find(is_end);
        let (inside, bytes) = match end {
            Some(position) => (position, position + hermes::CLOSE.len()),
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
            Some((name, input)) if self.grammar.names_tool(&name) => {
                let mut call = self.begin(name, CallSyntax::Json, (0, &raw), out);
                call.later = input;
                self.made.push(call);
            }
            Some(_) | None => self.emit_text(&raw, out),
        }
        ParseStep::Go(bytes, ParserState::Text)
    }

    /// Starts a call with a tag at a position of the current step.
    fn begin(&mut self, name: String, form: CallSyntax, tag: (usize, &str), out: &mut Vec<Chunk>) -> TextCall {
        self.flush_after(out);
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
            raw: std::mem::take(&mut self.space) + tag.1,
            json: String::new(),
            first: !std::mem::replace(&mut self.wrote, true),
            later: Map::new(),
            names: Vec::new(),
            start: self.at + tag.0,
            is_cut: false,
        };
        call.emit_input("{", out);
        call
    }

    fn call(&mut self, mut call: TextCall, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        // Text between parameters is ignored.
        let position = rest.find('<').unwrap_or(rest.len());
        call.raw.push_str(&rest[..position]);
        let rest = &rest[position..];
        if rest.is_empty() {
            return ParseStep::Wait(position, ParserState::Call(call));
        }
        match call.form.closing(rest, &call.name) {
            TagMatch::Yes(bytes) => {
                call.raw.push_str(&rest[..bytes]);
                self.made.push(call);
                return ParseStep::Go(position + bytes, ParserState::Text);
            }
            TagMatch::Maybe if !self.ended => return ParseStep::Wait(position, ParserState::Call(call)),
            TagMatch::Maybe | TagMatch::No => {}
        }
        match call_start(rest) {
            // Another call begins: the end of this one is missing.
            CallStart::Call(..) if call.form.names_tool_in_attribute() => {
                self.made.push(call);
                return ParseStep::Go(position, ParserState::Text);
            }
            CallStart::Maybe if call.form.names_tool_in_attribute() && !self.ended => {
                return ParseStep::Wait(position, ParserState::Call(call));
            }
            CallStart::Call(..) | CallStart::Json | CallStart::Maybe | CallStart::No => {}
        }
        match call.form.opening(rest) {
            (TagMatch::Yes(bytes), name) => {
                let is_call = call.form == CallSyntax::Tags && self.grammar.has(name);
                if is_call && !self.grammar.has_parameter(&call.name, name) {
                    // Another call begins: the end of this one is missing.
                    self.made.push(call);
                    return ParseStep::Go(position, ParserState::Text);
                }
                call.names.push(name.to_owned());
                call.raw.push_str(&rest[..bytes]);
                let kind = match (self.grammar.kind(&call.name, name), call.form) {
                    // In this syntax, the line break before the closing tag is always layout.
                    (ParameterKind::File, form) if form.names_tool_in_attribute() => ParameterKind::Verbatim,
                    (kind, _) => kind,
                };
                let value = ParameterValue::new(name, kind);
                if value.streams() {
                    call.emit_key(name, out);
                    call.emit_input("\"", out);
                }
                ParseStep::Go(position + bytes, ParserState::Value(call, value))
            }
            (TagMatch::Maybe, _) if !self.ended => ParseStep::Wait(position, ParserState::Call(call)),
            (TagMatch::Maybe | TagMatch::No, _) => {
                call.raw.push('<');
                ParseStep::Go(position + 1, ParserState::Call(call))
            }
        }
    }

    fn value(&mut self, mut call: TextCall, mut value: ParameterValue, rest: &str, out: &mut Vec<Chunk>) -> ParseStep {
        let position = rest.find('<').unwrap_or(rest.len());
        call.push_value(&mut value, &rest[..position], out);
        let tag = &rest[position..];
        if tag.is_empty() {
            return ParseStep::Wait(position, ParserState::Value(call, value));
        }
        match self.ends_value(&call, &value, tag) {
            TagMatch::Yes(bytes) => {
                call.is_cut |= bytes == 0;
                call.raw.push_str(&tag[..bytes]);
                call.finish_value(value, out);
                ParseStep::Go(position + bytes, ParserState::Call(call))
            }
            TagMatch::Maybe => ParseStep::Wait(position, ParserState::Value(call, value)),
            TagMatch::No => {
                call.push_value(&mut value, "<", out);
                ParseStep::Go(position + 1, ParserState::Value(call, value))
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
        if call.form.names_tool_in_attribute() {
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

    /// Completes the calls so far. The guessed ends of their values are checked now that all text is known.
    fn settle(&mut self, out: &mut Vec<Chunk>) {
        let made = std::mem::take(&mut self.made);
        let starts: Vec<usize> = made.iter().map(|call| call.start).collect();
        let mut all: Vec<CallReading> = Vec::new();
        for (number, call) in made.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(self.limit);
            let region = self.seen.get(call.start..end).unwrap_or_default();
            all.push(match call.form {
                CallSyntax::Json => CallReading::AsWritten,
                CallSyntax::Tags | CallSyntax::Function | CallSyntax::Invoke | CallSyntax::PrefixedInvoke => {
                    let streamed = StreamedCall {
                        tool: &call.name,
                        form: call.form,
                        names: &call.names,
                        input: call.input(),
                        is_cut: call.is_cut,
                    };
                    readings::read(region, &streamed, &self.grammar)
                }
            });
            // A value of an earlier call may contain this one.
            let is_other = all.last().is_some_and(|reading| *reading != CallReading::AsWritten);
            let shares = |other: &&TextCall| {
                let ends = |name: &String| {
                    call.names
                        .iter()
                        .any(|own| call.form.end_of(own) == other.form.end_of(name))
                };
                other.form != CallSyntax::Json && other.names.iter().any(ends)
            };
            if is_other && made[..number].iter().any(|other| shares(&other)) {
                all.iter_mut().for_each(|reading| *reading = CallReading::Ambiguous);
            }
        }
        for (number, (mut call, reading)) in made.into_iter().zip(all).enumerate() {
            match reading {
                CallReading::AsWritten => {}
                CallReading::Other { values, end } => {
                    // The text after the guessed end is part of the call.
                    let lead = call.raw.len() - call.raw.trim_start().len();
                    call.raw.truncate(lead);
                    call.raw.push_str(&self.seen[call.start..call.start + end]);
                    let rest = self.seen[call.start + end..self.limit].to_owned();
                    if starts.get(number + 1).is_none() {
                        self.space.clear();
                        self.after = rest.trim_end().to_owned();
                    }
                    for (name, value) in values {
                        call.emit_key(&name, out);
                        call.emit_input(&value.to_string(), out);
                        call.later.remove(&name);
                    }
                }
                CallReading::Ambiguous => {
                    call.emit_input(AMBIGUOUS_CALL, out);
                    TextCallParser::break_off(call, out);
                    continue;
                }
            }
            TextCallParser::end(call, out);
        }
        self.flush_after(out);
    }

    fn end(mut call: TextCall, out: &mut Vec<Chunk>) {
        for (name, value) in std::mem::take(&mut call.later) {
            call.emit_key(&name, out);
            call.emit_input(&value.to_string(), out);
        }
        for (name, value) in readings::decoded_entities(&call.input()) {
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

#[cfg(test)]
mod tests;
