//! Provider settings: address, credentials and options.

use crate::aws::{AwsAuth, AwsSettings};
use crate::google::{GoogleAuth, GoogleSettings};
use crate::http::ProviderTransport;
use crate::presets::{AuthScheme, Quirks};
use crate::sign_in::TokenSource;
use model::Wire;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The time without data after which a request fails.
///
/// Providers send keepalives during long reasoning; five minutes of silence mean a dead connection.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(300);

/// The settings of one provider. Clones share their connections.
#[derive(Clone)]
pub struct ProviderSettings {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The API protocol.
    pub wire: Wire,
    /// The API's base address, to which the wire adds its path. May be empty for Bedrock and Vertex, which derive it
    /// from the region.
    pub base_url: String,
    /// The key, if required.
    pub key: Option<Secret>,
    /// Supplies the token of each request for a user who signed in.
    pub token_source: Option<Arc<dyn TokenSource>>,
    /// Additional headers for every request. They override hew's own.
    pub headers: Vec<(String, String)>,
    /// Extra request fields for all models of this provider: the second layer of the options merge.
    pub options: Map<String, Value>,
    /// Extra request fields for this model: the third layer of the options merge.
    pub model_options: Map<String, Value>,
    /// The provider's differences from the wire's protocol.
    pub quirks: Quirks,
    /// The stall timeout.
    pub stall_timeout: Duration,
    /// The address of an HTTP proxy. The environment is not read here.
    pub proxy: Option<String>,
    /// Region and credentials for Bedrock.
    pub aws: Option<AwsSettings>,
    /// Project and credentials for Vertex AI. On the Gemini wire they select Vertex.
    pub google: Option<GoogleSettings>,
    /// The maximum number of bytes of each reply that are recorded in the request's trace; `None` to record nothing.
    pub record: Option<usize>,
    /// Configured keys of others, which are removed from errors too.
    pub other_secrets: Arc<[String]>,
    /// The connections, created on the first request.
    pub(crate) transport: ProviderTransport,
}

impl ProviderSettings {
    /// Settings with only an address.
    pub fn new(provider: impl Into<String>, wire: Wire, base_url: impl Into<String>) -> Self {
        let auth = match wire {
            Wire::AnthropicMessages => AuthScheme::XApiKey,
            Wire::Gemini => AuthScheme::XGoogApiKey,
            Wire::BedrockAnthropic | Wire::BedrockConverse => AuthScheme::Aws,
            Wire::VertexAnthropic => AuthScheme::Google,
            Wire::OpenaiChat | Wire::OpenaiResponses => AuthScheme::Bearer,
        };
        ProviderSettings {
            provider: provider.into(),
            wire,
            base_url: base_url.into(),
            key: None,
            token_source: None,
            headers: Vec::new(),
            options: Map::new(),
            model_options: Map::new(),
            quirks: Quirks {
                auth,
                ..Quirks::default()
            },
            stall_timeout: STALL_TIMEOUT,
            proxy: None,
            aws: None,
            google: None,
            record: None,
            other_secrets: Arc::default(),
            transport: ProviderTransport::default(),
        }
    }

    /// Secrets that a provider may repeat in a message, the longest first: one may contain another.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<&str> = self.key.iter().map(Secret::reveal).collect();
        let is_sensitive = |name: &str| {
            ["auth", "key", "token", "secret"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
        };
        let headers = self.headers.iter().filter(|(name, _)| is_sensitive(name));
        secrets.extend(headers.map(|(_, value)| value.as_str()));
        match self.aws.as_ref().map(|aws| &aws.auth) {
            Some(AwsAuth::Bearer(token)) => secrets.push(token.reveal()),
            Some(AwsAuth::Keys(keys)) => secrets.extend(keys.session.iter().map(Secret::reveal)),
            None => {}
        }
        if let Some(GoogleAuth::Token(token)) = self.google.as_ref().map(|google| &google.auth) {
            secrets.push(token.reveal());
        }
        secrets.extend(self.other_secrets.iter().map(String::as_str));
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().map(str::to_string).collect()
    }
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and proxy addresses may contain secrets, so only names are printed.
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("provider", &self.provider)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("signed_in", &self.token_source.is_some())
            .field("headers", &headers)
            .field("options", &self.options)
            .field("model_options", &self.model_options)
            .field("quirks", &self.quirks)
            .field("stall", &self.stall_timeout)
            .field("proxy", &self.proxy.is_some())
            .field("aws", &self.aws)
            .field("google", &self.google)
            .finish()
    }
}

/// Text that must not be displayed, logged or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, for sending it.
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
    fn debug_output_contains_no_secret() {
        let mut settings = ProviderSettings::new("p", Wire::AnthropicMessages, "http://127.0.0.1:1");
        settings.key = Some(Secret::new("sk-hidden"));
        settings.headers = vec![("authorization".into(), "Bearer hidden".into())];
        settings.proxy = Some("http://user:hidden@proxy".into());
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hidden") && shown.contains("authorization"), "{shown}");
    }
}
