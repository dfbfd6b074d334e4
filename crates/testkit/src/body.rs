//! Converts events to the bytes, delays and faults of a response body.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use crate::eventstream;
use crate::fault::{Fault, FaultPosition};
use crate::pace::Pace;
use crate::refusal::Refusal;
use crate::wire::{Event, EventPart, Wire};

/// One step of a response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyStep {
    Send(Bytes),
    /// Sends these bytes and drops the connection inside the chunk.
    SendAndDisconnect(Bytes),
    Wait(Duration),
    /// Flushes the data as a separate packet.
    Flush,
    /// Stops sending forever.
    Stall,
}

/// The body of a stream.
pub(crate) fn stream(wire: Wire, mut events: Vec<Event>, pace: &Pace, fault: Option<&Fault>) -> Vec<BodyStep> {
    let index = |position: FaultPosition| event_index(&events, position);
    let mut builder = BodyBuilder::new(wire, *pace);
    match fault {
        Some(Fault::ErrorEvent { at: position }) => {
            builder.events(&events[..index(*position)]);
            builder.send(error_event(wire, &Refusal::Overloaded, &events));
        }
        Some(Fault::ContextOverflow { .. }) => {
            builder.events(&events[..1.min(events.len())]);
            builder.send(error_event(
                wire,
                &Refusal::TooLong {
                    tokens: 208_310,
                    window: 200_000,
                },
                &events,
            ));
        }
        Some(Fault::Cut { at: position }) => {
            let (before, rest) = events.split_at(index(*position));
            builder.events(before);
            let bytes = rest.first().map(|event| encoded(wire, event)).unwrap_or_default();
            builder.steps.push(BodyStep::SendAndDisconnect(Bytes::copy_from_slice(
                &bytes[..bytes.len() / 2],
            )));
        }
        Some(Fault::EndEarly { at: position }) => builder.events(&events[..index(*position)]),
        Some(Fault::Stall { at: position, ms }) => {
            let (before, rest) = events.split_at(index(*position));
            builder.events(before);
            builder
                .steps
                .push(ms.map_or(BodyStep::Stall, |ms| BodyStep::Wait(Duration::from_millis(ms))));
            builder.events(rest);
        }
        Some(Fault::Garbage { at: position }) => {
            let (before, rest) = events.split_at(index(*position));
            builder.events(before);
            builder.send(garbage(wire));
            builder.events(rest);
        }
        Some(Fault::Noise) => with_noise(&mut builder, &events),
        Some(Fault::HugeLine { bytes }) => {
            let huge = index(FaultPosition::Text);
            if let Some(event) = events.get_mut(huge) {
                pad(&mut event.data, *bytes);
            }
            builder.events(&events);
        }
        Some(Fault::MissingDone) => {
            events.retain(|event| event.part != EventPart::Done);
            builder.events(&events);
        }
        Some(Fault::Drip { ms }) => {
            builder.events(&events);
            builder.drip(*ms);
        }
        _ => builder.events(&events),
    }
    builder.steps
}

/// The body of a complete reply.
pub(crate) fn whole(body: Vec<u8>, pace: &Pace, fault: Option<&Fault>) -> Vec<BodyStep> {
    let mut builder = BodyBuilder::new(Wire::Chat, *pace);
    let half = body.len() / 2;
    match fault {
        Some(Fault::Cut { .. }) => builder
            .steps
            .push(BodyStep::SendAndDisconnect(Bytes::copy_from_slice(&body[..half]))),
        Some(Fault::EndEarly { .. } | Fault::MissingDone) => builder.send(body[..half].to_vec()),
        Some(Fault::Stall { ms, .. }) => {
            builder.send(body[..half].to_vec());
            builder
                .steps
                .push(ms.map_or(BodyStep::Stall, |ms| BodyStep::Wait(Duration::from_millis(ms))));
            builder.send(body[half..].to_vec());
        }
        Some(Fault::Garbage { .. }) => builder.send(garbage(Wire::Bedrock)),
        Some(Fault::HugeLine { bytes }) => {
            let mut text = String::from_utf8_lossy(&body).into_owned();
            pad(&mut text, *bytes);
            builder.send(text.into_bytes());
        }
        Some(Fault::Drip { ms }) => {
            builder.send(body);
            builder.drip(*ms);
        }
        _ => builder.send(body),
    }
    builder.steps
}

struct BodyBuilder {
    wire: Wire,
    pace: Pace,
    steps: Vec<BodyStep>,
}

impl BodyBuilder {
    fn new(wire: Wire, pace: Pace) -> Self {
        let first = (pace.first_ms > 0).then(|| BodyStep::Wait(Duration::from_millis(pace.first_ms)));
        Self {
            wire,
            pace,
            steps: first.into_iter().collect(),
        }
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.steps.push(BodyStep::Send(bytes.into()));
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            let is_delta = matches!(event.part, EventPart::Thinking | EventPart::Text | EventPart::Tool);
            if is_delta && self.pace.delay_ms > 0 {
                self.steps
                    .push(BodyStep::Wait(Duration::from_millis(self.pace.delay_ms)));
            }
            let bytes = encoded(self.wire, event);
            self.send(bytes);
        }
    }

    /// Splits the data so far into single bytes.
    fn drip(&mut self, ms: u64) {
        let pause = if ms == 0 {
            BodyStep::Flush
        } else {
            BodyStep::Wait(Duration::from_millis(ms))
        };
        let apart = |step: BodyStep| match step {
            BodyStep::Send(bytes) => (0..bytes.len())
                .flat_map(|at| [BodyStep::Send(bytes.slice(at..=at)), pause.clone()])
                .collect(),
            other => vec![other],
        };
        self.steps = std::mem::take(&mut self.steps).into_iter().flat_map(apart).collect();
    }
}

