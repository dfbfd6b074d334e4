//! `hew login`, `hew logout` and `hew accounts`: signs in to providers with a subscription.

use super::{browser, load};
use crate::args::{GlobalArgs, LoginArgs, LogoutArgs};
use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::output;
use crate::output::table::{self, ColumnAlign};
use host::accounts::{self, TokenStorage, provider_name};
use host::confinement;
use providers::sign_in::{BrowserSignIn, DeviceSignIn, SignInClient, SignInError, SignInTokens};
use serde::Serialize;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;

/// An account in the JSON of `hew accounts --json`.
#[derive(Serialize)]
struct AccountJson {
    provider: String,
    user: Option<String>,
    storage: TokenStorage,
    signed_in: String,
}

pub(super) async fn login(args: &LoginArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let models = ModelRegistry::new(&loaded.config, env);
    let name = match &args.provider {
        Some(name) => name.clone(),
        None => choose(&models)?,
    };
    let name = provider_name(&name).to_owned();
    let client = models.sign_in_client(&name)?;
    let title = models
        .provider(&name)
        .map_or(name.clone(), |provider| provider.title().to_owned());
    let terms = &client.endpoints().terms;
    if !terms.is_empty() {
        output::print_stderr(&format!("{terms}\n\n"));
    }
    let tokens = sign_in(args, &client, &root, &loaded.config, env).await;
    let tokens = tokens.map_err(|error| accounts::sign_in_failure(&title, &error))?;
    let storage = args.file.then_some(TokenStorage::File);
    let (tokens, kept) = accounts::store_sign_in(&client, tokens, &name, storage, env).await?;
    let user = tokens.user.map(|user| format!(" as {user}")).unwrap_or_default();
    output::print_stderr(&format!("signed in to {title}{user}; the tokens are in {kept}\n"));
    let model = models.provider(&name).and_then(|provider| provider.preset);
    if let Some(preset) = model.filter(|preset| !preset.large.is_empty()) {
        let model = format!("{name}/{}", preset.large);
        output::print_stderr(&format!(
            "hint: `hew -m {model}` uses it; `hew config set model {model}` makes it the default\n"
        ));
    }
    Ok(ExitStatus::Done)
}

