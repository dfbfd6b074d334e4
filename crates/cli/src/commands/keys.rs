//! `hew keys`: stores API keys in the system's keyring.

use super::load;
use crate::args::{GlobalArgs, KeysCommand as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result, plain};
use crate::keys::{self, SystemKeyring, file};
use crate::models::ModelRegistry;
use crate::output::table::{self, ColumnAlign};
use crate::output::{self, format::mask};
use crate::paths;
use serde::Serialize;
use std::io::{BufRead, IsTerminal};

/// A provider in the JSON of `hew keys list --json`.
#[derive(Serialize)]
struct KeyJson {
    provider: String,
    source: String,
    key: String,
}

pub(super) async fn keys(command: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (_, loaded) = load(global, env, Vec::new())?;
    let models = ModelRegistry::new(&loaded.config, env);
    let keyring = SystemKeyring::new(env);
    match command {
        Args::Set { provider, file } => {
            known(&models, provider)?;
            let place = match file {
                true => KeyStore::File,
                false => place(provider, &keyring, env)?,
            };
            let key = read_key(provider)?;
            let kept = match place {
                KeyStore::Keyring => {
                    keyring.set(provider, &key).await?;
                    "the keyring".into()
                }
                KeyStore::File => paths::display_path(&file::set(provider, &key, env)?, env),
            };
            output::print_stderr(&format!("the key {} of {provider} is in {kept}\n", mask(&key)));
        }
        Args::Remove { provider } => {
            known(&models, provider)?;
            let was_in_file = file::remove(provider, env)?;
            match keyring.remove(provider).await {
                // Without a keyring, only the file can contain the key.
                Err(_) if was_in_file => {}
                removed => removed?,
            }
            output::print_stderr(&format!("removed the key of {provider}\n"));
        }
        Args::List { json } => list(&models, *json, env).await?,
    }
    Ok(ExitStatus::Done)
}

/// The storage of a key.
enum KeyStore {
    Keyring,
    File,
}

/// The default storage: the keyring, or the file if the user agrees.
fn place(provider: &str, keyring: &SystemKeyring<'_>, env: &ProcessEnv) -> Result<KeyStore> {
    let Err(problem) = keyring.check() else {
        return Ok(KeyStore::Keyring);
    };
    let failure = Failure::from(problem);
    let file = paths::display_path(&paths::keys_file(env)?, env);
    if std::io::stdin().is_terminal() {
        output::print_stderr(&format!(
            "{}\nkeep the key in {file} instead, a file that only you can read? [y/N] ",
            failure.message
        ));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        if read.is_ok() && matches!(answer.trim(), "y" | "yes" | "Y") {
            return Ok(KeyStore::File);
        }
    }
    let hint = failure.hint.clone().unwrap_or_default();
    Err(failure.hint(format!(
        "`hew keys set {provider} --file` keeps it in {file}, which only you can read\nhint: {hint}"
    )))
}

fn known(models: &ModelRegistry<'_>, name: &str) -> Result<()> {
    if models.provider(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = models.providers().iter().map(|provider| provider.name).collect();
    Err(Failure::usage(format!("there is no provider `{name}`")).hint(format!("known providers: {}", names.join(", "))))
}

/// One line from stdin; on a terminal it is not shown.
fn read_key(provider: &str) -> Result<String> {
    let stdin = std::io::stdin();
    let echo = stdin.is_terminal().then(EchoGuard::off).flatten();
    if stdin.is_terminal() {
        output::print_stderr(&format!("key of {provider} (not shown): "));
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if echo.is_some() {
        output::print_stderr("\n");
    }
    drop(echo);
    read.map_err(|error| Failure::usage(format!("cannot read the key: {}", plain(&error))))?;
    match line.trim() {
        "" => Err(Failure::usage("no key was given").hint("type it, or pipe it in")),
        key if !keys::is_plausible(key) => Err(Failure::usage(keys::IMPLAUSIBLE_KEY)),
        key => Ok(key.to_string()),
    }
}

/// The terminal with its echo turned off, until dropped.
struct EchoGuard(rustix::termios::Termios);

impl EchoGuard {
    fn off() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(rustix::stdio::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(EchoGuard(before))
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // A closed terminal needs no echo.
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.0).ok();
    }
}

async fn list(models: &ModelRegistry<'_>, json: bool, env: &ProcessEnv) -> Result<()> {
    let mut rows = Vec::new();
    for provider in models.providers() {
        if let Some(key) = models.key(&provider).await? {
            rows.push(KeyJson {
                provider: provider.name.into(),
                source: key.source.to_string(),
                key: mask(key.secret.reveal()),
            });
        }
    }
    if json {
        return output::print_checked(&output::pretty(&rows)?);
    }
    if rows.is_empty() {
        output::print_stderr(&format!(
            "no provider has a key\nhint: `{}`, or set ANTHROPIC_API_KEY\n",
            keys::set_command("anthropic", env)
        ));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| vec![row.provider, row.source, row.key])
        .collect();
    let columns = [
        ("PROVIDER", ColumnAlign::Left),
        ("FROM", ColumnAlign::Left),
        ("KEY", ColumnAlign::Left),
    ];
    output::print_checked(&table::render(&columns, &rows))
}
