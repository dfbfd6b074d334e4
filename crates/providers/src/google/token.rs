//! Gets an access token, and keeps it until shortly before it expires.

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
/// A token is renewed this long before it expires, so that it does not expire on the way.
const MARGIN: Duration = Duration::from_secs(120);
/// How long the token service may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A token, once got.
#[derive(Default)]
pub(crate) struct Cached {
    token: Mutex<Option<(Secret, Instant)>>,
}

impl Cached {
    fn get(&self) -> Option<Secret> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token
            .as_ref()
            .filter(|(_, until)| Instant::now() < *until)
            .map(|(token, _)| token.clone())
    }

    fn put(&self, token: Secret, lasts: Duration) {
        let until = Instant::now() + lasts.saturating_sub(MARGIN);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some((token, until));
    }

    /// Forgets the token, because it was refused.
    pub(crate) fn clear(&self) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A token that is good now.
pub(crate) async fn fetch(
    provider: &str,
    auth: &GoogleAuth,
    cached: &Cached,
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
    let (uri, form) = exchange(auth).map_err(refused)?;
    let post = client
        .post(uri)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let unreachable = |error: reqwest::Error| Error::Connection {
        provider: provider.to_string(),
        detail: format!("Google's token service: {}", crate::http::chain(&error.without_url())),
    };
    let answer = post.timeout(PATIENCE).send().await.map_err(unreachable)?;
    let status = answer.status();
    let text = answer.text().await.map_err(unreachable)?;

    #[derive(Deserialize)]
    struct Answer {
        access_token: String,
        expires_in: Option<u64>,
    }
    match serde_json::from_str::<Answer>(&text) {
        Ok(answer) if status.is_success() => {
            let token = Secret::new(answer.access_token);
            cached.put(token.clone(), Duration::from_secs(answer.expires_in.unwrap_or(3600)));
            Ok(token)
        }
        Ok(_) | Err(_) if status.is_server_error() => Err(Error::Server {
            provider: provider.to_string(),
            status: status.as_u16(),
            detail: "Google's token service failed".to_string(),
            retry_after: None,
        }),
        Ok(_) | Err(_) => {
            let said = serde_json::from_str::<serde_json::Value>(&text).ok();
            let said = said
                .as_ref()
                .and_then(|said| said.get("error_description").or(said.get("error")));
            let said = said.and_then(|said| said.as_str()).unwrap_or("no reason given");
            Err(refused(format!("Google gave no access token (HTTP {status}): {said}")))
        }
    }
}

/// Where to ask for a token, and with what form.
fn exchange(auth: &GoogleAuth) -> Result<(&str, String), String> {
    match auth {
        GoogleAuth::Token(_) => Err("a given token cannot be renewed".to_string()),
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
            let jwt = jwt(&header, &claims, key)?;
            let form = form(&[
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
            let form = form(&[
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret.reveal()),
                ("refresh_token", refresh_token.reveal()),
            ]);
            Ok((token_uri, form))
        }
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", crate::wire::bedrock::encode(value)))
        .collect();
    pairs.join("&")
}

fn jwt(header: &serde_json::Value, claims: &serde_json::Value, key: &Secret) -> Result<String, String> {
    let body: String = key
        .reveal()
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .map(str::trim)
        .collect();
    let der = STANDARD
        .decode(body)
        .map_err(|_| "the service account's private key is not PEM text".to_string())?;
    let pair = RsaKeyPair::from_pkcs8(&der).map_err(|error| format!("the service account's private key: {error}"))?;
    let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "the service account's private key cannot sign".to_string())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    /// Made for this test; it opens nothing.
    const KEY: &str = include_str!("../../tests/data/google/key.pem");

    #[test]
    fn a_service_accounts_request_is_signed_with_its_key() {
        let auth = GoogleAuth::ServiceAccount {
            email: "robot@example.com".into(),
            key_id: Some("k1".into()),
            key: Secret::new(KEY),
            token_uri: "https://token.example/".into(),
        };
        let (uri, form) = exchange(&auth).unwrap();
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
    fn a_key_that_is_none_is_refused_without_showing_it() {
        let auth = GoogleAuth::ServiceAccount {
            email: "e".into(),
            key_id: None,
            key: Secret::new("-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----"),
            token_uri: "u".into(),
        };
        let said = exchange(&auth).unwrap_err();
        assert!(said.contains("private key") && !said.contains("bm90"), "{said}");
    }

    #[test]
    fn a_token_is_kept_until_shortly_before_it_expires() {
        let cached = Cached::default();
        cached.put(Secret::new("short"), Duration::from_secs(60));
        assert_eq!(cached.get(), None);
        cached.put(Secret::new("long"), Duration::from_secs(3600));
        assert_eq!(cached.get(), Some(Secret::new("long")));
        cached.clear();
        assert_eq!(cached.get(), None);
    }
}
