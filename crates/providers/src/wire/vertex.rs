//! Anthropic Messages on Google's Vertex AI: a different envelope and path.

use super::anthropic::{self, Envelope};
use crate::settings::ProviderSettings;
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{Info, Request};

pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    anthropic::render(request, info, settings, cache, notices, Envelope::Vertex)
}

pub(crate) fn path(info: &Info, settings: &ProviderSettings) -> String {
    let (project, location) = match &settings.google {
        Some(google) => (google.project.as_str(), google.location.as_str()),
        None => ("-", "global"),
    };
    format!(
        "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{}:streamRawPredict",
        info.id
    )
}
