//! What is said to a language model and what it says back.
//!
//! Start with [`Model`]: two methods. Everything one may ask about a model is data in [`Info`]; everything said to it is a
//! [`Request`]; everything it says back is a stream of [`Chunk`]s, which [`Reply`] gathers into the parts of a [`Message`].

mod caching;
mod catalogue;
mod chunk;
mod error;
mod info;
pub mod json;
mod message;
mod reply;
mod request;
mod sent;
mod usage;

pub use caching::{CachedBy, Caching};
pub use catalogue::{Catalogue, Lookup};
pub use chunk::{Chunk, Part as ChunkPart, Stop};
pub use error::{Error, Retry};
pub use info::{Effort, Features, Info, Limits, Prices, Tier, Wire};
pub use message::{Block, CallId, Media, Message, Outcome, Part, Replay, Role};
pub use reply::Reply;
pub use request::{Breakpoint, OutputSchema, Request, ToolChoice, ToolSpec};
pub use sent::Sent;
pub use usage::{Cost, Usage};

use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// What a model says back, as it arrives. Dropping the stream cancels the request.
pub type Stream = BoxStream<'static, Result<Chunk, Error>>;

/// A language model that can be talked to.
pub trait Model: Send + Sync {
    /// Everything one may ask about this model.
    fn info(&self) -> &Info;

    /// Sends one request. The future ends when the provider has accepted it; the stream then yields what it says.
    ///
    /// Nothing is retried here: an [`Error`] says whether and how a retry makes sense, and the caller decides.
    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, Error>>;
}