/// Asks for a provider on a terminal.
fn choose(models: &ModelRegistry<'_>) -> Result<String> {
    let providers = models.providers();
    let names: Vec<(&str, &str)> = providers
        .iter()
        .filter(|provider| accounts::endpoints(provider).is_some())
        .map(|provider| (provider.name, provider.title()))
        .collect();
    let listed: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let missing = || {
        Failure::usage("name a provider to sign in to")
            .hint(format!("`hew login PROVIDER`, with one of: {}", listed.join(", ")))
    };
    if !std::io::stdin().is_terminal() {
        return Err(missing());
    }
    for (index, (name, title)) in names.iter().enumerate() {
        output::print_stderr(&format!("{}) {title} ({name})\n", index + 1));
    }
    output::print_stderr("sign in to: ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let answer = answer.trim();
    let numbered = answer
        .parse::<usize>()
        .ok()
        .and_then(|number| names.get(number.checked_sub(1)?));
    match (read, numbered) {
        (Ok(_), Some((name, _))) => Ok((*name).to_owned()),
        (Ok(_), None) if !answer.is_empty() => Ok(answer.to_owned()),
        (Ok(_) | Err(_), _) => Err(missing()),
    }
}

/// Signs in with a browser on this machine if there is one, otherwise with a code.
async fn sign_in(
    args: &LoginArgs,
    client: &SignInClient,
    root: &Path,
    config: &Config,
    env: &ProcessEnv,
) -> Result<SignInTokens, SignInError> {
    let endpoints = client.endpoints();
    let environment = confinement::environment(config, env);
    let wants_browser = args.browser || (!args.device && browser::is_available(env, &environment));
    let uses_browser = endpoints.has_browser_flow() && (wants_browser || !endpoints.has_device_flow());
    if uses_browser {
        match BrowserSignIn::start(client).await {
            Ok(started) => {
                let opening = match browser::open(&started.url, root, env, &environment) {
                    true => "opening your browser; if nothing happens, open this address on this machine",
                    false => "open this address in a browser on this machine",
                };
                output::print_stderr(&format!("{opening}:\n{}\n", started.url));
                return started.finish().await;
            }
            // Another program may have the port.
            Err(SignInError::Callback(why)) if endpoints.has_device_flow() && !args.browser => {
                output::print_stderr(&format!("cannot use the browser: {why}\n"));
            }
            Err(error) => return Err(error),
        }
    }
    let started = DeviceSignIn::start(client).await?;
    output::print_stderr(&format!(
        "open {} on any device and enter this code:\n\n    {}\n\nwaiting …\n",
        started.page, started.user_code
    ));
    started.finish().await
}

pub(super) async fn logout(args: &LogoutArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let signed_in = accounts::list(env)?;
    let names: Vec<String> = match (&args.provider, args.all) {
        (Some(name), _) => vec![provider_name(name).to_owned()],
        (None, true) => signed_in.into_iter().map(|account| account.provider).collect(),
        (None, false) => match signed_in.as_slice() {
            [] => Vec::new(),
            [only] => vec![only.provider.clone()],
            several => {
                let names: Vec<&str> = several.iter().map(|account| account.provider.as_str()).collect();
                return Err(Failure::usage("name the provider to sign out of").hint(format!(
                    "you are signed in to {}; --all signs out of all",
                    names.join(", ")
                )));
            }
        },
    };
    if names.is_empty() {
        output::print_stderr("you are not signed in to any provider\n");
        return Ok(ExitStatus::Done);
    }
    let (_, loaded) = load(global, env, Vec::new())?;
    let models = ModelRegistry::new(&loaded.config, env);
    for name in names {
        let tokens = accounts::load_tokens(&name, env).await;
        if !accounts::remove(&name, env).await? {
            output::print_stderr(&format!("you are not signed in to {name}\n"));
            continue;
        }
        // The tokens are removed here even if the provider cannot be reached.
        let revoked = match (models.sign_in_client(&name), tokens) {
            (Ok(client), Some(tokens)) => client.revoke(&tokens).await,
            (Ok(_) | Err(_), _) => Ok(()),
        };
        if let Err(error) = revoked {
            output::print_stderr(&format!("warning: the tokens of {name} were not revoked: {error}\n"));
        }
        output::print_stderr(&format!("signed out of {name}\n"));
    }
    Ok(ExitStatus::Done)
}

pub(super) fn accounts(json: bool, env: &ProcessEnv) -> Result<ExitStatus> {
    let rows: Vec<AccountJson> = accounts::list(env)?
        .into_iter()
        .map(|account| AccountJson {
            provider: account.provider,
            user: account.user,
            storage: account.storage,
            signed_in: signed_in_text(account.signed_in),
        })
        .collect();
    if json {
        output::print_checked(&output::pretty(&rows)?)?;
        return Ok(ExitStatus::Done);
    }
    if rows.is_empty() {
        output::print_stderr(
            "you are not signed in to any provider\nhint: `hew login github-copilot` or `hew login chatgpt`\n",
        );
        return Ok(ExitStatus::Done);
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| {
            let storage = match row.storage {
                TokenStorage::Keyring => "keyring",
                TokenStorage::File => "accounts.json",
            };
            vec![
                row.provider,
                row.user.unwrap_or_default(),
                storage.into(),
                row.signed_in,
            ]
        })
        .collect();
    let columns = [
        ("PROVIDER", ColumnAlign::Left),
        ("USER", ColumnAlign::Left),
        ("TOKENS IN", ColumnAlign::Left),
        ("SIGNED IN", ColumnAlign::Left),
    ];
    output::print_checked(&table::render(&columns, &rows))?;
    Ok(ExitStatus::Done)
}

/// A time in RFC 3339.
fn signed_in_text(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(0);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}
