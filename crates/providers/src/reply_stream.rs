//! A streaming reply: parses bytes into events and events into chunks, and detects stalls.

use crate::error_mapping;
use crate::event_stream;
use crate::http::ConnectionError;
use crate::presets::Quirks;
use crate::sse;
use crate::wire::{WireDecoder, bedrock, converse};
use bytes::Bytes;
use futures::Stream;
use model::{Chunk, Error, Wire};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// How long the connection of a complete reply may take to end, so that it can be reused.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of bytes before chunks are delivered and other tasks run, such as the one that waits for signals.
const MAX_BATCH: usize = 64 << 10;

/// The limits of a reply. They are far above those of any model, so that only a server that never ends a reply reaches
/// them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLimits {
    /// Text, reasoning and tool input together.
    content: usize,
    /// Everything, including the framing.
    bytes: usize,
    /// Tool calls.
    calls: usize,
    /// From the response to its end.
    duration: Duration,
}

impl ReplyLimits {
    const MAX_CONTENT: usize = 4 << 20;
    const MIN_CONTENT: usize = 256 << 10;
    /// No tokenizer has a larger average.
    const BYTES_PER_TOKEN: usize = 16;
    /// The framing of a token is at most this many times as long as the token.
    const FRAMING: usize = 64;
    /// What is not content: signatures, comments and events without effect, besides the framing.
    const MAX_OVERHEAD: usize = 32 << 20;
    const MAX_CALLS: usize = 256;
    const MAX_DURATION: Duration = Duration::from_secs(60 * 60);

    /// The limits of a reply with this maximum number of tokens, if it is known.
    pub(crate) fn new(max_tokens: Option<u64>) -> Self {
        let tokens = max_tokens.and_then(|tokens| usize::try_from(tokens).ok());
        let content = tokens.map_or(ReplyLimits::MAX_CONTENT, |tokens| {
            let content = tokens.saturating_mul(ReplyLimits::BYTES_PER_TOKEN);
            content.clamp(ReplyLimits::MIN_CONTENT, ReplyLimits::MAX_CONTENT)
        });
        ReplyLimits {
            content,
            bytes: content * ReplyLimits::FRAMING,
            calls: ReplyLimits::MAX_CALLS,
            duration: ReplyLimits::MAX_DURATION,
        }
    }
}

/// The bytes of a reply; the error describes the connection failure.
pub(crate) type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ConnectionError>> + Send>>;

/// A streaming reply.
pub(crate) struct ReplyStream {
    provider: String,
    bytes: ByteStream,
    framing: Framing,
    decoder: WireDecoder,
    ready: VecDeque<Chunk>,
    /// Delivered after the ready chunks.
    failure: Option<Error>,
    state: StreamState,
    stall: Duration,
    last_received: Instant,
    stall_timer: Pin<Box<Sleep>>,
    secrets: Vec<String>,
    limits: ReplyLimits,
    started: Instant,
    /// The bytes of the content so far.
    content: usize,
    /// The tool calls so far.
    calls: usize,
    /// All bytes so far.
    received: usize,
    /// The bytes since other tasks ran.
    unyielded: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// The reply is incomplete.
    Open,
    /// The reply is complete, but the byte stream has not ended.
    Complete,
    /// The stream has ended.
    Ended,
}

/// How events are framed in the bytes.
enum Framing {
    Sse(sse::SseParser),
    Aws(event_stream::EventStreamParser),
}

impl ReplyStream {
    pub(crate) fn new(wire: Wire, provider: &str, bytes: ByteStream, stall: Duration) -> Self {
        ReplyStream {
            provider: provider.to_string(),
            bytes,
            framing: match wire {
                Wire::BedrockAnthropic | Wire::BedrockConverse => {
                    Framing::Aws(event_stream::EventStreamParser::default())
                }
                Wire::AnthropicMessages
                | Wire::VertexAnthropic
                | Wire::OpenaiChat
                | Wire::OpenaiResponses
                | Wire::Gemini => Framing::Sse(sse::SseParser::default()),
            },
            decoder: WireDecoder::new(wire, provider),
            ready: VecDeque::new(),
            failure: None,
            state: StreamState::Open,
            stall,
            last_received: Instant::now(),
            stall_timer: Box::pin(tokio::time::sleep(stall)),
            secrets: Vec::new(),
            limits: ReplyLimits::new(None),
            started: Instant::now(),
            content: 0,
            calls: 0,
            received: 0,
            unyielded: 0,
        }
    }