/// The event before which a fault occurs.
fn event_index(events: &[Event], position: FaultPosition) -> usize {
    let middle = |part| {
        let found: Vec<usize> = (0..events.len()).filter(|at| events[*at].part == part).collect();
        found.get(found.len() / 2).copied()
    };
    let last = events.len().saturating_sub(1);
    match position {
        FaultPosition::Head => Some(0),
        FaultPosition::Start => Some(1.min(last)),
        FaultPosition::Thinking => middle(EventPart::Thinking),
        FaultPosition::Text => middle(EventPart::Text),
        FaultPosition::Tool => middle(EventPart::Tool),
        FaultPosition::End => Some(last),
    }
    .unwrap_or(events.len() / 2)
}

fn encoded(wire: Wire, event: &Event) -> Vec<u8> {
    match (wire, event.name) {
        (Wire::Bedrock, _) => eventstream::chunk(&event.data),
        (_, Some(name)) => format!("event: {name}\ndata: {}\n\n", event.data).into_bytes(),
        (_, None) => format!("data: {}\n\n", event.data).into_bytes(),
    }
}

/// An error within a stream. `events` are those of the undisturbed stream.
fn error_event(wire: Wire, refusal: &Refusal, events: &[Event]) -> Vec<u8> {
    let message = refusal.message(wire);
    match wire {
        Wire::Anthropic | Wire::Vertex => {
            let data = json!({"type": "error", "error": {"type": refusal.anthropic_name(), "message": message}});
            format!("event: error\ndata: {data}\n\n").into_bytes()
        }
        Wire::Bedrock => {
            let (first, rest) = refusal.aws_name().split_at(1);
            let kind = first.to_ascii_lowercase() + rest;
            eventstream::exception(&kind, &json!({"message": message}).to_string())
        }
        Wire::Chat | Wire::Gemini => format!("data: {}\n\n", refusal.body(wire)).into_bytes(),
        Wire::Responses => {
            let error = json!({"code": refusal.openai_code(), "message": message});
            if matches!(refusal, Refusal::TooLong { .. }) {
                let mut data: serde_json::Value = events
                    .first()
                    .and_then(|event| serde_json::from_str(&event.data).ok())
                    .unwrap_or_default();
                data["type"] = json!("response.failed");
                data["sequence_number"] = json!(1);
                data["response"]["status"] = json!("failed");
                data["response"]["error"] = error;
                return format!("event: response.failed\ndata: {data}\n\n").into_bytes();
            }
            let code = &error["code"];
            let data = json!({"type": "error", "sequence_number": 1, "code": code, "message": message, "param": null});
            format!("event: error\ndata: {data}\n\n").into_bytes()
        }
    }
}

/// Bytes that are not an event of any protocol.
fn garbage(wire: Wire) -> Vec<u8> {
    match wire {
        Wire::Bedrock => (0..=255).rev().cycle().take(700).collect(),
        _ => b"data: {\"type\": \"half an obj\xff\xfe\n\n<<<not a field>>>\ndata: [1, 2\n\n".to_vec(),
    }
}

/// The same events with comments, unknown events and fields, with CR LF and without the optional space.
fn with_noise(builder: &mut BodyBuilder, events: &[Event]) {
    if builder.wire == Wire::Bedrock {
        for event in events {
            builder.send(eventstream::chunk(r#"{"type":"scripted_noise","index":0}"#));
            builder.events(std::slice::from_ref(event));
        }
        return;
    }
    builder.send(b"\xef\xbb\xbf: comment\r\n\r\nretry: 3000\r\n\r\n".to_vec());
    for (n, event) in events.iter().enumerate() {
        let name = event.name.map(|name| format!("event:{name}\r\n")).unwrap_or_default();
        let unknown = match builder.wire {
            Wire::Anthropic | Wire::Vertex | Wire::Responses => {
                "event: scripted_noise\r\ndata: {\"type\":\"scripted_noise\"}\r\n\r\n"
            }
            Wire::Chat | Wire::Gemini | Wire::Bedrock => ": PROCESSING\r\n\r\n",
        };
        builder.send(
            format!(
                "{unknown}id: {n}\r\n{name}data:{}\r\nmystery: field\r\n\r\n",
                event.data
            )
            .into_bytes(),
        );
    }
}

/// Pads JSON with spaces before its last brace.
fn pad(json: &mut String, bytes: usize) {
    if json.pop().is_some() {
        let spaces = bytes.saturating_sub(json.len() + 1);
        json.push_str(&" ".repeat(spaces));
        json.push('}');
    }
}
