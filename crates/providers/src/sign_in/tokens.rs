//! Tokens of a sign-in, and when they expire.

use super::{RequestToken, SignInEndpoints};
use crate::settings::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Tokens are refreshed this many seconds before they expire, so that they do not expire in transit; short-lived ones after
/// half of their lifetime.
const EXPIRY_MARGIN: u64 = 120;
/// A clock that is this many seconds before the time of issue was set back, and expiry cannot be judged.
const CLOCK_TOLERANCE: u64 = 60;
/// The lifetime of a token whose expiry is unusable because a clock is wrong.
const FALLBACK_LIFETIME: u64 = 600;

/// The tokens of a sign-in. Its debug output contains none of them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInTokens {
    /// The access token.
    pub access: String,
    /// The refresh token; without it, the access token is valid until it is revoked or expires.
    #[serde(default)]
    pub refresh: Option<String>,
    /// The lifetime of the access token; `None` if it does not expire.
    #[serde(default)]
    pub lifetime: Option<TokenLifetime>,
    /// The account's id, for the provider's header.
    #[serde(default)]
    pub account_id: Option<String>,
    /// The user's name or address.
    #[serde(default)]
    pub user: Option<String>,
    /// The token of the API that the access token was exchanged for.
    #[serde(default)]
    pub exchanged: Option<ExchangedToken>,
}

/// A short-lived token of the API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangedToken {
    /// The token.
    pub token: String,
    /// Its lifetime.
    pub lifetime: TokenLifetime,
    /// The base URL of the account's API.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// When a token was received and how long it is valid. Only durations come from the provider, because its clock and
/// this machine's may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenLifetime {
    /// The time of receipt in seconds since the epoch, by this machine's clock.
    pub received: u64,
    /// The seconds from receipt to expiry.
    pub seconds: u64,
}

impl TokenLifetime {
    /// A lifetime that starts now.
    pub(super) fn starting(now: u64, seconds: u64) -> Self {
        TokenLifetime { received: now, seconds }
    }

    /// The lifetime of a token with an absolute expiry by the provider's clock. `server_now` is the time of its response.
    pub(super) fn until(now: u64, expires_at: u64, server_now: Option<u64>) -> Self {
        let seconds = expires_at.saturating_sub(server_now.unwrap_or(now));
        // A token that was expired when it was issued, or is valid for years, shows a wrong clock.
        let seconds = match seconds {
            1..=31_536_000 => seconds,
            _ => FALLBACK_LIFETIME,
        };
        TokenLifetime { received: now, seconds }
    }

    /// Whether the token is valid for a request now.
    pub fn is_valid(&self, now: u64) -> bool {
        let was_set_back = now + CLOCK_TOLERANCE < self.received;
        let margin = EXPIRY_MARGIN.min(self.seconds / 2);
        !was_set_back && now + margin < self.received.saturating_add(self.seconds)
    }
}

impl SignInTokens {
    /// Reads a token response; keeps what a refresh does not return.
    pub(super) fn from_response(
        response: &Value,
        endpoints: &SignInEndpoints,
        before: Option<&SignInTokens>,
        now: u64,
    ) -> Option<Self> {
        let text = |name: &str| response.get(name).and_then(Value::as_str).map(str::to_owned);
        let access = text("access_token").filter(|token| !token.is_empty())?;
        let seconds = response.get("expires_in").and_then(seconds_of);
        let id_claims = text("id_token").and_then(|token| claims(&token));
        let access_claims = claims(&access);
        let sources: Vec<&Value> = [&id_claims, &access_claims].into_iter().flatten().collect();
        let account = sources
            .iter()
            .find_map(|claims| claim(claims, &endpoints.account_claim));
        let user = sources
            .iter()
            .find_map(|claims| claim(claims, &["email".into()]).or_else(|| claim(claims, &["name".into()])));
        Some(SignInTokens {
            access,
            refresh: text("refresh_token")
                .filter(|token| !token.is_empty())
                .or_else(|| before?.refresh.clone()),
            lifetime: seconds.map(|seconds| TokenLifetime::starting(now, seconds)),
            account_id: account.or_else(|| before?.account_id.clone()),
            user: user.or_else(|| before?.user.clone()),
            exchanged: None,
        })
    }

