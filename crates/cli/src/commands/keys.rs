//! `hew keys`: keeps API keys in the system's keyring.

use super::load;
use crate::args::{Global, Keys as Args};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result, plain};
use crate::keys::Keyring;
use crate::models::Models;
use crate::output::table::{self, Align};
use crate::output::{self, words::mask};
use serde::Serialize;
use std::io::{BufRead, IsTerminal};

/// A provider in the JSON of `hew keys list --json`.
#[derive(Serialize)]
struct Row {
    provider: String,
    source: String,
    key: String,
}

pub(super) async fn keys(command: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    let (_, loaded) = load(global, env, Vec::new())?;
    let models = Models::new(&loaded.config, env);
    let keyring = Keyring::new(env);
    match command {
        Args::Set { provider } => {
            known(&models, provider)?;
            keyring.check()?;
            let key = read_key(provider)?;
            keyring.set(provider, &key).await?;
            output::complain(&format!("the key {} of {provider} is in the keyring\n", mask(&key)));
        }
        Args::Remove { provider } => {
            known(&models, provider)?;
            keyring.remove(provider).await?;
            output::complain(&format!("the keyring has no key of {provider} any more\n"));
        }
        Args::List { json } => list(&models, *json).await?,
    }
    Ok(Exit::Done)
}

fn known(models: &Models<'_>, name: &str) -> Result<()> {
    if models.provider(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = models.providers().iter().map(|provider| provider.name).collect();
    Err(Failure::usage(format!("there is no provider `{name}`")).hint(format!("known are {}", names.join(", "))))
}

/// One line from stdin; on a terminal it is not shown.
fn read_key(provider: &str) -> Result<String> {
    let stdin = std::io::stdin();
    let echo = stdin.is_terminal().then(Echo::off).flatten();
    if stdin.is_terminal() {
        output::complain(&format!("key of {provider} (not shown): "));
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if echo.is_some() {
        output::complain("\n");
    }
    drop(echo);
    read.map_err(|error| Failure::usage(format!("cannot read the key: {}", plain(&error))))?;
    match line.trim() {
        "" => Err(Failure::usage("no key was given").hint("type it, or pipe it in")),
        key if key
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '"' || c == '\'') =>
        {
            Err(Failure::usage(
                "this does not look like a key: it contains spaces or quotes",
            ))
        }
        key => Ok(key.to_string()),
    }
}

/// The terminal with its echo turned off, until dropped.
struct Echo(rustix::termios::Termios);

impl Echo {
    fn off() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(rustix::stdio::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(Echo(before))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // A terminal that is gone needs no echo.
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.0).ok();
    }
}

async fn list(models: &Models<'_>, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for provider in models.providers() {
        if let Some(key) = models.key(&provider).await? {
            rows.push(Row {
                provider: provider.name.into(),
                source: key.source.to_string(),
                key: mask(key.secret.reveal()),
            });
        }
    }
    if json {
        return output::deliver(&output::pretty(&rows)?);
    }
    if rows.is_empty() {
        output::complain("no provider has a key\nhint: `hew keys set anthropic`, or set ANTHROPIC_API_KEY\n");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| vec![row.provider, row.source, row.key])
        .collect();
    let columns = [("PROVIDER", Align::Left), ("FROM", Align::Left), ("KEY", Align::Left)];
    output::deliver(&table::render(&columns, &rows))
}
