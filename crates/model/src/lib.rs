//! The interface to language models.
//!
//! Start with [`Model`], which has two methods. [`Info`] holds all facts about a model, a [`Request`] is the input, and
//! the reply is a stream of [`Chunk`]s, which [`Reply`] collects into the parts of a [`Message`].

mod caching;
mod catalogue;
mod chunk;
pub mod entities;
mod error;
mod info;
pub mod json;
mod message;
mod prompt_size;
mod reply;
mod request;
mod usage;
mod wire_trace;

pub use caching::{CacheMode, CachePolicy};
pub use catalogue::{Catalogue, ModelLookup};
pub use chunk::{Chunk, ChunkPart, Stop};
pub use error::{Error, Retry};
pub use info::{Effort, Features, Info, ModelPrices, PriceTier, TokenLimits, Wire, parameters_in};
pub use message::{Block, CallId, Media, Message, Part, PartOrigin, ReplayData, Role, ToolOutcome};
pub use prompt_size::PromptSize;
pub use reply::Reply;
pub use request::{Breakpoint, OutputSchema, Request, ToolChoice, ToolSpec};
pub use usage::{Cost, Usage};
pub use wire_trace::{RecordedStream, SentBody, StreamPiece, WireTrace};

use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// The chunks of a reply as they arrive. Dropping the stream cancels the request.
pub type Stream = BoxStream<'static, Result<Chunk, Error>>;

/// A language model.
pub trait Model: Send + Sync {
    /// All facts about this model.
    fn info(&self) -> &Info;

    /// Sends one request. The future completes when the provider accepts it; the stream then yields the reply.
    ///
    /// Requests are not retried here: [`Error::retry`] returns the advice, and the caller decides.
    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, Error>>;
}