    /// Sets the limits of the reply.
    pub(crate) fn with_limits(mut self, limits: ReplyLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds chunks to deliver before the reply.
    pub(crate) fn with_leading_chunks(mut self, leading: Vec<Chunk>) -> Self {
        self.ready.extend(leading);
        self
    }

    /// Applies the server's quirks.
    pub(crate) fn with_quirks(mut self, quirks: &Quirks) -> Self {
        self.decoder.apply_quirks(quirks);
        self
    }

    /// Removes these secrets from errors.
    pub(crate) fn with_secrets(mut self, secrets: Vec<String>) -> Self {
        self.secrets = secrets;
        self
    }

    /// Fails if the reply exceeds its limits.
    fn check_limits(&self) -> Result<(), Error> {
        let ReplyLimits {
            content,
            bytes,
            calls,
            duration,
        } = self.limits;
        let detail = if self.content > content {
            format!("it is longer than {} KB", content >> 10)
        } else if self.calls > calls {
            format!("it contains more than {calls} tool calls")
        } else if self.received > bytes.min(self.allowed_bytes()) {
            format!("it is longer than {} MB", self.received >> 20)
        } else if self.started.elapsed() > duration {
            format!("it took longer than {} minutes", duration.as_secs() / 60)
        } else {
            return Ok(());
        };
        let provider = self.provider.clone();
        Err(Error::ReplyTooLong { provider, detail })
    }

    /// The maximum of all bytes for the content so far; single characters have the longest framing.
    fn allowed_bytes(&self) -> usize {
        ReplyLimits::MAX_OVERHEAD + self.content * ReplyLimits::FRAMING * ReplyLimits::BYTES_PER_TOKEN
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.received += bytes.len();
        self.unyielded += bytes.len();
        self.check_limits()?;
        let invalid = |what: String| error_mapping::invalid_response(&self.provider, &what, "");
        match &mut self.framing {
            Framing::Sse(parser) => {
                let events = parser.feed(bytes).map_err(|error| invalid(error.to_string()))?;
                for event in events {
                    self.decode(&event)?;
                }
            }
            Framing::Aws(parser) => {
                let frames = parser.feed(bytes).map_err(|error| invalid(error.to_string()))?;
                for frame in frames {
                    let event = match self.decoder {
                        WireDecoder::Converse(_) => converse::event(&self.provider, &frame)?,
                        WireDecoder::Anthropic(_)
                        | WireDecoder::Chat(_)
                        | WireDecoder::Responses(_)
                        | WireDecoder::Gemini(_) => bedrock::event(&self.provider, &frame)?,
                    };
                    if let Some(event) = event {
                        self.decode(&event)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn decode(&mut self, event: &sse::SseEvent) -> Result<(), Error> {
        let mut out = Vec::new();
        let result = self.decoder.event(event, &mut out);
        self.queue(out);
        result
    }

    /// Handles the end of the bytes; fails if the reply is incomplete.
    fn finish(&mut self) -> Result<(), Error> {
        // Some servers omit the last blank line. A truncated event must not count as one, though.
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

    /// Adds chunks and joins deltas that arrived together, so that consumers process fewer chunks.
    fn queue(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            if self.state == StreamState::Complete {
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
                self.state = StreamState::Complete;
            }
            self.content += content_bytes(&chunk);
            self.calls += usize::from(matches!(chunk, Chunk::ToolStart { .. }));
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
            error_mapping::redact(&mut error, secret);
        }
        self.failure = Some(error);
        self.state = StreamState::Ended;
    }

    /// Reads everything available, until there are chunks to deliver and no more bytes to read.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) {
        let mut pieces = 0;
        while self.state != StreamState::Ended && self.unyielded < MAX_BATCH {
            pieces += 1;
            match self.bytes.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(bytes))) => {
                    if let Err(error) = self.feed(&bytes) {
                        self.fail(error);
                    }
                }
                Poll::Ready(Some(Err(error))) => match self.state {
                    StreamState::Open => {
                        let (provider, detail) = (self.provider.clone(), error.to_string());
                        self.fail(Error::StreamCut { provider, detail });
                    }
                    StreamState::Complete | StreamState::Ended => self.state = StreamState::Ended,
                },
                Poll::Ready(None) => match self.finish() {
                    Ok(()) => self.state = StreamState::Ended,
                    Err(error) => self.fail(error),
                },
                Poll::Pending => {
                    self.unyielded = 0;
                    if pieces > 1 {
                        self.last_received = Instant::now();
                    }
                    if self.ready.is_empty() && self.is_stalled(cx) {
                        self.fail_stalled();
                        continue;
                    }
                    return;
                }
            }
        }
        self.last_received = Instant::now();
    }

    /// Fails the stream after the stall timeout.
    fn fail_stalled(&mut self) {
        match self.state {
            StreamState::Open => {
                let (provider, after) = (self.provider.clone(), self.stall);
                self.fail(Error::Stalled { provider, after });
            }
            StreamState::Complete | StreamState::Ended => self.state = StreamState::Ended,
        }
    }

    /// Whether the stall timeout has elapsed; otherwise registers a wake-up.
    fn is_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        let limit = match self.state {
            StreamState::Open => self.stall,
            StreamState::Complete | StreamState::Ended => CLOSE_TIMEOUT.min(self.stall),
        };
        let deadline = self.last_received + limit;
        loop {
            if Instant::now() >= deadline {
                return true;
            }
            // The timer is reset only when it fires, not for every read.
            if self.stall_timer.deadline() > deadline || self.stall_timer.is_elapsed() {
                self.stall_timer.as_mut().reset(deadline);
            }
            if Future::poll(self.stall_timer.as_mut(), cx).is_pending() {
                return false;
            }
        }
    }
}

/// The bytes that a chunk adds to the reply.
fn content_bytes(chunk: &Chunk) -> usize {
    match chunk {
        Chunk::Text(text) | Chunk::Thinking(text) | Chunk::ToolInput { delta: text, .. } => text.len(),
        Chunk::ToolStart { id, name } => id.as_str().len() + name.len(),
        // Signatures and reasoning that is sent back.
        Chunk::Replay { .. }
        | Chunk::ToolEnd { .. }
        | Chunk::Usage(_)
        | Chunk::Cost(_)
        | Chunk::Notice(_)
        | Chunk::PromptSize(_)
        | Chunk::Stop(_) => 0,
    }
}

impl Stream for ReplyStream {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.unyielded >= MAX_BATCH {
            this.unyielded = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if this.ready.is_empty() {
            this.poll_bytes(cx);
        }
        if this.ready.is_empty() && this.unyielded >= MAX_BATCH && this.state != StreamState::Ended {
            cx.waker().wake_by_ref();
        }
        match this.ready.pop_front() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None if this.state == StreamState::Ended => Poll::Ready(this.failure.take().map(Err)),
            None => Poll::Pending,
        }
    }
}