    /// The token that API requests carry, if it is valid now.
    pub fn valid_token(&self, endpoints: &SignInEndpoints, now: u64) -> Option<&str> {
        match (endpoints.exchange_url.is_empty(), &self.exchanged) {
            (true, _) => self.has_valid_access(now).then_some(self.access.as_str()),
            (false, Some(exchanged)) => exchanged.lifetime.is_valid(now).then_some(exchanged.token.as_str()),
            (false, None) => None,
        }
    }

    /// Whether the access token is valid now.
    pub fn has_valid_access(&self, now: u64) -> bool {
        self.lifetime.is_none_or(|lifetime| lifetime.is_valid(now))
    }

    /// The credentials of a request with this token.
    pub fn request_token(&self, token: &str, endpoints: &SignInEndpoints) -> RequestToken {
        let mut headers: Vec<(String, String)> = endpoints.headers.clone().into_iter().collect();
        if let Some(id) = self
            .account_id
            .as_ref()
            .filter(|_| !endpoints.account_header.is_empty())
        {
            headers.push((endpoints.account_header.clone(), id.clone()));
        }
        RequestToken {
            bearer: Secret::new(token),
            headers,
            base_url: self.exchanged.as_ref().and_then(|exchanged| exchanged.base_url.clone()),
        }
    }

    /// All tokens, to redact them.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let exchanged = self.exchanged.iter().map(|exchanged| exchanged.token.as_str());
        [self.access.as_str()]
            .into_iter()
            .chain(self.refresh.as_deref())
            .chain(exchanged)
    }
}

impl fmt::Debug for SignInTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInTokens")
            .field("lifetime", &self.lifetime)
            .field("has_refresh", &self.refresh.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ExchangedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangedToken")
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

/// A number of seconds, which some providers send as text.
pub(super) fn seconds_of(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value
            .as_u64()
            .or_else(|| value.as_f64().map(|seconds| seconds.max(0.0) as u64)),
    }
}

/// The claims of a JSON web token. Its signature is not checked: it came from the provider and is only sent back.
fn claims(token: &str) -> Option<Value> {
    let body = token.split('.').nth(1)?;
    let bytes = URL_SAFE_NO_PAD.decode(body.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn claim(claims: &Value, path: &[String]) -> Option<String> {
    let found = path.iter().try_fold(claims, |value, name| value.get(name))?;
    found.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_token_is_valid_until_shortly_before_it_expires() {
        let life = TokenLifetime::starting(1_000_000, 3_600);
        let cases = [
            (1_000_000, true),
            (1_003_479, true),
            (1_003_480, false),
            (1_010_000, false),
            // A slightly wrong clock is tolerated; if a clock was set back, the expiry is unknown.
            (999_950, true),
            (990_000, false),
        ];
        for (now, valid) in cases {
            assert_eq!(life.is_valid(now), valid, "{now}");
        }
    }

    #[test]
    fn the_providers_clock_decides_about_an_absolute_expiry() {
        // This machine's clock is a day late or early.
        for now in [1_000_000, 1_172_800] {
            let life = TokenLifetime::until(now, 1_087_800, Some(1_086_000));
            assert_eq!((life.received, life.seconds), (now, 1_800));
        }
        // Without the provider's time, an expiry in the past is not believed.
        assert_eq!(
            TokenLifetime::until(2_000_000, 1_087_800, None).seconds,
            FALLBACK_LIFETIME
        );
    }

    #[test]
    fn a_refresh_keeps_what_the_response_omits() {
        let endpoints = SignInEndpoints {
            account_claim: vec!["auth".into(), "id".into()],
            ..SignInEndpoints::default()
        };
        let body = URL_SAFE_NO_PAD.encode(json!({"auth": {"id": "acc-1"}, "email": "a@b.example"}).to_string());
        let first =
            json!({"access_token": "one", "refresh_token": "r", "expires_in": "60", "id_token": format!("h.{body}.s")});
        let first = SignInTokens::from_response(&first, &endpoints, None, 5).unwrap();
        assert_eq!(
            (first.account_id.as_deref(), first.user.as_deref()),
            (Some("acc-1"), Some("a@b.example"))
        );
        let second = SignInTokens::from_response(&json!({"access_token": "two"}), &endpoints, Some(&first), 9).unwrap();
        assert_eq!(
            (second.access.as_str(), second.refresh.as_deref(), second.lifetime),
            ("two", Some("r"), None)
        );
        assert_eq!(second.account_id, first.account_id);
        let shown = format!("{first:?}");
        assert!(!shown.contains("one") && !shown.contains("\"r\""), "{shown}");
    }
}
