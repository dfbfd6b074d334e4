//! Each vendor's HTTP dialect.
//!
//! [`connect`] makes a [`model::Model`] of [`Settings`]. A wire (see [`model::Wire`]) renders requests and reads events; the
//! transport beneath is the same for all. Presets know the addresses and quirks of named providers.

mod aws;
mod client;
pub mod discover;
mod error;
mod eventstream;
mod fault;
mod google;
mod http;
mod image;
mod kept;
mod length;
pub mod presets;
mod reading;
mod settings;
mod sse;
mod surroundings;
mod wire;

pub use aws::{Aws, AwsAuth, AwsGiven, AwsKeys};
pub use client::connect;
pub use error::Error;
pub use google::{Google, GoogleAuth, GoogleGiven};
pub use http::trust;
pub use image::{Painter, Painting, Picture, image_model};
pub use presets::Quirks;
pub use settings::{STALL, Secret, Settings};
pub use surroundings::Surroundings;

use bytes::Bytes;
use futures::StreamExt as _;
use model::{Info, Request, Wire};

/// The body that [`connect`]'s model would send, as one text, and the notices that would precede the reply.
pub fn render(request: &Request, info: &Info, settings: &Settings) -> (Vec<u8>, Vec<String>) {
    let mut notices = Vec::new();
    let pieces = wire::body(request, info, settings, &mut kept::Kept::default(), &mut notices);
    (pieces.concat(), notices)
}

/// Reads a recorded reply as [`connect`]'s model would read it from the network.
///
/// Needs a Tokio runtime with time, like the models themselves.
pub fn decode(wire: Wire, provider: &str, bytes: impl futures::Stream<Item = Bytes> + Send + 'static) -> model::Stream {
    let bytes = Box::pin(bytes.map(Ok));
    Box::pin(reading::Reading::new(wire, provider, bytes, STALL))
}

#[cfg(test)]
mod tests;
