//! Stores the offers, logs and logins of MCP servers: logins in the keyring or in a private file, the rest in files.

use crate::accounts::{decode_hex, encode_hex};
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::keys::SystemKeyring;
use crate::{atomic, paths};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use mcp::CacheEntry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The cache of MCP servers in the data directory.
pub struct McpFileCache {
    folder: PathBuf,
    env: ProcessEnv,
}

impl McpFileCache {
    /// The cache in the data directory.
    pub fn new(env: &ProcessEnv) -> Result<Self> {
        Ok(McpFileCache {
            folder: paths::data_dir(env)?.join("mcp"),
            env: env.clone(),
        })
    }

    fn file(&self, what: CacheEntry, server: &str) -> PathBuf {
        let safe: String = server
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
                other => format!("%{other:02x}"),
            })
            .collect();
        let ending = match what {
            CacheEntry::Offer => "json",
            CacheEntry::Log => "log",
            CacheEntry::Challenge => "challenge",
            CacheEntry::Metadata => "login.json",
        };
        // Servers with very long names may share a file; an offer of another server is ignored.
        self.folder.join(format!("{}.{ending}", &safe[..safe.len().min(200)]))
    }

    /// Removes the files of a server.
    pub fn clear(&self, server: &str) {
        for what in [
            CacheEntry::Offer,
            CacheEntry::Log,
            CacheEntry::Challenge,
            CacheEntry::Metadata,
        ] {
            // It may not exist.
            drop(std::fs::remove_file(self.file(what, server)));
        }
    }
}

impl mcp::ServerCache for McpFileCache {
    fn load(&self, what: CacheEntry, server: &str) -> Option<String> {
        std::fs::read_to_string(self.file(what, server)).ok()
    }

    fn save(&self, what: CacheEntry, server: &str, text: &str) {
        // An offer that was not saved is requested again.
        drop(atomic::write(&self.file(what, server), text));
    }

    fn login(&self, server: &str) -> BoxFuture<'static, Option<String>> {
        let (file, env, server) = (logins_file(&self.folder), self.env.clone(), server.to_owned());
        async move {
            if let Some(text) = read_logins(&file).remove(&server) {
                return Some(text);
            }
            let keyring = SystemKeyring::new(&env);
            if !keyring.is_available() {
                return None;
            }
            let found = keyring.get(&keyring_name(&server)).await.ok()??;
            decode_hex(found.secret.reveal())
        }
        .boxed()
    }

    fn save_login(
        &self,
        server: &str,
        login: Option<String>,
    ) -> BoxFuture<'static, std::result::Result<(), mcp::BoxError>> {
        let (file, env, server) = (logins_file(&self.folder), self.env.clone(), server.to_owned());
        async move {
            let keyring = SystemKeyring::new(&env);
            let mut kept = read_logins(&file);
            let before = kept.remove(&server).is_some();
            if keyring.is_available() {
                let done = match &login {
                    Some(login) => keyring.set(&keyring_name(&server), &encode_hex(login)).await,
                    None => keyring.remove(&keyring_name(&server)).await,
                };
                if done.is_ok() {
                    return match before {
                        true => write_logins(&file, &kept).map_err(Into::into),
                        false => Ok(()),
                    };
                }
            }
            match login {
                Some(login) => drop(kept.insert(server, login)),
                None if !before => return Ok(()),
                None => {}
            }
            write_logins(&file, &kept).map_err(Into::into)
        }
        .boxed()
    }
}

fn logins_file(folder: &Path) -> PathBuf {
    folder.join("logins.json")
}

fn read_logins(file: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a file that only the user can read.
fn write_logins(file: &Path, logins: &BTreeMap<String, String>) -> std::io::Result<()> {
    atomic::write(file, &serde_json::to_string(logins)?)
}

/// The name of a login in the keyring.
fn keyring_name(server: &str) -> String {
    format!("mcp:{server}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp::ServerCache as _;

    #[tokio::test]
    async fn offers_logs_and_logins_are_stored_separately_and_privately() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data").display().to_string();
        let cache = McpFileCache::new(&ProcessEnv::from([("HEW_DATA_DIR", data.as_str())])).unwrap();
        cache.save(CacheEntry::Offer, "a/../b", "offer");
        cache.save(CacheEntry::Log, "a/../b", "log");
        assert_eq!(cache.load(CacheEntry::Offer, "a/../b").as_deref(), Some("offer"));
        assert_eq!(cache.load(CacheEntry::Log, "b"), None);
        cache.save_login("x", Some("{\"token\": 1}".into())).await.unwrap();
        assert_eq!(cache.login("x").await.as_deref(), Some("{\"token\": 1}"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = logins_file(&cache.folder).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        cache.save_login("x", None).await.unwrap();
        assert_eq!(cache.login("x").await, None);
        cache.clear("a/../b");
        assert_eq!(cache.load(CacheEntry::Offer, "a/../b"), None);
        assert_eq!(decode_hex(&encode_hex("{\"ü\": 1}")).as_deref(), Some("{\"ü\": 1}"));
    }
}
