//! Requests access tokens and caches them until shortly before they expire.

use super::GoogleAuth;
use crate::settings::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use model::Error;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Tokens are renewed this long before they expire, so that they do not expire in transit.
const EXPIRY_MARGIN: Duration = Duration::from_secs(120);
/// The timeout for the token service.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// A cached access token.
#[derive(Default)]
pub(crate) struct TokenCache {
    token: Mutex<Option<(Secret, Instant)>>,
}

impl TokenCache {
    fn get(&self) -> Option<Secret> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token
            .as_ref()
            .filter(|(_, until)| Instant::now() < *until)
            .map(|(token, _)| token.clone())
    }

    fn put(&self, token: Secret, lasts: Duration) {
        let until = Instant::now() + lasts.saturating_sub(EXPIRY_MARGIN);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some((token, until));
    }

    /// Drops the token after the server rejected it.
    pub(crate) fn clear(&self) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A valid access token, cached or new.
pub(crate) async fn fetch_token(
    provider: &str,
    auth: &GoogleAuth,
    cached: &TokenCache,
    client: &reqwest::Client,
) -> Result<Secret, Error> {
    let refused = |detail: String| Error::Credentials {
        provider: provider.to_string(),
        detail,
    };
    if let GoogleAuth::Token(token) = auth {
        return Ok(token.clone());
    }
    if let Some(token) = cached.get() {
        return Ok(token);
    }
    let (uri, form) = token_request(auth).map_err(|error| refused(error.to_string()))?;
    let post = client
        .post(uri)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let unreachable = |error: reqwest::Error| Error::Connection {
        provider: provider.to_string(),
        detail: format!(
            "Google's token service: {}",
            crate::http::error_chain(&error.without_url())
        ),
    };
    let response = post.timeout(TOKEN_TIMEOUT).send().await.map_err(unreachable)?;
    let status = response.status();
    let text = response.text().await.map_err(unreachable)?;

    #[derive(Deserialize)]
    struct TokenResponse {
        access_token: String,
        expires_in: Option<u64>,
    }
    match serde_json::from_str::<TokenResponse>(&text) {
        Ok(response) if status.is_success() => {
            let token = Secret::new(response.access_token);
            cached.put(token.clone(), Duration::from_secs(response.expires_in.unwrap_or(3600)));
            Ok(token)
        }
        Ok(_) | Err(_) if status.is_server_error() => Err(Error::Server {
            provider: provider.to_string(),
            status: status.as_u16(),
            detail: "Google's token service failed".to_string(),
            retry_after: None,
        }),
        Ok(_) | Err(_) => {
            let body = serde_json::from_str::<serde_json::Value>(&text).ok();
            let reason = body
                .as_ref()
                .and_then(|body| body.get("error_description").or(body.get("error")));
            let reason = reason.and_then(|reason| reason.as_str()).unwrap_or("no reason given");
            Err(refused(format!(
                "Google refused an access token (HTTP {status}): {reason}"
            )))
        }
    }
}

/// Why a token request cannot be created.
#[derive(Debug, thiserror::Error)]
enum TokenError {
    #[error("a configured token cannot be renewed")]
    NotRenewable,
    #[error("the service account's private key is not PEM text")]
    NotPem,
    #[error("the service account's private key: {0}")]
    Key(ring::error::KeyRejected),
    #[error("the service account's private key cannot sign")]
    CannotSign,
}

/// The token endpoint and the form to send.
fn token_request(auth: &GoogleAuth) -> Result<(&str, String), TokenError> {
    match auth {
        GoogleAuth::Token(_) => Err(TokenError::NotRenewable),
        GoogleAuth::ServiceAccount {
            email,
            key_id,
            key,
            token_uri,
        } => {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |now| now.as_secs());
            let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
            let claims = json!({"iss": email, "scope": SCOPE, "aud": token_uri, "iat": now, "exp": now + 3600});
            let jwt = signed_jwt(&header, &claims, key)?;
            let form = form_encode(&[
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                ("assertion", &jwt),
            ]);
            Ok((token_uri, form))
        }
        GoogleAuth::User {
            client_id,
            client_secret,
            refresh_token,
            token_uri,
        } => {
            let form = form_encode(&[
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret.reveal()),
                ("refresh_token", refresh_token.reveal()),
            ]);
            Ok((token_uri, form))
        }
    }
}

fn form_encode(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", crate::wire::bedrock::encode(value)))
        .collect();
    pairs.join("&")
}

fn signed_jwt(header: &serde_json::Value, claims: &serde_json::Value, key: &Secret) -> Result<String, TokenError> {
    let body: String = key
        .reveal()
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .map(str::trim)
        .collect();
    let der = STANDARD.decode(body).map_err(|_| TokenError::NotPem)?;
    let pair = RsaKeyPair::from_pkcs8(&der).map_err(TokenError::Key)?;
    let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| TokenError::CannotSign)?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    /// A key generated for this test.
    const KEY: &str = include_str!("../../tests/data/google/key.pem");

    #[test]
    fn a_service_accounts_token_request_is_signed_with_its_key() {
        let auth = GoogleAuth::ServiceAccount {
            email: "robot@example.com".into(),
            key_id: Some("k1".into()),
            key: Secret::new(KEY),
            token_uri: "https://token.example/".into(),
        };
        let (uri, form) = token_request(&auth).unwrap();
        assert_eq!(uri, "https://token.example/");
        let assertion = form.split_once("&assertion=").unwrap().1;
        let (text, signature) = assertion.rsplit_once('.').unwrap();
        let body: String = KEY.lines().filter(|line| !line.starts_with("-----")).collect();
        let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public().as_ref());
        public
            .verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
            .unwrap();
        let claims = URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["iss"], "robot@example.com");
        assert_eq!(claims["aud"], "https://token.example/");
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
    }

    #[test]
    fn an_invalid_private_key_is_rejected_without_printing_it() {
        let auth = GoogleAuth::ServiceAccount {
            email: "e".into(),
            key_id: None,
            key: Secret::new("-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----"),
            token_uri: "u".into(),
        };
        let error = token_request(&auth).unwrap_err().to_string();
        assert!(error.contains("private key") && !error.contains("bm90"), "{error}");
    }

    #[test]
    fn a_token_is_cached_until_shortly_before_it_expires() {
        let cached = TokenCache::default();
        cached.put(Secret::new("short"), Duration::from_secs(60));
        assert_eq!(cached.get(), None);
        cached.put(Secret::new("long"), Duration::from_secs(3600));
        assert_eq!(cached.get(), Some(Secret::new("long")));
        cached.clear();
        assert_eq!(cached.get(), None);
    }
}
