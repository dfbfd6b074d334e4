//! A reply as it arrives: bytes become events, events become chunks, silence becomes an error.

use crate::eventstream;
use crate::fault;
use crate::presets::Quirks;
use crate::sse;
use crate::wire::{Decoder, bedrock};
use bytes::Bytes;
use futures::Stream;
use model::{Chunk, Error, Wire};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// A complete reply's connection is given this long to end by itself, so that it can be used again.
const FAREWELL: Duration = Duration::from_secs(1);

/// So many pieces are taken in before what they say is told.
const BATCH: usize = 1024;

/// The bytes of a reply; an error says how the connection broke.
pub(crate) type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// A reply as it arrives.
pub(crate) struct Reading {
    provider: String,
    bytes: ByteStream,
    framing: Framing,
    decoder: Decoder,
    ready: VecDeque<Chunk>,
    /// Comes after everything that is ready.
    failure: Option<Error>,
    state: State,
    stall: Duration,
    heard: Instant,
    alarm: Pin<Box<Sleep>>,
    secrets: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The reply is not complete.
    Open,
    /// The reply is complete; only the end of the bytes is missing.
    Complete,
    /// Nothing more comes.
    Ended,
}

/// How events stand in the bytes.
enum Framing {
    Sse(sse::Parser),
    Aws(eventstream::Parser),
}

impl Reading {
    pub(crate) fn new(wire: Wire, provider: &str, bytes: ByteStream, stall: Duration) -> Self {
        Reading {
            provider: provider.to_string(),
            bytes,
            framing: match wire {
                Wire::BedrockAnthropic => Framing::Aws(eventstream::Parser::default()),
                Wire::AnthropicMessages
                | Wire::VertexAnthropic
                | Wire::OpenaiChat
                | Wire::OpenaiResponses
                | Wire::Gemini => Framing::Sse(sse::Parser::default()),
            },
            decoder: Decoder::new(wire, provider),
            ready: VecDeque::new(),
            failure: None,
            state: State::Open,
            stall,
            heard: Instant::now(),
            alarm: Box::pin(tokio::time::sleep(stall)),
            secrets: Vec::new(),
        }
    }

    /// Puts these before everything else.
    pub(crate) fn after(mut self, ahead: Vec<Chunk>) -> Self {
        self.ready.extend(ahead);
        self
    }

    /// Heeds what the configuration says of the server.
    pub(crate) fn heeding(mut self, quirks: &Quirks) -> Self {
        self.decoder.heed(quirks);
        self
    }

    /// Keeps these texts out of errors.
    pub(crate) fn hiding(mut self, secrets: Vec<String>) -> Self {
        self.secrets = secrets;
        self
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let garbled = |what: String| fault::garbled(&self.provider, &what, "");
        match &mut self.framing {
            Framing::Sse(parser) => {
                let events = parser.feed(bytes).map_err(|error| garbled(error.to_string()))?;
                for event in events {
                    self.decode(&event)?;
                }
            }
            Framing::Aws(parser) => {
                let frames = parser.feed(bytes).map_err(|error| garbled(error.to_string()))?;
                for frame in frames {
                    if let Some(event) = bedrock::event(&self.provider, &frame)? {
                        self.decode(&event)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn decode(&mut self, event: &sse::Event) -> Result<(), Error> {
        let mut out = Vec::new();
        let result = self.decoder.event(event, &mut out);
        self.queue(out);
        result
    }

    /// The bytes have ended; has the reply?
    fn finish(&mut self) -> Result<(), Error> {
        // Some servers leave out the last blank line. What was cut in the middle must not pass for an event, though.
        if let Framing::Sse(parser) = &mut self.framing
            && let Some(event) = parser.finish()
            && (event.data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&event.data).is_ok())
        {
            self.decode(&event)?;
        }
        let mut out = Vec::new();
        let result = self.decoder.finish(&mut out);
        self.queue(out);
        result
    }

    /// Adds chunks, joining deltas that arrived together: fewer chunks are less work for everyone after.
    fn queue(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            if self.state == State::Complete {
                // Some servers send usage after the end; the stop must stay last.
                if !matches!(chunk, Chunk::Stop(_)) {
                    let place = self.ready.iter().position(|ready| matches!(ready, Chunk::Stop(_)));
                    if let Some(place) = place {
                        self.ready.insert(place, chunk);
                    }
                }
                continue;
            }
            if matches!(chunk, Chunk::Stop(_)) {
                self.state = State::Complete;
            }
            match (self.ready.back_mut(), chunk) {
                (Some(Chunk::Text(text)), Chunk::Text(more)) | (Some(Chunk::Thinking(text)), Chunk::Thinking(more)) => {
                    text.push_str(&more);
                }
                (Some(Chunk::ToolInput { id, delta }), Chunk::ToolInput { id: same, delta: more }) if *id == same => {
                    delta.push_str(&more);
                }
                (_, chunk) => self.ready.push_back(chunk),
            }
        }
    }

    fn fail(&mut self, mut error: Error) {
        for secret in &self.secrets {
            fault::redact(&mut error, secret);
        }
        self.failure = Some(error);
        self.state = State::Ended;
    }

    /// Takes in all that has come, until there is something to tell and nothing more to read.
    fn gather(&mut self, cx: &mut Context<'_>) {
        let mut pieces = 0;
        while self.state != State::Ended && (self.ready.is_empty() || pieces < BATCH) {
            pieces += 1;
            match self.bytes.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(bytes))) => {
                    if let Err(error) = self.take(&bytes) {
                        self.fail(error);
                    }
                }
                Poll::Ready(Some(Err(detail))) => match self.state {
                    State::Open => {
                        let provider = self.provider.clone();
                        self.fail(Error::Cut { provider, detail });
                    }
                    State::Complete | State::Ended => self.state = State::Ended,
                },
                Poll::Ready(None) => match self.finish() {
                    Ok(()) => self.state = State::Ended,
                    Err(error) => self.fail(error),
                },
                Poll::Pending => {
                    if pieces > 1 {
                        self.heard = Instant::now();
                    }
                    if self.ready.is_empty() && self.silent(cx) {
                        self.give_up();
                        continue;
                    }
                    return;
                }
            }
        }
        self.heard = Instant::now();
    }

    /// Nothing has come for too long.
    fn give_up(&mut self) {
        match self.state {
            State::Open => {
                let (provider, after) = (self.provider.clone(), self.stall);
                self.fail(Error::Stalled { provider, after });
            }
            State::Complete | State::Ended => self.state = State::Ended,
        }
    }

    /// Whether silence has lasted too long; arranges to be woken when it will have.
    fn silent(&mut self, cx: &mut Context<'_>) -> bool {
        let patience = match self.state {
            State::Open => self.stall,
            State::Complete | State::Ended => FAREWELL.min(self.stall),
        };
        let deadline = self.heard + patience;
        loop {
            if Instant::now() >= deadline {
                return true;
            }
            // The alarm is set anew only when it rings or is too late, not for every piece of the stream.
            if self.alarm.deadline() > deadline || self.alarm.is_elapsed() {
                self.alarm.as_mut().reset(deadline);
            }
            if Future::poll(self.alarm.as_mut(), cx).is_pending() {
                return false;
            }
        }
    }
}

impl Stream for Reading {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.ready.is_empty() {
            this.gather(cx);
        }
        match this.ready.pop_front() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None if this.state == State::Ended => Poll::Ready(this.failure.take().map(Err)),
            None => Poll::Pending,
        }
    }
}
