//! Clients for the vendors' HTTP APIs.
//!
//! [`connect`] creates a [`model::Model`] from [`ProviderSettings`]. A wire (see [`model::Wire`]) renders requests and
//! parses events; the transport is the same for all. Presets hold the addresses and quirks of named providers.

mod adaptation;
mod aws;
mod client;
mod completion;
pub mod discover;
mod embedding;
mod environment;
mod error;
mod error_mapping;
mod event_stream;
mod google;
mod http;
mod image;
pub mod presets;
mod prompt_size;
mod recorded_body;
mod reply_stream;
mod settings;
pub mod sign_in;
mod sse;
mod wire;
mod wire_cache;

pub use aws::{AwsAuth, AwsKeys, AwsOptions, AwsSettings};
pub use client::connect;
pub use completion::{CompletionAnswer, CompletionModel, CompletionRequest};
pub use embedding::{EmbeddingModel, EmbeddingPurpose};
pub use environment::ProviderEnvironment;
pub use error::Error;
pub use google::{GoogleAuth, GoogleOptions, GoogleSettings};
pub use http::tls_config;
pub use image::{GeneratedImage, ImageModel, ImageRequest, default_image_model};
pub use presets::Quirks;
pub use recorded_body::{BodyRenderer, BodySettings, body_digest};
pub use settings::{ProviderSettings, STALL_TIMEOUT, Secret};

use bytes::Bytes;
use futures::StreamExt as _;
use model::{Info, Request, Wire};

/// The body that [`connect`]'s model sends, as one buffer, and the notices that precede the reply.
pub fn render_body(request: &Request, info: &Info, settings: &ProviderSettings) -> (Vec<u8>, Vec<String>) {
    let mut notices = Vec::new();
    let pieces = wire::body(
        request,
        info,
        settings,
        &mut wire_cache::WireCache::default(),
        &mut notices,
    );
    (pieces.concat(), notices)
}

/// Decodes a recorded reply as [`connect`]'s model decodes it from the network.
///
/// Requires a Tokio runtime with timers, like the models.
pub fn decode_reply(
    wire: Wire,
    provider: &str,
    bytes: impl futures::Stream<Item = Bytes> + Send + 'static,
) -> model::Stream {
    let bytes = Box::pin(bytes.map(Ok));
    Box::pin(reply_stream::ReplyStream::new(wire, provider, bytes, STALL_TIMEOUT))
}

#[cfg(test)]
mod tests;
