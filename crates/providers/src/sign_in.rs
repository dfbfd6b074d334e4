//! Sign-in with a subscription: endpoints of providers as data, tokens, and the OAuth requests.
//!
//! Nothing is stored here: `host` stores tokens and passes a [`TokenSource`] to the models.

mod browser;
mod device;
mod request;
mod tokens;

pub use browser::BrowserSignIn;
pub use device::DeviceSignIn;
pub use request::SignInClient;
pub use tokens::{ExchangedToken, SignInTokens, TokenLifetime};

use crate::settings::Secret;
use futures::future::BoxFuture;
use model::Error as RequestError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The known providers with their endpoints, as a JSON object.
const ENDPOINTS: &str = include_str!("sign_in/endpoints.json");

/// Where and how a user signs in to a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignInEndpoints {
    /// The public OAuth client.
    pub client_id: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The page for the sign-in in a browser (PKCE); empty if the provider has none.
    pub authorize_url: String,
    /// Additional parameters of that page.
    pub authorize_options: BTreeMap<String, String>,
    /// The registered port of the callback; 0 selects a free one.
    pub callback_port: u16,
    /// The registered path of the callback.
    pub callback_path: String,
    /// Requests a device code; empty if the provider has no device flow.
    pub device_url: String,
    /// Polled with a device code. If set, it returns an authorization code; otherwise `token_url` is polled (RFC 8628).
    pub device_token_url: String,
    /// The page on which the user enters the device code, unless the response names one.
    pub device_page: String,
    /// The redirect URI of an authorization code from `device_token_url`.
    pub device_redirect: String,
    /// Issues and refreshes tokens.
    pub token_url: String,
    /// Revokes tokens; empty if the provider cannot.
    pub revoke_url: String,
    /// Exchanges the access token for a short-lived token of the API; empty if the API accepts the access token.
    pub exchange_url: String,
    /// The path of the account's id in the claims of the id token or the access token.
    pub account_claim: Vec<String>,
    /// The header with the account's id.
    pub account_header: String,
    /// Additional headers of exchange and API requests.
    pub headers: BTreeMap<String, String>,
    /// The terms that apply, for the user.
    pub terms: String,
}

/// The endpoints of a provider: the known ones, overridden by `configured` fields. `None` if it has no sign-in.
pub fn sign_in_endpoints(
    provider: &str,
    configured: &Map<String, Value>,
) -> Option<Result<SignInEndpoints, serde_json::Error>> {
    let mut fields = known_fields(provider);
    if fields.is_none() && configured.is_empty() {
        return None;
    }
    let mut fields = fields.take().unwrap_or_default();
    fields.extend(configured.clone());
    Some(serde_json::from_value(Value::Object(fields)))
}

fn known_fields(provider: &str) -> Option<Map<String, Value>> {
    // Other names are the common case, which needs no parsing.
    if !ENDPOINTS.contains(&format!("\"{provider}\": {{")) {
        return None;
    }
    let all: BTreeMap<String, Map<String, Value>> = serde_json::from_str(ENDPOINTS).unwrap_or_default();
    all.get(provider).cloned()
}

impl SignInEndpoints {
    /// Whether the user can sign in with a browser on this machine.
    pub fn has_browser_flow(&self) -> bool {
        !self.authorize_url.is_empty()
    }

    /// Whether the user can sign in with a code on any device.
    pub fn has_device_flow(&self) -> bool {
        !self.device_url.is_empty()
    }
}

/// Supplies the token of each request.
pub trait TokenSource: Send + Sync {
    /// Returns a valid token, refreshed if necessary. `rejected` is a token that the provider rejected with 401.
    fn token(&self, rejected: Option<Secret>) -> BoxFuture<'_, Result<RequestToken, RequestError>>;
}

/// The credentials of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestToken {
    /// The bearer token.
    pub bearer: Secret,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// The base URL that the provider assigned to the account.
    pub base_url: Option<String>,
}

/// Why a sign-in, a refresh or a revocation failed. No variant contains a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The user or the provider denied the sign-in.
    #[error("the sign-in was denied")]
    Denied,
    /// The device code expired.
    #[error("the code expired before it was entered")]
    Expired,
    /// The refresh token is no longer valid.
    #[error("the sign-in has expired or was revoked")]
    Revoked,
    /// The account has no access to the API.
    #[error("the account has no access: {0}")]
    NoAccess(String),
    /// The provider could not be reached; the sign-in may still be valid.
    #[error("could not reach {0}")]
    Unreachable(String),
    /// The provider responded with an error.
    #[error("the provider responded with an error (HTTP {status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        detail: String,
    },
    /// The response is not as expected.
    #[error("the provider sent an unexpected response: {0}")]
    Invalid(String),
    /// The callback of the browser cannot be received.
    #[error("cannot listen for the browser: {0}")]
    Callback(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::preset;

    #[test]
    fn each_known_sign_in_belongs_to_a_preset_and_states_its_terms() {
        let all: BTreeMap<String, SignInEndpoints> = serde_json::from_str(ENDPOINTS).unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["chatgpt", "github-copilot"]);
        for (name, endpoints) in all {
            assert!(preset(&name).is_some(), "{name}");
            assert!(endpoints.has_device_flow() && !endpoints.terms.is_empty(), "{name}");
            let found = sign_in_endpoints(&name, &Map::new()).unwrap().unwrap();
            assert_eq!(found, endpoints);
        }
        assert!(sign_in_endpoints("anthropic", &Map::new()).is_none());
    }

    #[test]
    fn configured_fields_replace_single_endpoints() {
        let configured = serde_json::json!({"token_url": "http://127.0.0.1:1/token"});
        let Value::Object(configured) = configured else {
            return;
        };
        let found = sign_in_endpoints("chatgpt", &configured).unwrap().unwrap();
        assert_eq!(found.token_url, "http://127.0.0.1:1/token");
        assert!(found.authorize_url.starts_with("https://auth.openai.com/"));
        let other = sign_in_endpoints("mine", &configured).unwrap().unwrap();
        assert!(!other.has_device_flow());
    }
}
