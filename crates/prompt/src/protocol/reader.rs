//! Finds the calls in a model's text as it streams, and yields them as if the provider had sent them.
//!
//! A call is `<tool><parameter>value</parameter>…</tool>`, the same in Qwen's tags (see `form.rs`), or JSON in `<tool_call>` (see
//! `hermes.rs`). Text may be split anywhere. What only looks like a call stays text:
//! a tag of no tool, one in inline code, one that no parameter follows. In a value nothing counts but its own end, so that
//! code needs no escaping; where a value has several lines, even that end counts only if the call goes on or ends after it.

use super::form::{Begins, Form, begins};
use super::grammar::{Grammar, Kind};
use super::tags::{Found, closing, opening, overlap, word};
use super::value::{Value, quoted};
use super::{RESULT, WIRE, hermes, written};
use model::{CallId, Chunk, ChunkPart, Replay, Stop};
use serde_json::{Map, json};
use std::sync::Arc;

/// Tags between which models think aloud.
const THINKING: [&str; 2] = ["think", "thinking"];

/// Reads one reply.
#[derive(Debug)]
pub struct Reader {
    grammar: Arc<Grammar>,
    /// What the ids of calls begin with.
    name: String,
    calls: u32,
    state: State,
    /// What is not understood yet.
    held: String,
    /// White space after the text so far: it belongs to the call that follows, or to more text.
    space: String,
    /// The last letter of the text so far.
    last: Option<char>,
    /// Whether text, a call or thinking in tags stands before.
    wrote: bool,
    ended: bool,
}

#[derive(Debug)]
enum State {
    Text,
    /// Within a tag of this name.
    Thinking(&'static str),
    /// Between the parameters of a call.
    Call(Call),
    Value(Call, Value),
    /// Within the other form of a call, as far as it has come.
    Json(String),
    /// The model goes on as if it knew the results: nothing of that counts.
    Over,
}

/// A call that is being read.
#[derive(Debug)]
struct Call {
    id: CallId,
    name: String,
    form: Form,
    /// As the model writes it.
    raw: String,
    /// As it is told.
    json: String,
    /// Whether nothing stands before it.
    first: bool,
    /// Parameters that are told at the end, because they may come in several pieces.
    later: Map<String, serde_json::Value>,
}

/// What a `<` turns out to be.
enum Tag {
    /// Too early to say.
    Open,
    /// Nothing but text.
    Plain,
    Thinking(&'static str),
    /// A call of this tool; its tag has so many bytes.
    Call(String, Form, usize),
    /// The other form of a call.
    Json,
    /// A call without parameters, whole.
    Whole(String, usize),
    Result,
}

/// What comes of reading on.
enum Step {
    /// Go on, behind so many bytes, in this state.
    Go(usize, State),
    /// Wait for more, behind so many bytes.
    Wait(usize, State),
}

impl Reader {
    /// A reader for one reply; the name makes the ids of its calls unique.
    pub fn new(grammar: Arc<Grammar>, name: impl Into<String>) -> Self {
        Reader {
            grammar,
            name: name.into(),
            calls: 0,
            state: State::Text,
            held: String::new(),
            space: String::new(),
            last: None,
            wrote: false,
            ended: false,
        }
    }

