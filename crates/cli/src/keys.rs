//! Where a provider's key comes from: the environment, the configuration, a program, or the system's keyring.
//!
//! Keys are held as [`Secret`]s, which do not show in debug output, and leave this program only in requests.

pub(crate) mod file;
mod keyring;

pub(crate) use keyring::Keyring;

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::log;
use crate::models::Provider;
use providers::Secret;
use sandbox::{Cap, Program, Request, Status};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// A key and where it was found.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// The key itself.
    pub(crate) secret: Secret,
    /// Where it was found.
    pub(crate) source: Source,
}

/// Where a key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// An environment variable.
    Variable(String),
    /// `key` in the configuration.
    Config,
    /// The program named by `key_command`.
    Command,
    /// The system's keyring.
    Keyring,
    /// The file for keys.
    File,
    /// The person gave it for now.
    Given,
}

/// Why something is no key.
pub(crate) const UNLIKELY: &str = "this does not look like a key: it contains spaces or quotes";

/// Whether a text can be a key at all.
pub(crate) fn is_likely(key: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\'';
    !key.is_empty() && !key.contains(is_odd)
}

impl Key {
    /// A key that was found. From now on it is not written to the log, whoever says it.
    pub(crate) fn found(secret: &str, source: Source) -> Self {
        log::hide(secret);
        Key {
            secret: Secret::new(secret),
            source,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Variable(name) => write!(f, "${name}"),
            Source::Config => f.write_str("configuration"),
            Source::Command => f.write_str("key_command"),
            Source::Keyring => f.write_str("keyring"),
            Source::File => f.write_str("keys.toml"),
            Source::Given => f.write_str("you, for now"),
        }
    }
}

/// The command that keeps the key of a provider on this system.
pub(crate) fn set_command(provider: &str, env: &Environment) -> String {
    match Keyring::new(env).present() {
        true => format!("hew keys set {provider}"),
        false => format!("hew keys set {provider} --file"),
    }
}

/// The key that is there without asking any program: the one given for now, `key_env`, the vendor's own variables, `key`,
/// then the file for keys.
pub(crate) fn at_hand(provider: &Provider<'_>, env: &Environment) -> Option<Key> {
    let (preset, entry) = (provider.preset, provider.entry);
    if let Some(secret) = env.given(provider.name) {
        let source = Source::Given;
        return Some(Key { secret, source });
    }
    let named = entry.and_then(|entry| entry.key_env.as_deref());
    let vendor = preset.map_or(&[] as &[&str], |preset| preset.key_env);
    let variable = env.first(named.into_iter().chain(vendor.iter().copied()));
    if let Some((name, value)) = variable {
        return Some(Key::found(value.trim(), Source::Variable(name.into())));
    }
    if let Some(key) = entry.and_then(|entry| entry.key.as_deref()) {
        return Some(Key::found(key.trim(), Source::Config));
    }
    file::get(provider.name, env).map(|secret| Key::found(secret.reveal(), Source::File))
}

/// The key that a program prints.
pub(crate) async fn from_command(provider: &str, command: &[String], env: &Environment) -> Result<Key> {
    let [program, args @ ..] = command else {
        return Err(Failure::usage(format!("providers.{provider}.key_command is empty")));
    };
    let wrong = |why: String| {
        Failure::usage(format!("the key_command of {provider} failed: {why}"))
            .hint(format!("run it by hand: {}", command.join(" ")))
    };
    let output = run(program, args, env, &[]).await.map_err(wrong)?;
    match output.lines().next().map(str::trim) {
        Some(key) if !key.is_empty() => Ok(Key::found(key, Source::Command)),
        Some(_) | None => Err(wrong("it printed nothing".into())),
    }
}

/// How long a program that knows keys may take: a person may have to unlock something first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a program and returns what it printed; the error is what went wrong, in words.
pub(crate) async fn run(
    program: &str,
    args: &[String],
    env: &Environment,
    extra: &[(&str, &str)],
) -> Result<String, String> {
    // The person's own programs may need the person's own secrets, such as a token for a password manager.
    let names: Vec<&String> = env.all().keys().collect();
    let variables = env
        .all()
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut environment = sandbox::Environment::scrubbed(variables, &[] as &[&str], &names);
    for (name, value) in extra {
        environment = environment.with(*name, *value);
    }
    let request = Request {
        program: Program::Exec {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
        },
        cwd: env.cwd.clone().unwrap_or_else(|| Path::new("/").into()),
        environment,
        timeout: Some(PATIENCE),
        grace: Request::GRACE,
        output: Cap {
            head: 16 * 1024,
            tail: 0,
        },
        terminal: None,
    };
    let mut process = sandbox::spawn(&request).map_err(|error| error.to_string())?;
    let exit = process.exit().await;
    match exit.status {
        Status::Exited(0) => Ok(exit.output.head),
        Status::Exited(code) => Err(format!("exit code {code}")),
        Status::Signalled(signal) => Err(format!("ended by signal {signal}")),
        Status::TimedOut => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
        Status::Unknown => Err("it ended for an unknown reason".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ProviderEntry;
    use providers::presets::preset;

    #[test]
    fn a_named_variable_wins_over_the_vendors_and_both_over_the_file() {
        let entry = ProviderEntry {
            key: Some("in-file".into()),
            key_env: Some("WORK_KEY".into()),
            ..ProviderEntry::default()
        };
        let found = |env: Environment| {
            let key = at_hand(&anthropic(Some(&entry)), &env).unwrap();
            (key.secret.reveal().to_string(), key.source.to_string())
        };
        let both = [("WORK_KEY", "work\n"), ("ANTHROPIC_API_KEY", "vendor")];
        assert_eq!(found(Environment::from(both)), ("work".into(), "$WORK_KEY".into()));
        let vendor = [("ANTHROPIC_API_KEY", "vendor")];
        assert_eq!(
            found(Environment::from(vendor)),
            ("vendor".into(), "$ANTHROPIC_API_KEY".into())
        );
        assert_eq!(
            found(Environment::default()),
            ("in-file".into(), "configuration".into())
        );
        assert!(at_hand(&anthropic(None), &Environment::default()).is_none());
    }

    #[test]
    fn a_key_given_for_now_wins_and_the_file_comes_last() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().display().to_string();
        let found = |env: &Environment| {
            let key = at_hand(&anthropic(None), env).unwrap();
            (key.secret.reveal().to_string(), key.source.to_string())
        };
        let env = Environment::from([("HOME", home.as_str())]);
        file::set("anthropic", "kept", &env).unwrap();
        assert_eq!(found(&env), ("kept".into(), "keys.toml".into()));
        let env = Environment::from([("HOME", home.as_str()), ("ANTHROPIC_API_KEY", "vendor")]);
        assert_eq!(found(&env).0, "vendor");
        env.clone().give("anthropic", "now");
        assert_eq!(found(&env), ("now".into(), "you, for now".into()));
    }

    fn anthropic(entry: Option<&ProviderEntry>) -> Provider<'_> {
        Provider {
            name: "anthropic",
            preset: preset("anthropic"),
            entry,
        }
    }
}
