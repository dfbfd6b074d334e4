//! How to reach one provider: address, credentials and the layers of options.

use crate::aws::Aws;
use crate::google::Google;
use crate::http::Transport;
use crate::presets::{Auth, Quirks};
use model::Wire;
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;

/// How long a provider may send nothing before the request is given up.
///
/// Providers that think for long send a sign of life in between; silence for five minutes means a dead connection.
pub const STALL: Duration = Duration::from_secs(300);

/// How to reach one provider. Clones share their connections.
#[derive(Clone)]
pub struct Settings {
    /// The provider's name in hew's configuration.
    pub provider: String,
    /// The dialect that it speaks.
    pub wire: Wire,
    /// Where its API begins; the wire's own path is added. May be empty for Bedrock and Vertex, whose address follows from
    /// the region.
    pub base_url: String,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// Further headers of every request. They win over hew's own.
    pub headers: Vec<(String, String)>,
    /// Extra request fields for all models of this provider: the second layer of the options merge.
    pub options: Map<String, Value>,
    /// Extra request fields for this model: the third layer of the options merge.
    pub model_options: Map<String, Value>,
    /// Where this provider departs from the dialect.
    pub quirks: Quirks,
    /// How long it may send nothing.
    pub stall: Duration,
    /// The address of an HTTP proxy. The environment is not consulted here.
    pub proxy: Option<String>,
    /// Region and credentials for Bedrock.
    pub aws: Option<Aws>,
    /// Project and credentials for Vertex AI. On the Gemini wire their presence means that Vertex serves the model.
    pub google: Option<Google>,
    /// The connections, made when the first request leaves.
    pub(crate) transport: Transport,
}

impl Settings {
    /// Settings with nothing but an address.
    pub fn new(provider: impl Into<String>, wire: Wire, base_url: impl Into<String>) -> Self {
        let auth = match wire {
            Wire::AnthropicMessages => Auth::XApiKey,
            Wire::Gemini => Auth::XGoogApiKey,
            Wire::BedrockAnthropic => Auth::Aws,
            Wire::VertexAnthropic => Auth::Google,
            Wire::OpenaiChat | Wire::OpenaiResponses => Auth::Bearer,
        };
        Settings {
            provider: provider.into(),
            wire,
            base_url: base_url.into(),
            key: None,
            headers: Vec::new(),
            options: Map::new(),
            model_options: Map::new(),
            quirks: Quirks {
                auth,
                ..Quirks::default()
            },
            stall: STALL,
            proxy: None,
            aws: None,
            google: None,
            transport: Transport::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and proxy addresses may carry secrets, so only names are shown.
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("provider", &self.provider)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("headers", &headers)
            .field("options", &self.options)
            .field("model_options", &self.model_options)
            .field("quirks", &self.quirks)
            .field("stall", &self.stall)
            .field("proxy", &self.proxy.is_some())
            .field("aws", &self.aws)
            .field("google", &self.google)
            .finish()
    }
}

/// Text that must never be shown, logged or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides this text.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_shows_in_debug_output() {
        let mut settings = Settings::new("p", Wire::AnthropicMessages, "http://127.0.0.1:1");
        settings.key = Some(Secret::new("sk-hidden"));
        settings.headers = vec![("authorization".into(), "Bearer hidden".into())];
        settings.proxy = Some("http://user:hidden@proxy".into());
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hidden") && shown.contains("authorization"), "{shown}");
    }
}
