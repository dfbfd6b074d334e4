//! The OAuth requests: tokens for a code, refresh, exchange and revocation.

use super::tokens::{ExchangedToken, SignInTokens, TokenLifetime, seconds_of};
use super::{SignInEndpoints, SignInError};
use crate::http::{error_chain, parse_url};
use crate::settings::ProviderSettings;
use model::Wire;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::form_urlencoded::Serializer;

/// The timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of a response in bytes.
const MAX_RESPONSE: usize = 1 << 20;
/// The maximum length of a provider's message that is shown.
const MAX_DETAIL: usize = 300;

/// Sends the requests of a sign-in.
#[derive(Clone)]
pub struct SignInClient {
    pub(super) endpoints: SignInEndpoints,
    settings: ProviderSettings,
}

/// A response with its body as JSON.
pub(super) struct JsonResponse {
    pub(super) status: u16,
    pub(super) body: Value,
    /// The provider's time in seconds since the epoch.
    server_now: Option<u64>,
}

impl JsonResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The OAuth error code.
    pub(super) fn error_code(&self) -> &str {
        match self.body.get("error") {
            Some(Value::String(code)) => code,
            Some(error) => error.get("code").and_then(Value::as_str).unwrap_or_default(),
            None => "",
        }
    }

    /// The error for the user.
    pub(super) fn refusal(&self) -> SignInError {
        let error = self.body.get("error");
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let detail = text(self.body.get("error_description"))
            .or_else(|| text(error.and_then(|error| error.get("message"))))
            .or_else(|| text(self.body.get("message")))
            .or_else(|| text(error))
            .unwrap_or_else(|| "no reason given".into());
        SignInError::Refused {
            status: self.status,
            detail: detail.chars().take(MAX_DETAIL).collect(),
        }
    }
}

