//! Sign-in with a code that the user enters on any device (RFC 8628, and OpenAI's variant).

use super::SignInError;
use super::request::{JsonResponse, RequestForm, SignInClient};
use super::tokens::{SignInTokens, seconds_of};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The polling interval if the provider names none.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The minimum polling interval.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// Added to the interval if the provider asks to slow down.
const SLOW_DOWN: Duration = Duration::from_secs(5);
/// The lifetime of a code if the provider names none.
const CODE_LIFETIME: Duration = Duration::from_secs(900);

/// A started sign-in with a device code.
pub struct DeviceSignIn {
    client: SignInClient,
    /// The code that the user enters.
    pub user_code: String,
    /// The page on which the user enters it.
    pub page: String,
    device_code: String,
    interval: Duration,
    /// Measured from the response, independently of clocks.
    deadline: Instant,
}

impl DeviceSignIn {
    /// Requests a code.
    pub async fn start(client: &SignInClient) -> Result<Self, SignInError> {
        let endpoints = &client.endpoints;
        let scope = endpoints.scopes.join(" ");
        let response = match endpoints.device_token_url.is_empty() {
            true => {
                let fields = [("client_id", endpoints.client_id.as_str()), ("scope", &scope)];
                client.send(&endpoints.device_url, RequestForm::Fields(&fields)).await?
            }
            false => {
                let body = json!({"client_id": endpoints.client_id});
                client.send(&endpoints.device_url, RequestForm::Json(&body)).await?
            }
        };
        if !response.is_success() || !response.error_code().is_empty() {
            return Err(response.refusal());
        }
        let text = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| response.body.get(name)?.as_str());
            found.next().map(str::to_owned)
        };
        let missing = |name: &str| SignInError::Invalid(format!("it contains no {name}"));
        let seconds = |name: &str| response.body.get(name).and_then(seconds_of).map(Duration::from_secs);
        Ok(DeviceSignIn {
            user_code: text(&["user_code", "usercode"]).ok_or_else(|| missing("user code"))?,
            device_code: text(&["device_code", "device_auth_id"]).ok_or_else(|| missing("device code"))?,
            page: text(&["verification_uri", "verification_url"]).unwrap_or_else(|| endpoints.device_page.clone()),
            interval: seconds("interval").unwrap_or(POLL_INTERVAL).max(MIN_INTERVAL),
            deadline: Instant::now() + seconds("expires_in").unwrap_or(CODE_LIFETIME),
            client: client.clone(),
        })
    }

    /// Waits until the user has entered the code.
    pub async fn finish(self) -> Result<SignInTokens, SignInError> {
        let mut interval = self.interval;
        loop {
            if Instant::now() + interval >= self.deadline {
                return Err(SignInError::Expired);
            }
            tokio::time::sleep(interval).await;
            let response = match self.poll().await {
                // The user may be faster than the network.
                Err(SignInError::Unreachable(_)) => continue,
                response => response?,
            };
            match response.error_code() {
                "authorization_pending" | "deviceauth_authorization_pending" => {}
                "slow_down" => interval += SLOW_DOWN,
                "access_denied" => return Err(SignInError::Denied),
                "expired_token" => return Err(SignInError::Expired),
                // OpenAI reports a pending code by the status alone.
                _ if self.is_code_variant() && matches!(response.status, 403 | 404) => {}
                _ if response.status == 429 => interval += SLOW_DOWN,
                _ => return self.receive(&response).await,
            }
        }
    }

    /// Whether the provider returns an authorization code instead of tokens.
    fn is_code_variant(&self) -> bool {
        !self.client.endpoints.device_token_url.is_empty()
    }

    async fn poll(&self) -> Result<JsonResponse, SignInError> {
        let endpoints = &self.client.endpoints;
        if self.is_code_variant() {
            let body = json!({"device_auth_id": self.device_code, "user_code": self.user_code});
            return self
                .client
                .send(&endpoints.device_token_url, RequestForm::Json(&body))
                .await;
        }
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("client_id", endpoints.client_id.as_str()),
            ("device_code", self.device_code.as_str()),
        ];
        self.client
            .send(&endpoints.token_url, RequestForm::Fields(&fields))
            .await
    }

    async fn receive(&self, response: &JsonResponse) -> Result<SignInTokens, SignInError> {
        if !self.is_code_variant() || !response.is_success() {
            return self.client.tokens(response, None);
        }
        let text = |name: &str| response.body.get(name).and_then(Value::as_str);
        let (Some(code), Some(verifier)) = (text("authorization_code"), text("code_verifier")) else {
            return Err(SignInError::Invalid("it contains no authorization code".into()));
        };
        let redirect = &self.client.endpoints.device_redirect;
        self.client.redeem(code, verifier, redirect).await
    }
}
