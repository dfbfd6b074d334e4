//! Keys of providers: from the environment, the configuration, a program or the system keyring.
//!
//! Keys are [`Secret`]s, which are not printed in debug output, and leave the process only in requests.

pub mod file;
mod keyring;

pub use keyring::SystemKeyring;

use crate::accounts;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::log;
use crate::models::ResolvedProvider;
use crate::program::run_program;
use providers::Secret;
use std::fmt;

/// A key and its source.
#[derive(Debug, Clone)]
pub struct ProviderKey {
    /// The key itself.
    pub secret: Secret,
    /// Its source.
    pub source: KeySource,
}

/// The source of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// An environment variable.
    Variable(String),
    /// `key` in the configuration.
    Config,
    /// The program named by `key_command`.
    Command,
    /// The system keyring.
    Keyring,
    /// The keys file.
    File,
    /// The user entered it for this process.
    Session,
    /// The user signed in; each request gets a current token instead of a key.
    Account,
}

/// The error for an invalid key.
pub const IMPLAUSIBLE_KEY: &str = "this is not a key: it contains spaces or quotes";

/// Whether a text can be a key.
pub fn is_plausible(key: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\'';
    !key.is_empty() && !key.contains(is_odd)
}

impl ProviderKey {
    /// Creates a key and redacts it in the log.
    pub fn new(secret: &str, source: KeySource) -> Self {
        log::hide(secret);
        ProviderKey {
            secret: Secret::new(secret),
            source,
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Variable(name) => write!(f, "${name}"),
            KeySource::Config => f.write_str("configuration"),
            KeySource::Command => f.write_str("key_command"),
            KeySource::Keyring => f.write_str("keyring"),
            KeySource::File => f.write_str("keys.toml"),
            KeySource::Session => f.write_str("entered for this session"),
            KeySource::Account => f.write_str("signed in"),
        }
    }
}

/// The command that stores the key of a provider on this system.
pub fn set_command(provider: &str, env: &ProcessEnv) -> String {
    match SystemKeyring::new(env).is_available() {
        true => format!("hew keys set {provider}"),
        false => format!("hew keys set {provider} --file"),
    }
}

/// The key that is available without running a program: the one entered for this process, `key_env`, the vendor's
/// variables, `key`, the keys file, then a signed-in account.
pub fn immediate(provider: &ResolvedProvider<'_>, env: &ProcessEnv) -> Option<ProviderKey> {
    let (preset, entry) = (provider.preset, provider.entry);
    if let Some(secret) = env.session_key(provider.name) {
        let source = KeySource::Session;
        return Some(ProviderKey { secret, source });
    }
    let named = entry.and_then(|entry| entry.key_env.as_deref());
    let vendor = preset.map_or(&[] as &[&str], |preset| preset.key_env);
    let variable = env.first(named.into_iter().chain(vendor.iter().copied()));
    if let Some((name, value)) = variable {
        return Some(ProviderKey::new(value.trim(), KeySource::Variable(name.into())));
    }
    if let Some(key) = entry.and_then(|entry| entry.key.as_deref()) {
        return Some(ProviderKey::new(key.trim(), KeySource::Config));
    }
    if let Some(secret) = file::get(provider.name, env) {
        return Some(ProviderKey::new(secret.reveal(), KeySource::File));
    }
    // Without endpoints the file of accounts is not read.
    accounts::endpoints(provider)?.ok()?;
    accounts::stored(provider.name, env)?;
    Some(ProviderKey {
        secret: Secret::new(""),
        source: KeySource::Account,
    })
}

/// Runs a program that prints the key.
pub async fn from_command(provider: &str, command: &[String], env: &ProcessEnv) -> Result<ProviderKey> {
    let [program, args @ ..] = command else {
        return Err(Failure::usage(format!("providers.{provider}.key_command is empty")));
    };
    let failed = |why: &dyn fmt::Display| {
        Failure::usage(format!("the key_command of {provider} failed: {why}"))
            .hint(format!("run it manually: {}", command.join(" ")))
    };
    let output = run_program(program, args, env, &[])
        .await
        .map_err(|error| failed(&error))?;
    match output.lines().next().map(str::trim) {
        Some(key) if !key.is_empty() => Ok(ProviderKey::new(key, KeySource::Command)),
        Some(_) | None => Err(failed(&"it printed nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ProviderConfig;
    use providers::presets::preset;

    #[test]
    fn a_named_variable_takes_precedence_over_the_vendors_and_both_over_the_file() {
        let entry = ProviderConfig {
            key: Some("in-file".into()),
            key_env: Some("WORK_KEY".into()),
            ..ProviderConfig::default()
        };
        let found = |env: ProcessEnv| {
            let key = immediate(&anthropic(Some(&entry)), &env).unwrap();
            (key.secret.reveal().to_string(), key.source.to_string())
        };
        let both = [("WORK_KEY", "work\n"), ("ANTHROPIC_API_KEY", "vendor")];
        assert_eq!(found(ProcessEnv::from(both)), ("work".into(), "$WORK_KEY".into()));
        let vendor = [("ANTHROPIC_API_KEY", "vendor")];
        assert_eq!(
            found(ProcessEnv::from(vendor)),
            ("vendor".into(), "$ANTHROPIC_API_KEY".into())
        );
        assert_eq!(found(ProcessEnv::default()), ("in-file".into(), "configuration".into()));
        assert!(immediate(&anthropic(None), &ProcessEnv::default()).is_none());
    }

    #[test]
    fn an_entered_key_takes_precedence_and_the_file_comes_last() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().display().to_string();
        let found = |env: &ProcessEnv| {
            let key = immediate(&anthropic(None), env).unwrap();
            (key.secret.reveal().to_string(), key.source.to_string())
        };
        let env = ProcessEnv::from([("HOME", home.as_str())]);
        file::set("anthropic", "kept", &env).unwrap();
        assert_eq!(found(&env), ("kept".into(), "keys.toml".into()));
        let env = ProcessEnv::from([("HOME", home.as_str()), ("ANTHROPIC_API_KEY", "vendor")]);
        assert_eq!(found(&env).0, "vendor");
        env.clone().set_session_key("anthropic", "now");
        assert_eq!(found(&env), ("now".into(), "entered for this session".into()));
    }

    fn anthropic(entry: Option<&ProviderConfig>) -> ResolvedProvider<'_> {
        ResolvedProvider {
            name: "anthropic",
            preset: preset("anthropic"),
            entry,
        }
    }
}
