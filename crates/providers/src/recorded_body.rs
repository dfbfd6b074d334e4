//! The settings that determine the body of a request, recorded so that the same body can be rendered later and elsewhere.

use crate::google::{GoogleAuth, GoogleSettings};
use crate::presets::Quirks;
use crate::settings::{ProviderSettings, Secret};
use crate::wire;
use crate::wire_cache::WireCache;
use model::{Info, Request, SentBody, Wire};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The settings that determine the body of a request: no address and no credentials.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BodySettings {
    /// The model.
    pub info: Info,
    provider: String,
    wire: Wire,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    options: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    model_options: Map<String, Value>,
    quirks: Quirks,
    /// Whether the model is served by Vertex AI.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    vertex: bool,
}

impl BodySettings {
    /// The settings of a model.
    pub fn of(info: &Info, settings: &ProviderSettings) -> Self {
        BodySettings {
            info: info.clone(),
            provider: settings.provider.clone(),
            wire: settings.wire,
            options: settings.options.clone(),
            model_options: settings.model_options.clone(),
            quirks: settings.quirks.clone(),
            vertex: settings.google.is_some(),
        }
    }

    /// The wire format.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Renders requests of one conversation.
    pub fn renderer(&self) -> BodyRenderer {
        let mut settings = ProviderSettings::new(self.provider.clone(), self.wire, "");
        settings.options = self.options.clone();
        settings.model_options = self.model_options.clone();
        settings.quirks = self.quirks.clone();
        settings.google = self.vertex.then(|| GoogleSettings {
            project: String::new(),
            location: String::new(),
            auth: GoogleAuth::Token(Secret::new("")),
        });
        BodyRenderer {
            info: self.info.clone(),
            settings,
            cache: WireCache::default(),
        }
    }

    /// Decodes the recorded bytes of a reply as the model decodes them from the network.
    ///
    /// Requires a Tokio runtime with timers, like the models.
    pub fn decode(&self, bytes: impl futures::Stream<Item = bytes::Bytes> + Send + 'static) -> model::Stream {
        use futures::StreamExt as _;
        let bytes = Box::pin(bytes.map(Ok));
        let stream = crate::reply_stream::ReplyStream::new(self.wire, &self.provider, bytes, crate::STALL_TIMEOUT);
        Box::pin(stream.with_quirks(&self.quirks))
    }
}

/// Renders the bodies of a conversation's requests, each only as far as it is new.
#[derive(Debug)]
pub struct BodyRenderer {
    info: Info,
    settings: ProviderSettings,
    cache: WireCache,
}

impl BodyRenderer {
    /// The body of a request.
    pub fn render(&mut self, request: &Request) -> Vec<u8> {
        wire::body(request, &self.info, &self.settings, &mut self.cache, &mut Vec::new()).concat()
    }
}

/// The length and the digest of a body in pieces.
pub fn body_digest<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> SentBody {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut bytes = 0;
    for piece in pieces {
        context.update(piece);
        bytes += piece.len() as u64;
    }
    let mut sha256 = [0; 32];
    sha256.copy_from_slice(context.finish().as_ref());
    SentBody { bytes, sha256 }
}