    /// Takes in a chunk of the provider's, and adds those that it stands for.
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
                self.settle(out);
                self.wrote &= !matches!(chunk, Chunk::Thinking(_));
                out.push(chunk);
            }
            Chunk::ToolInput { .. }
            | Chunk::ToolEnd { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_)
            | Chunk::Sent(_) => out.push(chunk),
        }
    }

    /// The text that is held back turns out to be text, because something else follows.
    fn settle(&mut self, out: &mut Vec<Chunk>) {
        if matches!(self.state, State::Text) {
            let held = std::mem::take(&mut self.held);
            self.say(&held, out);
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
            let state = std::mem::replace(&mut self.state, State::Over);
            let rest = &held[at..];
            let step = match state {
                State::Text => self.text(rest, out),
                State::Thinking(tag) => self.thinking(tag, rest, out),
                State::Call(call) => self.call(call, rest, out),
                State::Value(call, value) => self.value(call, value, rest, out),
                State::Json(json) => self.json(json, rest, out),
                State::Over => Step::Wait(rest.len(), State::Over),
            };
            match step {
                Step::Go(bytes, state) => {
                    at += bytes;
                    self.state = state;
                }
                Step::Wait(bytes, state) => {
                    at += bytes;
                    self.state = state;
                    break;
                }
            }
        }
        self.held.push_str(&held[at..]);
    }

    /// The reply is complete: what is still open is closed where that is safe. Says why it ended.
    fn finish(&mut self, stop: Stop, out: &mut Vec<Chunk>) -> Stop {
        self.ended = true;
        self.run(out);
        let whole = matches!(stop, Stop::End | Stop::ToolUse | Stop::Other { .. });
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text | State::Thinking(_) | State::Json(_) | State::Over => {}
            // It ends between parameters: only the last tag is missing.
            State::Call(call) if whole => self.end(call, out),
            State::Call(call) | State::Value(call, _) => Reader::break_off(call, out),
        }
        match stop {
            Stop::End if self.calls > 0 => Stop::ToolUse,
            stop => stop,
        }
    }

    /// Says text, but for the white space at its end.
    fn say(&mut self, text: &str, out: &mut Vec<Chunk>) {
        let words = text.trim_end();
        if let Some(last) = words.chars().next_back() {
            let mut said = std::mem::take(&mut self.space);
            said.push_str(words);
            self.last = Some(last);
            self.wrote = true;
            out.push(Chunk::Text(said));
        }
        self.space.push_str(&text[words.len()..]);
    }

    fn text(&mut self, rest: &str, out: &mut Vec<Chunk>) -> Step {
        let Some(place) = rest.find('<') else {
            self.say(rest, out);
            return Step::Wait(rest.len(), State::Text);
        };
        self.say(&rest[..place], out);
        let tag = &rest[place..];
        match self.tag(tag) {
            Tag::Open if !self.ended => Step::Wait(place, State::Text),
            Tag::Open | Tag::Plain => {
                self.say("<", out);
                Step::Go(place + 1, State::Text)
            }
            Tag::Thinking(name) => Step::Go(place + name.len() + 2, State::Thinking(name)),
            Tag::Result => Step::Go(rest.len(), State::Over),
            Tag::Json => Step::Go(place + hermes::OPEN.len(), State::Json(String::new())),
            Tag::Call(name, form, bytes) => {
                let call = self.begin(name, form, &tag[..bytes], out);
                Step::Go(place + bytes, State::Call(call))
            }
            Tag::Whole(name, bytes) => {
                let call = self.begin(name, Form::Own, &tag[..bytes], out);
                self.end(call, out);
                Step::Go(place + bytes, State::Text)
            }
        }
    }

    /// What a text that begins with `<` is.
    fn tag(&self, text: &str) -> Tag {
        for name in THINKING {
            let tag = format!("<{name}>");
            if text.starts_with(&tag) {
                return Tag::Thinking(name);
            }
            if tag.starts_with(text) {
                return Tag::Open;
            }
        }
        // In inline code it is spoken of, not called.
        let in_code = self.last == Some('`') && self.space.is_empty();
        match begins(text) {
            Begins::Json => return Tag::Json,
            Begins::Maybe => return Tag::Open,
            Begins::Call(name, bytes) if self.grammar.has(name) && !in_code => {
                return Tag::Call(name.into(), Form::Function, bytes);
            }
            Begins::Call(..) => return Tag::Plain,
            Begins::No => {}
        }
        let name = word(&text[1..]);
        let after = &text[1 + name.len()..];
        if after.is_empty() {
            let open = self.grammar.begins(name) || (self.calls > 0 && RESULT.starts_with(name));
            return if open { Tag::Open } else { Tag::Plain };
        }
        if name == RESULT && self.calls > 0 {
            return Tag::Result;
        }
        if !self.grammar.has(name) || in_code {
            return Tag::Plain;
        }
        let bytes = |rest: &str| text.len() - rest.len();
        let after = after.trim_start();
        if let Some(rest) = after.strip_prefix("/>") {
            return Tag::Whole(name.into(), bytes(rest));
        }
        if after.is_empty() || after == "/" {
            return Tag::Open;
        }
        let Some(inside) = after.strip_prefix('>') else {
            return Tag::Plain;
        };
        let call = Tag::Call(name.into(), Form::Own, bytes(inside));
        let next = inside.trim_start();
        match (closing(next, name), opening(next)) {
            (Found::Yes(_), _) | (_, Found::Yes(_)) => call,
            (Found::Maybe, _) | (_, Found::Maybe) => Tag::Open,
            (Found::No, Found::No) => Tag::Plain,
        }
    }

    fn thinking(&mut self, tag: &'static str, rest: &str, out: &mut Vec<Chunk>) -> Step {
        let end = format!("</{tag}>");
        if let Some(place) = rest.find(&end) {
            if place > 0 {
                out.push(Chunk::Thinking(rest[..place].into()));
            }
            self.wrote = true;
            let lead = std::mem::take(&mut self.space);
            out.push(Chunk::Replay {
                of: ChunkPart::Thinking,
                replay: Replay {
                    wire: WIRE.into(),
                    data: json!([lead, tag]),
                },
            });
            return Step::Go(place + end.len(), State::Text);
        }
        let kept = match self.ended {
            true => 0,
            false => overlap(rest, &end),
        };
        let said = rest.len() - kept;
        if said > 0 {
            out.push(Chunk::Thinking(rest[..said].into()));
        }
        Step::Wait(said, State::Thinking(tag))
    }

    fn json(&mut self, mut json: String, rest: &str, out: &mut Vec<Chunk>) -> Step {
        let end = rest.find(hermes::CLOSE);
        let (inside, bytes) = match end {
            Some(place) => (place, place + hermes::CLOSE.len()),
            None if self.ended => (rest.len(), rest.len()),
            None => {
                let bytes = rest.len() - overlap(rest, hermes::CLOSE);
                json.push_str(&rest[..bytes]);
                return Step::Wait(bytes, State::Json(json));
            }
        };
        json.push_str(&rest[..inside]);
        let raw = format!("{}{json}{}", hermes::OPEN, &rest[inside..bytes]);
        match hermes::parse(&json) {
            Some((name, input)) if self.grammar.has(&name) => {
                let mut call = self.begin(name, Form::Own, &raw, out);
                call.later = input;
                self.end(call, out);
            }
            Some(_) | None => self.say(&raw, out),
        }
        Step::Go(bytes, State::Text)
    }

    fn begin(&mut self, name: String, form: Form, tag: &str, out: &mut Vec<Chunk>) -> Call {
        self.calls += 1;
        let id = CallId::from(format!("{}-{}", self.name, self.calls));
        out.push(Chunk::ToolStart {
            id: id.clone(),
            name: name.clone(),
        });
        let mut call = Call {
            id,
            name,
            form,
            raw: std::mem::take(&mut self.space) + tag,
            json: String::new(),
            first: !std::mem::replace(&mut self.wrote, true),
            later: Map::new(),
        };
        call.tell("{", out);
        call
    }

    fn call(&mut self, mut call: Call, rest: &str, out: &mut Vec<Chunk>) -> Step {
        // Words between parameters mean nothing.
        let place = rest.find('<').unwrap_or(rest.len());
        call.raw.push_str(&rest[..place]);
        let rest = &rest[place..];
        if rest.is_empty() {
            return Step::Wait(place, State::Call(call));
        }
        match call.form.closing(rest, &call.name) {
            Found::Yes(bytes) => {
                call.raw.push_str(&rest[..bytes]);
                self.end(call, out);
                return Step::Go(place + bytes, State::Text);
            }
            Found::Maybe if !self.ended => return Step::Wait(place, State::Call(call)),
            Found::Maybe | Found::No => {}
        }
        match begins(rest) {
            // Another call begins: the end of this one was forgotten.
            Begins::Call(..) if call.form == Form::Function => {
                self.end(call, out);
                return Step::Go(place, State::Text);
            }
            Begins::Maybe if call.form == Form::Function && !self.ended => {
                return Step::Wait(place, State::Call(call));
            }
            Begins::Call(..) | Begins::Json | Begins::Maybe | Begins::No => {}
        }
        match call.form.opening(rest) {
            (Found::Yes(bytes), name) => {
                let is_call = call.form == Form::Own && self.grammar.has(name);
                if is_call && !self.grammar.has_parameter(&call.name, name) {
                    // Another call begins: the end of this one was forgotten.
                    self.end(call, out);
                    return Step::Go(place, State::Text);
                }
                call.raw.push_str(&rest[..bytes]);
                let kind = match (self.grammar.kind(&call.name, name), call.form) {
                    // Here the line break before the closing tag is always layout.
                    (Kind::File, Form::Function) => Kind::Verbatim,
                    (kind, _) => kind,
                };
                let value = Value::new(name, kind);
                if value.streams() {
                    call.tell_key(name, out);
                    call.tell("\"", out);
                }
                Step::Go(place + bytes, State::Value(call, value))
            }
            (Found::Maybe, _) if !self.ended => Step::Wait(place, State::Call(call)),
            (Found::Maybe | Found::No, _) => {
                call.raw.push('<');
                Step::Go(place + 1, State::Call(call))
            }
        }
    }

    fn value(&mut self, mut call: Call, mut value: Value, rest: &str, out: &mut Vec<Chunk>) -> Step {
        let place = rest.find('<').unwrap_or(rest.len());
        call.take_in(&mut value, &rest[..place], out);
        let tag = &rest[place..];
        if tag.is_empty() {
            return Step::Wait(place, State::Value(call, value));
        }
        match self.ends_value(&call, &value, tag) {
            Found::Yes(bytes) => {
                call.raw.push_str(&tag[..bytes]);
                call.keep(value, out);
                Step::Go(place + bytes, State::Call(call))
            }
            Found::Maybe => Step::Wait(place, State::Value(call, value)),
            Found::No => {
                call.take_in(&mut value, "<", out);
                Step::Go(place + 1, State::Value(call, value))
            }
        }
    }

    /// Whether a value ends with this tag; with how many bytes.
    fn ends_value(&self, call: &Call, value: &Value, tag: &str) -> Found {
        let bytes = match closing(tag, call.form.end_of(&value.name)) {
            Found::Yes(bytes) => bytes,
            Found::Maybe if !self.ended => return Found::Maybe,
            Found::Maybe | Found::No => return self.ends_with_call(call, tag),
        };
        // What is short ends with the first tag; in what is long, the tag may be a part of it.
        if !value.has_lines() {
            return Found::Yes(bytes);
        }
        let next = tag[bytes..].trim_start();
        if next.is_empty() {
            return if self.ended { Found::Yes(bytes) } else { Found::Maybe };
        }
        let goes_on = match call.form.closing(next, &call.name) {
            Found::No => self.goes_on(call, value, next),
            found => found,
        };
        match goes_on {
            Found::Yes(_) => Found::Yes(bytes),
            Found::Maybe if self.ended => Found::Yes(bytes),
            Found::Maybe => Found::Maybe,
            Found::No => Found::No,
        }
    }

    /// Whether another parameter of the call, or another call, begins here.
    fn goes_on(&self, call: &Call, value: &Value, text: &str) -> Found {
        // Who writes a parameter that nobody knows writes others, too.
        let is_open = !self.grammar.has_parameter(&call.name, &value.name);
        if call.form == Form::Function {
            return match (call.form.opening(text).0, begins(text)) {
                (Found::No, Begins::Call(..)) => Found::Yes(0),
                (Found::No, Begins::Maybe) => Found::Maybe,
                (found, _) => found,
            };
        }
        let name = text.strip_prefix('<').map(word).unwrap_or_default();
        match opening(text) {
            Found::Yes(bytes) if is_open || self.grammar.has_parameter(&call.name, name) || self.grammar.has(name) => {
                Found::Yes(bytes)
            }
            Found::Maybe if is_open || self.grammar.parameter_begins(&call.name, name) || self.grammar.begins(name) => {
                Found::Maybe
            }
            Found::Yes(_) | Found::Maybe | Found::No => Found::No,
        }
    }

    /// Whether the end of the whole call stands where that of the value was forgotten: only at the end of all text.
    fn ends_with_call(&self, call: &Call, tag: &str) -> Found {
        match call.form.closing(tag, &call.name) {
            Found::Yes(bytes) if tag[bytes..].trim().is_empty() => {
                if self.ended {
                    Found::Yes(0)
                } else {
                    Found::Maybe
                }
            }
            Found::Maybe if !self.ended => Found::Maybe,
            Found::Yes(_) | Found::Maybe | Found::No => Found::No,
        }
    }

    /// A call is whole.
    fn end(&mut self, mut call: Call, out: &mut Vec<Chunk>) {
        for (name, value) in std::mem::take(&mut call.later) {
            call.tell_key(&name, out);
            call.tell(&value.to_string(), out);
        }
        call.tell("}", out);
        let canonical = model::json::object(&call.json).map(|input| written::call(&call.name, &input));
        let lead = if call.first { "" } else { written::LEAD };
        let is_canonical = canonical.is_ok_and(|text| call.raw.strip_prefix(lead) == Some(text.as_str()));
        // What would be written the same from what is kept anyway need not be kept twice.
        if !is_canonical {
            call.keep_raw(out);
        }
        out.push(Chunk::ToolEnd { id: call.id });
    }

    /// A call is cut off: it is told as it is, so that the model hears of it and nothing half is done.
    fn break_off(call: Call, out: &mut Vec<Chunk>) {
        call.keep_raw(out);
        out.push(Chunk::ToolEnd { id: call.id });
    }
}

