//! Stores the tokens of accounts: secrets in the keyring if there is one, otherwise in a file that only the user can read.

use super::hide;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result, plain};
use crate::keys::SystemKeyring;
use crate::{atomic, paths};
use providers::sign_in::SignInTokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// An account that the user signed in to, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The provider.
    pub provider: String,
    /// The user's name or address, if the provider returns it.
    pub user: Option<String>,
    /// Where its tokens are stored.
    pub storage: TokenStorage,
    /// The time of the sign-in in seconds since the epoch.
    pub signed_in: u64,
}

/// Where tokens are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenStorage {
    /// In the system keyring.
    Keyring,
    /// In accounts.json.
    File,
}

/// An entry of the file. The tokens are absent if the keyring has them.
#[derive(Serialize, Deserialize)]
struct StoredAccount {
    storage: TokenStorage,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    signed_in: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<SignInTokens>,
}

/// All accounts, by provider.
pub fn list(env: &ProcessEnv) -> Result<Vec<Account>> {
    let accounts = read(&paths::accounts_file(env)?)?;
    Ok(accounts.into_iter().map(account).collect())
}

/// The account of a provider. Reads no secret.
pub fn stored(provider: &str, env: &ProcessEnv) -> Option<Account> {
    let file = paths::accounts_file(env).ok()?;
    let stored = read(&file).ok()?.remove(provider)?;
    Some(account((provider.to_owned(), stored)))
}

fn account((provider, stored): (String, StoredAccount)) -> Account {
    Account {
        provider,
        user: stored.user,
        storage: stored.storage,
        signed_in: stored.signed_in,
    }
}

/// The tokens of a provider.
pub async fn load_tokens(provider: &str, env: &ProcessEnv) -> Option<SignInTokens> {
    let file = paths::accounts_file(env).ok()?;
    let stored = read(&file).ok()?.remove(provider)?;
    let tokens = match stored.storage {
        TokenStorage::File => stored.tokens?,
        TokenStorage::Keyring => {
            let found = SystemKeyring::new(env).get(&keyring_name(provider)).await.ok()??;
            serde_json::from_str(&decode_hex(found.secret.reveal())?).ok()?
        }
    };
    hide(&tokens);
    Some(tokens)
}

/// Stores tokens in `storage`; `None` keeps the storage of the account, or prefers the keyring.
pub async fn save(
    provider: &str,
    tokens: &SignInTokens,
    storage: Option<TokenStorage>,
    env: &ProcessEnv,
) -> Result<TokenStorage> {
    hide(tokens);
    let file = paths::accounts_file(env)?;
    let mut accounts = read(&file)?;
    let before = accounts.remove(provider);
    let keyring = SystemKeyring::new(env);
    let wanted = storage.or_else(|| before.as_ref().map(|before| before.storage));
    let in_keyring = match wanted {
        Some(TokenStorage::File) => false,
        Some(TokenStorage::Keyring) | None if keyring.is_available() => {
            let text = serde_json::to_string(tokens).map_err(|error| Failure::failed(error.to_string()))?;
            keyring.set(&keyring_name(provider), &encode_hex(&text)).await.is_ok()
        }
        Some(TokenStorage::Keyring) | None => false,
    };
    let used = match in_keyring {
        true => TokenStorage::Keyring,
        false => TokenStorage::File,
    };
    let entry = StoredAccount {
        storage: used,
        user: tokens.user.clone().or_else(|| before.as_ref()?.user.clone()),
        signed_in: before
            .filter(|_| storage.is_none())
            .map_or_else(super::now, |before| before.signed_in),
        tokens: (!in_keyring).then(|| tokens.clone()),
    };
    accounts.insert(provider.to_owned(), entry);
    write(&file, &accounts)?;
    Ok(used)
}

/// Removes an account and its tokens. Returns whether there was one.
pub async fn remove(provider: &str, env: &ProcessEnv) -> Result<bool> {
    let file = paths::accounts_file(env)?;
    let mut accounts = read(&file)?;
    let Some(account) = accounts.remove(provider) else {
        return Ok(false);
    };
    if account.storage == TokenStorage::Keyring {
        SystemKeyring::new(env).remove(&keyring_name(provider)).await?;
    }
    write(&file, &accounts)?;
    Ok(true)
}

/// Locks the accounts for other processes until the file is dropped.
pub(super) async fn lock(env: &ProcessEnv) -> Result<File> {
    let path = paths::accounts_file(env)?.with_extension("lock");
    let locking = tokio::task::spawn_blocking(move || {
        let file = File::options().create(true).append(true).open(&path);
        let locked = file.and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| Failure::file("lock", &path, &error))
    });
    locking.await.map_err(|error| Failure::failed(error.to_string()))?
}

fn read(file: &Path) -> Result<BTreeMap<String, StoredAccount>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    // The message of the parser could contain a token.
    serde_json::from_str(&text).map_err(|_| {
        Failure::usage(format!("{} is damaged", file.display())).hint("delete it, then sign in again with `hew login`")
    })
}

fn write(file: &Path, accounts: &BTreeMap<String, StoredAccount>) -> Result<()> {
    let text = serde_json::to_string_pretty(accounts).map_err(|error| Failure::failed(error.to_string()))?;
    atomic::write(file, &text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {}", file.display(), plain(&error))))
}

/// The name of an account in the keyring.
fn keyring_name(provider: &str) -> String {
    format!("login:{provider}")
}

/// Encodes text in characters that every keyring accepts.
pub(crate) fn encode_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes [`encode_hex`].
pub(crate) fn decode_hex(text: &str) -> Option<String> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(digits.map(byte).collect::<Option<Vec<u8>>>()?).ok()
}
