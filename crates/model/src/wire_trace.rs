//! What a request looked like on the wire: a digest of its body and, if requested, the bytes of the reply.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The body of a request, as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentBody {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// The bytes of a reply, in the pieces in which they arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStream {
    /// The HTTP status.
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// Milliseconds since the request was sent, and the bytes.
    pub pieces: Vec<(u64, StreamPiece)>,
    /// Whether the rest was dropped because the limit was reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A piece of a stream: text where possible, so that a recording can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamPiece {
    /// UTF-8 text.
    Text(String),
    /// Other bytes.
    Binary(Vec<u8>),
}

impl StreamPiece {
    /// Its bytes.
    pub fn bytes(&self) -> Bytes {
        match self {
            StreamPiece::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            StreamPiece::Binary(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

/// Observes one request on the wire. Clones share their state; each request has a trace of its own.
#[derive(Clone, Default)]
pub struct WireTrace(Arc<Mutex<TraceState>>);

#[derive(Default)]
struct TraceState {
    body: Option<SentBody>,
    settings: Option<Arc<str>>,
    recording: Option<StreamRecording>,
}

struct StreamRecording {
    sent: Instant,
    stream: RecordedStream,
    bytes: usize,
    limit: usize,
}

impl WireTrace {
    /// Sets the body that is sent, and the settings of the provider that determine it, as JSON.
    pub fn set_body(&self, body: SentBody, settings: Arc<str>) {
        let mut state = self.lock();
        (state.body, state.settings) = (Some(body), Some(settings));
    }

    /// The settings that determined the body.
    pub fn settings(&self) -> Option<Arc<str>> {
        self.lock().settings.clone()
    }

    /// The body, if it was rendered.
    pub fn body(&self) -> Option<SentBody> {
        self.lock().body
    }

    /// Starts recording the reply, at most this many bytes of it.
    pub fn record(&self, limit: usize) {
        self.lock().recording = Some(StreamRecording {
            sent: Instant::now(),
            stream: RecordedStream::default(),
            bytes: 0,
            limit,
        });
    }

    /// Records the head of the response.
    pub fn set_response(&self, status: u16, content_type: &str) {
        if let Some(recording) = &mut self.lock().recording {
            recording.stream.status = status;
            recording.stream.content_type = content_type.to_owned();
        }
    }

    /// Records received bytes, if the reply is recorded.
    pub fn receive(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let Some(recording) = &mut state.recording else { return };
        if recording.bytes + bytes.len() > recording.limit {
            recording.stream.truncated = true;
        }
        if recording.stream.truncated || bytes.is_empty() {
            return;
        }
        recording.bytes += bytes.len();
        let at = u64::try_from(recording.sent.elapsed().as_millis()).unwrap_or(u64::MAX);
        let piece = match std::str::from_utf8(bytes) {
            Ok(text) => StreamPiece::Text(text.to_owned()),
            Err(_) => StreamPiece::Binary(bytes.to_vec()),
        };
        recording.stream.pieces.push((at, piece));
    }

    /// Ends the recording and returns it; `None` if nothing was received.
    pub fn take_stream(&self) -> Option<RecordedStream> {
        let recording = self.lock().recording.take()?;
        (recording.stream.status > 0).then_some(recording.stream)
    }

    fn lock(&self) -> MutexGuard<'_, TraceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for WireTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WireTrace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_bounded_and_survives_serialisation() {
        let trace = WireTrace::default();
        trace.receive(b"before");
        assert_eq!(trace.take_stream(), None, "not recorded");
        trace.record(10);
        trace.set_response(200, "text/event-stream");
        trace.receive(b"data: ");
        trace.receive(&[0xff, 0xfe]);
        trace.receive(b"too long");
        trace.receive(b"x");
        let stream = trace.take_stream().unwrap();
        let pieces: Vec<Bytes> = stream.pieces.iter().map(|(_, piece)| piece.bytes()).collect();
        assert_eq!(
            pieces,
            [Bytes::from_static(b"data: "), Bytes::from_static(&[0xff, 0xfe])]
        );
        assert!(stream.truncated);
        let json = serde_json::to_string(&stream).unwrap();
        assert_eq!(serde_json::from_str::<RecordedStream>(&json).unwrap(), stream);
        assert_eq!(trace.take_stream(), None);
    }
}
