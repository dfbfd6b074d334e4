//! Accounts of providers that the user signed in to: tokens in the keyring or in a private file, refreshed when needed.

mod storage;

pub use storage::{Account, TokenStorage, list, load_tokens, remove, save, stored};
pub(crate) use storage::{decode_hex, encode_hex};

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::models::{ModelRegistry, ResolvedProvider, proxy_for};
use crate::{log, paths};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use model::Error;
use providers::Secret;
use providers::sign_in::{
    RequestToken, SignInClient, SignInEndpoints, SignInError, SignInTokens, TokenSource, sign_in_endpoints,
};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// Other names of providers with a sign-in, as users of other agents write them.
const ALIASES: &[(&str, &str)] = &[
    ("copilot", "github-copilot"),
    ("github", "github-copilot"),
    ("openai", "chatgpt"),
    ("codex", "chatgpt"),
];

/// The name of the provider that an alias stands for.
pub fn provider_name(name: &str) -> &str {
    let known = ALIASES.iter().find(|(alias, _)| *alias == name);
    known.map_or(name, |(_, provider)| provider)
}

/// The endpoints of a provider: the known ones, overridden by the configuration. `None` if it has no sign-in.
pub fn endpoints(provider: &ResolvedProvider<'_>) -> Option<Result<SignInEndpoints>> {
    let none = serde_json::Map::new();
    let configured = provider.entry.map_or(&none, |entry| &entry.sign_in);
    let invalid = |error: serde_json::Error| {
        Failure::usage(format!("providers.{}.sign_in: {error}", provider.name)).hint("docs/providers.md lists its keys")
    };
    Some(sign_in_endpoints(provider.name, configured)?.map_err(invalid))
}

impl ModelRegistry<'_> {
    /// The client for signing in to a provider.
    pub fn sign_in_client(&self, name: &str) -> Result<SignInClient> {
        let name = provider_name(name);
        let provider = self.provider(name);
        let endpoints = provider.as_ref().and_then(endpoints).ok_or_else(|| {
            let all = self.providers();
            let names = all.iter().filter(|provider| endpoints(provider).is_some());
            let names: Vec<&str> = names.map(|provider| provider.name).collect();
            let known = match provider.is_some() {
                true => {
                    format!("{name} has no sign-in with a subscription; it needs an API key: `hew keys set {name}`")
                }
                false => format!("there is no provider `{name}`"),
            };
            Failure::usage(known).hint(format!("providers with a sign-in: {}", names.join(", ")))
        })??;
        Ok(self.client(name, endpoints))
    }

    fn client(&self, provider: &str, endpoints: SignInEndpoints) -> SignInClient {
        let entry = self.config.providers.get(provider);
        let configured = entry.and_then(|entry| entry.proxy.as_deref());
        let proxy = proxy_for(
            &endpoints.token_url,
            configured.or(self.config.proxy.as_deref()),
            self.env,
        );
        SignInClient::new(provider, endpoints, proxy)
    }

    /// The source of a provider's tokens, if the user has signed in to it.
    pub(crate) fn token_source(&self, provider: &ResolvedProvider<'_>) -> Option<Result<AccountTokens>> {
        stored(provider.name, self.env)?;
        let has_own_address = provider.entry.is_some_and(|entry| entry.base_url.is_some())
            || provider
                .preset
                .is_some_and(|preset| self.env.first(preset.url_env.iter().copied()).is_some());
        Some(endpoints(provider)?.map(|endpoints| AccountTokens {
            provider: provider.name.to_owned(),
            client: self.client(provider.name, endpoints),
            env: self.env.clone(),
            base_url: match has_own_address {
                true => BaseUrlSource::Configured,
                false => BaseUrlSource::Account,
            },
            cached: Mutex::default(),
        }))
    }
}

/// Which base URL requests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaseUrlSource {
    /// The configured one.
    Configured,
    /// The one that the provider assigns to the account.
    Account,
}

/// The tokens of a signed-in account.
pub(crate) struct AccountTokens {
    provider: String,
    client: SignInClient,
    env: ProcessEnv,
    base_url: BaseUrlSource,
    /// The tokens as last read or refreshed.
    cached: Mutex<Option<SignInTokens>>,
}

