//! Anthropic Messages on Google's Vertex AI: another envelope and address.

use super::anthropic::{self, Envelope};
use crate::kept::Kept;
use crate::settings::Settings;
use bytes::Bytes;
use model::{Info, Request};

pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    anthropic::render(request, info, settings, kept, notices, Envelope::Vertex)
}

pub(crate) fn path(info: &Info, settings: &Settings) -> String {
    let (project, location) = match &settings.google {
        Some(google) => (google.project.as_str(), google.location.as_str()),
        None => ("-", "global"),
    };
    format!(
        "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{}:streamRawPredict",
        info.id
    )
}