/// The body of a request.
pub(super) enum RequestForm<'a> {
    /// URL-encoded fields.
    Fields(&'a [(&'a str, &'a str)]),
    /// A JSON object.
    Json(&'a Value),
    /// A GET request with this bearer token.
    Get(&'a str),
}

impl SignInClient {
    /// A client for these endpoints.
    pub fn new(provider: &str, endpoints: SignInEndpoints, proxy: Option<String>) -> Self {
        let mut settings = ProviderSettings::new(provider, Wire::OpenaiChat, endpoints.token_url.clone());
        settings.proxy = proxy;
        SignInClient { endpoints, settings }
    }

    /// The endpoints.
    pub fn endpoints(&self) -> &SignInEndpoints {
        &self.endpoints
    }

    /// Exchanges an authorization code for tokens.
    pub(super) async fn redeem(&self, code: &str, verifier: &str, redirect: &str) -> Result<SignInTokens, SignInError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", self.endpoints.client_id.as_str()),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect),
        ];
        let response = self
            .send(&self.endpoints.token_url, RequestForm::Fields(&fields))
            .await?;
        self.tokens(&response, None)
    }

    /// Reads tokens from a response.
    pub(super) fn tokens(
        &self,
        response: &JsonResponse,
        before: Option<&SignInTokens>,
    ) -> Result<SignInTokens, SignInError> {
        if !response.is_success() || !response.error_code().is_empty() {
            return Err(response.refusal());
        }
        SignInTokens::from_response(&response.body, &self.endpoints, before, now())
            .ok_or_else(|| SignInError::Invalid("it contains no access token".into()))
    }

    /// Returns tokens with which a request can be sent: refreshed, and exchanged if the API requires it. `rejected` is
    /// the token that the API rejected.
    pub async fn renew(&self, tokens: &SignInTokens, rejected: Option<&str>) -> Result<SignInTokens, SignInError> {
        let mut tokens = tokens.clone();
        let is_access_usable = tokens.has_valid_access(now()) && rejected != Some(tokens.access.as_str());
        if !is_access_usable {
            tokens = self.refresh(&tokens).await?;
        }
        if self.endpoints.exchange_url.is_empty() {
            return Ok(tokens);
        }
        match self.exchange(&tokens).await {
            // The access token was revoked, or expired although its lifetime had not ended.
            Err(SignInError::Revoked) if tokens.refresh.is_some() && is_access_usable => {
                let mut tokens = self.refresh(&tokens).await?;
                tokens.exchanged = Some(self.exchange(&tokens).await?);
                Ok(tokens)
            }
            exchanged => {
                tokens.exchanged = Some(exchanged?);
                Ok(tokens)
            }
        }
    }

    async fn refresh(&self, tokens: &SignInTokens) -> Result<SignInTokens, SignInError> {
        let Some(refresh) = &tokens.refresh else {
            return Err(SignInError::Revoked);
        };
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", self.endpoints.client_id.as_str()),
            ("refresh_token", refresh.as_str()),
        ];
        let response = self
            .send(&self.endpoints.token_url, RequestForm::Fields(&fields))
            .await?;
        let is_revoked = matches!(response.status, 400 | 401 | 403)
            || matches!(response.error_code(), "invalid_grant" | "bad_refresh_token");
        if is_revoked {
            return Err(SignInError::Revoked);
        }
        self.tokens(&response, Some(tokens))
    }

    /// Exchanges the access token for a token of the API.
    async fn exchange(&self, tokens: &SignInTokens) -> Result<ExchangedToken, SignInError> {
        let response = self
            .send(&self.endpoints.exchange_url, RequestForm::Get(&tokens.access))
            .await?;
        match response.status {
            401 => return Err(SignInError::Revoked),
            403 | 404 => {
                let why = match response.refusal() {
                    SignInError::Refused { detail, .. } => detail,
                    other => other.to_string(),
                };
                return Err(SignInError::NoAccess(why));
            }
            _ if !response.is_success() => return Err(response.refusal()),
            _ => {}
        }
        let body = &response.body;
        let token = body.get("token").and_then(Value::as_str);
        let token = token.ok_or_else(|| SignInError::Invalid("it contains no token".into()))?;
        let relative = ["expires_in", "refresh_in"].iter().find_map(|name| body.get(name));
        let lifetime = match (
            relative.and_then(seconds_of),
            body.get("expires_at").and_then(seconds_of),
        ) {
            (Some(seconds), _) => TokenLifetime::starting(now(), seconds),
            (None, Some(at)) => TokenLifetime::until(now(), at, response.server_now),
            (None, None) => TokenLifetime::until(now(), 0, None),
        };
        let base_url = body.pointer("/endpoints/api").and_then(Value::as_str);
        Ok(ExchangedToken {
            token: token.to_owned(),
            lifetime,
            base_url: base_url.map(str::to_owned),
        })
    }

    /// Revokes the sign-in at the provider, if it supports that.
    pub async fn revoke(&self, tokens: &SignInTokens) -> Result<(), SignInError> {
        if self.endpoints.revoke_url.is_empty() {
            return Ok(());
        }
        let (token, kind) = match &tokens.refresh {
            Some(refresh) => (refresh.as_str(), "refresh_token"),
            None => (tokens.access.as_str(), "access_token"),
        };
        let fields = [
            ("client_id", self.endpoints.client_id.as_str()),
            ("token", token),
            ("token_type_hint", kind),
        ];
        let response = self
            .send(&self.endpoints.revoke_url, RequestForm::Fields(&fields))
            .await?;
        match response.is_success() {
            true => Ok(()),
            false => Err(response.refusal()),
        }
    }

    /// Sends a request.
    pub(super) async fn send(&self, url: &str, form: RequestForm<'_>) -> Result<JsonResponse, SignInError> {
        let url = parse_url(&self.settings, url).map_err(|error| SignInError::Invalid(error.to_string()))?;
        let host = url.origin().ascii_serialization();
        let client = self.settings.transport.client(&self.settings, &[&url]);
        let client = client.map_err(|error| SignInError::Unreachable(error.to_string()))?;
        let request = match form {
            RequestForm::Fields(fields) => client
                .post(url)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(Serializer::new(String::new()).extend_pairs(fields).finish()),
            RequestForm::Json(body) => client
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            RequestForm::Get(token) => {
                let request = client.get(url).header(AUTHORIZATION, format!("Bearer {token}"));
                let headers = self.endpoints.headers.iter();
                headers.fold(request, |request, (name, value)| request.header(name, value))
            }
        };
        let unreachable =
            |error: reqwest::Error| SignInError::Unreachable(format!("{host}: {}", error_chain(&error.without_url())));
        let request = request.header(ACCEPT, "application/json").timeout(REQUEST_TIMEOUT);
        let mut response = request.send().await.map_err(unreachable)?;
        let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
        let server_now = date.and_then(http_date);
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_RESPONSE {
                return Err(SignInError::Invalid("it is too long".into()));
            }
        }
        Ok(JsonResponse {
            status,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            server_now,
        })
    }
}

/// The time in seconds since the epoch.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_secs())
}

/// The time of an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<u64> {
    let time = jiff::fmt::rfc2822::parse(text).ok()?;
    u64::try_from(time.timestamp().as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_a_response_is_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("yesterday"), None);
    }
}
