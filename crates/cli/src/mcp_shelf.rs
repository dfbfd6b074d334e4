//! What is kept about MCP servers: their offers and logs as files, and logins in the keyring or in a file of the person's own.

use crate::environment::Environment;
use crate::failure::Result;
use crate::keys::Keyring;
use crate::{atomic, places};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use mcp::What;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The shelf for MCP servers.
pub(crate) struct Shelf {
    folder: PathBuf,
    env: Environment,
}

impl Shelf {
    /// The shelf in hew's data folder.
    pub(crate) fn new(env: &Environment) -> Result<Self> {
        Ok(Shelf {
            folder: places::data(env)?.join("mcp"),
            env: env.clone(),
        })
    }

    fn file(&self, what: What, server: &str) -> PathBuf {
        let safe: String = server
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
                other => format!("%{other:02x}"),
            })
            .collect();
        let ending = match what {
            What::Offer => "json",
            What::Log => "log",
        };
        // Where the name is so long that no file can have it, servers share one; a wrong offer does not count.
        self.folder.join(format!("{}.{ending}", &safe[..safe.len().min(200)]))
    }

    /// Forgets a server.
    pub(crate) fn clear(&self, server: &str) {
        for what in [What::Offer, What::Log] {
            // What is not there needs no clearing.
            drop(std::fs::remove_file(self.file(what, server)));
        }
    }
}

impl mcp::Shelf for Shelf {
    fn load(&self, what: What, server: &str) -> Option<String> {
        std::fs::read_to_string(self.file(what, server)).ok()
    }

    fn save(&self, what: What, server: &str, text: &str) {
        // What cannot be kept is learned again next time.
        drop(atomic::write(&self.file(what, server), text));
    }

    fn login(&self, server: &str) -> BoxFuture<'static, Option<String>> {
        let (file, env, server) = (logins(&self.folder), self.env.clone(), server.to_owned());
        async move {
            if let Some(text) = read(&file).remove(&server) {
                return Some(text);
            }
            let keyring = Keyring::new(&env);
            if !keyring.present() {
                return None;
            }
            let found = keyring.get(&name(&server)).await.ok()??;
            decode(found.secret.reveal())
        }
        .boxed()
    }

    fn keep_login(&self, server: &str, login: Option<String>) -> BoxFuture<'static, std::result::Result<(), String>> {
        let (file, env, server) = (logins(&self.folder), self.env.clone(), server.to_owned());
        async move {
            let keyring = Keyring::new(&env);
            let mut kept = read(&file);
            let before = kept.remove(&server).is_some();
            if keyring.present() {
                let done = match &login {
                    Some(login) => keyring.set(&name(&server), &encode(login)).await,
                    None => keyring.remove(&name(&server)).await,
                };
                if done.is_ok() {
                    return if before { write(&file, &kept) } else { Ok(()) };
                }
            }
            match login {
                Some(login) => drop(kept.insert(server, login)),
                None if !before => return Ok(()),
                None => {}
            }
            write(&file, &kept)
        }
        .boxed()
    }
}

fn logins(folder: &Path) -> PathBuf {
    folder.join("logins.json")
}

fn read(file: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Nobody but the person can read what is written so.
fn write(file: &Path, logins: &BTreeMap<String, String>) -> std::result::Result<(), String> {
    let text = serde_json::to_string(logins).map_err(|error| error.to_string())?;
    atomic::write(file, &text).map_err(|error| error.to_string())
}

/// What the keyring calls a login.
fn name(server: &str) -> String {
    format!("mcp:{server}")
}

/// Letters that every keyring takes.
fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str) -> Option<String> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(digits.map(byte).collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp::Shelf as _;

    #[tokio::test]
    async fn offers_logs_and_logins_are_kept_apart_and_for_the_person_only() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data").display().to_string();
        let shelf = Shelf::new(&Environment::from([("HEW_DATA_DIR", data.as_str())])).unwrap();
        shelf.save(What::Offer, "a/../b", "offer");
        shelf.save(What::Log, "a/../b", "log");
        assert_eq!(shelf.load(What::Offer, "a/../b").as_deref(), Some("offer"));
        assert_eq!(shelf.load(What::Log, "b"), None);
        shelf.keep_login("x", Some("{\"token\": 1}".into())).await.unwrap();
        assert_eq!(shelf.login("x").await.as_deref(), Some("{\"token\": 1}"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = logins(&shelf.folder).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        shelf.keep_login("x", None).await.unwrap();
        assert_eq!(shelf.login("x").await, None);
        shelf.clear("a/../b");
        assert_eq!(shelf.load(What::Offer, "a/../b"), None);
        assert_eq!(decode(&encode("{\"ü\": 1}")).as_deref(), Some("{\"ü\": 1}"));
    }
}