impl TokenSource for AccountTokens {
    fn token(&self, rejected: Option<Secret>) -> BoxFuture<'_, Result<RequestToken, Error>> {
        async move {
            let mut cached = self.cached.lock().await;
            let rejected = rejected.as_ref().map(Secret::reveal);
            let tokens = match cached.take() {
                Some(tokens) if self.is_usable(&tokens, rejected) => tokens,
                Some(_) | None => self.current(rejected).await?,
            };
            let token = tokens.valid_token(self.client.endpoints(), now());
            // A token that is so short-lived that it is about to expire is still the newest one.
            let newest = match &tokens.exchanged {
                Some(exchanged) => exchanged.token.as_str(),
                None => tokens.access.as_str(),
            };
            let mut request = tokens.request_token(token.unwrap_or(newest), self.client.endpoints());
            if self.base_url == BaseUrlSource::Configured {
                request.base_url = None;
            }
            *cached = Some(tokens);
            Ok(request)
        }
        .boxed()
    }
}

impl AccountTokens {
    fn is_usable(&self, tokens: &SignInTokens, rejected: Option<&str>) -> bool {
        let token = tokens.valid_token(self.client.endpoints(), now());
        token.is_some() && token != rejected
    }

    /// The stored tokens if they are usable, otherwise refreshed ones. Other processes wait, because a provider accepts a
    /// refresh token only once.
    async fn current(&self, rejected: Option<&str>) -> Result<SignInTokens, Error> {
        let failed = |detail: String| Error::Credentials {
            provider: self.provider.clone(),
            detail,
        };
        let sign_in = || format!("run `hew login {}`", self.provider);
        let lock = storage::lock(&self.env)
            .await
            .map_err(|failure| failed(failure.message))?;
        let stored = load_tokens(&self.provider, &self.env).await;
        let tokens = stored.ok_or_else(|| failed(format!("not signed in; {}", sign_in())))?;
        if self.is_usable(&tokens, rejected) {
            return Ok(tokens);
        }
        tracing::debug!(target: "hew", provider = self.provider, "refreshing the token");
        let renewed = self.client.renew(&tokens, rejected).await;
        let tokens = renewed.map_err(|error| match error {
            SignInError::Unreachable(detail) => Error::Connection {
                provider: self.provider.clone(),
                detail,
            },
            SignInError::Revoked => failed(format!("{error}; {}", sign_in())),
            SignInError::Refused { status, detail } if status >= 500 => Error::Server {
                provider: self.provider.clone(),
                status,
                detail,
                retry_after: None,
            },
            error => failed(error.to_string()),
        })?;
        // Without storage the tokens are used until this process exits.
        if let Err(failure) = save(&self.provider, &tokens, None, &self.env).await {
            tracing::warn!(target: "hew", "cannot store the refreshed token: {}", failure.message);
        }
        drop(lock);
        Ok(tokens)
    }
}

/// Redacts tokens in the log.
fn hide(tokens: &SignInTokens) {
    tokens.secrets().for_each(log::hide);
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_secs())
}

/// Stores the tokens of a sign-in; returns them and where they are.
pub async fn store_sign_in(
    client: &SignInClient,
    tokens: SignInTokens,
    name: &str,
    storage: Option<TokenStorage>,
    env: &ProcessEnv,
) -> Result<(SignInTokens, String)> {
    // The API may refuse an account that could sign in.
    let tokens = match client.endpoints().exchange_url.is_empty() {
        true => tokens,
        false => client
            .renew(&tokens, None)
            .await
            .map_err(|error| sign_in_failure(name, &error))?,
    };
    let kept = match save(name, &tokens, storage, env).await? {
        TokenStorage::Keyring => "the keyring".to_owned(),
        TokenStorage::File => {
            let file = paths::display_path(&paths::accounts_file(env)?, env);
            format!("{file}, which only you can read")
        }
    };
    Ok((tokens, kept))
}

/// The error of a sign-in for the user.
pub fn sign_in_failure(title: &str, error: &SignInError) -> Failure {
    let failure = Failure::failed(format!("could not sign in to {title}: {error}"));
    match error {
        SignInError::Denied | SignInError::Expired | SignInError::Revoked => failure.hint("run the command again"),
        SignInError::Callback(_) => failure.hint("`--device` signs in with a code instead"),
        SignInError::Unreachable(_) => failure.hint("check the network and `proxy` in the configuration"),
        SignInError::NoAccess(_) => failure.hint("check that the account has a subscription that includes it"),
        SignInError::Refused { .. } | SignInError::Invalid(_) => failure,
    }
}