impl Call {
    fn tell(&mut self, json: &str, out: &mut Vec<Chunk>) {
        self.json.push_str(json);
        out.push(Chunk::ToolInput {
            id: self.id.clone(),
            delta: json.into(),
        });
    }

    fn tell_key(&mut self, name: &str, out: &mut Vec<Chunk>) {
        let comma = if self.json == "{" { "" } else { "," };
        let key = format!("{comma}\"{}\":", quoted(name));
        self.tell(&key, out);
    }

    fn take_in(&mut self, value: &mut Value, text: &str, out: &mut Vec<Chunk>) {
        self.raw.push_str(text);
        let more = value.push(text);
        if !more.is_empty() {
            self.tell(&quoted(&more), out);
        }
    }

    /// Takes a value that is whole.
    fn keep(&mut self, value: Value, out: &mut Vec<Chunk>) {
        if value.streams() {
            let rest = value.rest();
            self.tell(&format!("{}\"", quoted(&rest)), out);
            return;
        }
        let read = value.read();
        if value.kind == Kind::Short {
            self.tell_key(&value.name, out);
            self.tell(&read.to_string(), out);
            return;
        }
        // A list may be written as several parameters of the same name.
        match (self.later.get_mut(&value.name), read) {
            (Some(serde_json::Value::Array(list)), serde_json::Value::Array(mut more)) => list.append(&mut more),
            (Some(serde_json::Value::Array(list)), more) => list.push(more),
            (Some(_) | None, read) => drop(self.later.insert(value.name, read)),
        }
    }

    fn keep_raw(&self, out: &mut Vec<Chunk>) {
        out.push(Chunk::Replay {
            of: ChunkPart::Call(self.id.clone()),
            replay: Replay {
                wire: WIRE.into(),
                data: self.raw.as_str().into(),
            },
        });
    }
}

#[cfg(test)]
mod tests;
