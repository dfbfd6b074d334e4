//! `hew doctor`: what is configured, what is missing, and whether each provider answers.

use crate::args::{Doctor as Args, Global};
use crate::config::{self, Config, Files};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::keys::Keyring;
use crate::models::{Models, Provider};
use crate::output::paint::Paint;
use crate::output::words::{mask, took};
use crate::trust::{Trust, TrustList};
use crate::wiring::commands::confinement;
use crate::wiring::sound;
use crate::{output, places, project};
use providers::Settings;
use providers::discover::{self, probe};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use store::Sqlite;

/// How long a provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The database in the data folder.
const FILE: &str = "hew.db";

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// As it should be.
    Ok,
    /// Not there, and perhaps not needed.
    Absent,
    /// Not as it should be.
    Problem,
}

impl Check {
    fn new(name: impl Into<String>, state: State, detail: impl Into<String>) -> Self {
        Check {
            name: name.into(),
            state,
            detail: detail.into(),
            hint: None,
        }
    }

    fn problem(name: impl Into<String>, failure: Failure) -> Self {
        Check {
            name: name.into(),
            state: State::Problem,
            detail: failure.what,
            // Who asks the doctor is not sent to the doctor.
            hint: failure.hint.map(|hint| {
                let hint = hint.replace(" (`hew doctor`)", "");
                let hint = hint.replace("check the key with `hew doctor`; ", "check the key; ");
                hint.replace("; `hew doctor` shows what is missing", "")
            }),
        }
    }
}

pub(super) async fn doctor(args: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    let version = format!(
        "{} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    let mut checks = vec![Check::new("hew", State::Ok, version)];
    let root = project::root(global.cwd.as_deref(), env);
    let config = configuration(root.as_deref().ok(), env, &mut checks);
    match root {
        Ok(root) => {
            checks.push(Check::new("project", State::Ok, places::tidy(&root, env)));
            checks.push(sandbox(&config, &root, env));
            checks.push(trust(&root, env));
        }
        Err(failure) => checks.push(Check::problem("project", failure)),
    }
    checks.extend(data(env).await);
    let keyring = Keyring::new(env);
    checks.push(match keyring.present() {
        true => Check::new("keyring", State::Ok, "there is one"),
        false => Check::new(
            "keyring",
            State::Absent,
            "none that hew can use; `hew keys set PROVIDER --file` keeps a key in a file",
        ),
    });
    let models = Models::new(&config, env);
    checks.push(default_model(&models, &config).await);
    checks.extend(cloud(&models, args.offline).await);
    if !args.offline {
        checks.extend(local(&models).await);
    }
    if args.json {
        output::deliver(&output::pretty(&serde_json::json!({ "v": 1, "checks": checks }))?)?;
    } else {
        output::deliver(&render(&checks, Paint::of(&std::io::stdout(), env)))?;
    }
    let sick = checks.iter().any(|check| check.state == State::Problem);
    Ok(if sick { Exit::Failed } else { Exit::Done })
}

fn configuration(root: Option<&Path>, env: &Environment, checks: &mut Vec<Check>) -> Config {
    let loaded = match config::load(root, env, Vec::new()) {
        Ok(loaded) => loaded,
        Err(failure) => {
            let mut all = config::mistakes(root, env);
            if !all.contains(&failure) {
                all.insert(0, failure);
            }
            checks.extend(all.into_iter().map(|failure| Check::problem("configuration", failure)));
            return Config::default();
        }
    };
    let mut complaints = loaded.warnings.clone();
    if let Some(root) = root {
        complaints.extend(sound::complaints(&loaded, root, env));
    }
    if let Ok(files) = Files::of(root, env) {
        let all = [Some(files.user), files.project];
        let found: Vec<String> = all
            .iter()
            .flatten()
            .filter(|file| file.exists())
            .map(|file| places::tidy(file, env))
            .collect();
        checks.push(match (found.is_empty(), complaints.is_empty()) {
            (true, _) => Check::new("configuration", State::Absent, "no file; built-in values are used"),
            (false, true) => Check::new("configuration", State::Ok, found.join(", ")),
            (false, false) => Check::new("configuration", State::Problem, format!("{}:", found.join(", "))),
        });
    }
    let complaints = complaints.into_iter();
    checks.extend(complaints.map(|told| Check::new("configuration", State::Problem, told)));
    loaded.config
}

/// What holds commands on this machine.
fn sandbox(config: &Config, root: &Path, env: &Environment) -> Check {
    let name = "sandbox";
    let workspace = match workspace::Workspace::open(root) {
        Ok(workspace) => workspace,
        Err(error) => return Check::new(name, State::Problem, error.to_string()),
    };
    let confinement = confinement(config, env, &workspace);
    match confinement.report() {
        Ok(report) if report.gaps().is_empty() => {
            Check::new(name, State::Ok, format!("{report}; {}", confinement.summary()))
        }
        Ok(report) => Check {
            hint: Some("docs/sandbox.md says what that means, and what a newer kernel or other settings add".into()),
            ..Check::new(name, State::Absent, format!("{report}; {}", report.gaps().join("; ")))
        },
        Err(error) => Check::new(name, State::Problem, error.to_string()),
    }
}

/// Whether the project is trusted.
fn trust(root: &Path, env: &Environment) -> Check {
    match TrustList::load(env).map(|list| list.of(&project::top(root))) {
        Ok(Trust::Trusted) => Check::new("trust", State::Ok, "the project is trusted: its settings count in full"),
        Ok(Trust::Declined | Trust::Unknown) => Check::new(
            "trust",
            State::Absent,
            "the project is not trusted: its settings may tighten, not loosen; `hew trust` trusts it",
        ),
        Err(failure) => Check::problem("trust", failure),
    }
}

async fn data(env: &Environment) -> Vec<Check> {
    let folder = match places::data(env) {
        Ok(folder) => folder,
        Err(failure) => return vec![Check::problem("data folder", failure)],
    };
    if !folder.join(FILE).exists() {
        return vec![none_yet(&folder, env)];
    }
    let store = match Sqlite::open(&folder) {
        Ok(store) => store,
        Err(error) => return vec![unsound(error, &folder)],
    };
    if let Some(stiff) = [folder.as_path(), store.path()]
        .into_iter()
        .find(|path| !may_write(path))
    {
        let failure = Failure::failed(format!("{} cannot be written", places::tidy(stiff, env)));
        return vec![Check::problem(
            "sessions",
            failure.hint("HEW_DATA_DIR names another folder"),
        )];
    }
    let size = std::fs::metadata(store.path()).map_or(0, |meta| meta.len());
    let sound = match store.integrity().await {
        Ok(()) => Check::new(
            "sessions",
            State::Ok,
            format!(
                "{} is sound, {} KB",
                places::tidy(store.path(), env),
                size.div_ceil(1024)
            ),
        ),
        Err(error) => unsound(error, &folder),
    };
    vec![sound]
}

/// Nothing has been kept so far; looking must not change that.
fn none_yet(folder: &Path, env: &Environment) -> Check {
    let place = places::tidy(folder, env);
    let there = folder.ancestors().find(|path| path.exists());
    match there.is_some_and(|path| path.is_dir() && may_write(path)) {
        true => Check::new(
            "sessions",
            State::Absent,
            format!("none yet; they will be kept in {place}"),
        ),
        false => Check {
            hint: Some("HEW_DATA_DIR names another folder".into()),
            ..Check::new(
                "sessions",
                State::Problem,
                format!("none yet, and {place} cannot be written"),
            )
        },
    }
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// What is wrong with the sessions. Who asks the doctor is not sent to the doctor.
fn unsound(error: session::Error, folder: &Path) -> Check {
    let is_damaged = matches!(error, session::Error::Damaged { .. });
    let mut check = Check::problem("sessions", error.into());
    if is_damaged {
        let file = folder.join(FILE);
        check.hint = Some(format!(
            "move it away to start afresh: mv {0} {0}.damaged; `sqlite3 {0}.damaged .recover` prints what can be saved",
            file.display()
        ));
    }
    check
}

async fn default_model(models: &Models<'_>, config: &Config) -> Check {
    let name = match &config.model {
        Some(name) => Ok(name.clone()),
        None => models.default_name().await,
    };
    match name.and_then(|name| models.find(&name)) {
        Ok(info) => Check::new("model", State::Ok, info.name()),
        Err(failure) => Check::problem("model", failure),
    }
}

/// Providers on the internet: those with a key or an entry in the configuration.
async fn cloud(models: &Models<'_>, offline: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut asked = Vec::new();
    let mut without = Vec::new();
    for provider in models.providers().into_iter().filter(|provider| !provider.local()) {
        let key = match models.key(&provider).await {
            Ok(key) => key,
            Err(failure) => {
                checks.push(Check::problem(provider.name, failure));
                continue;
            }
        };
        let found = key
            .as_ref()
            .map(|key| format!("key {} from {}", mask(key.secret.reveal()), key.source));
        if found.is_none() && provider.entry.is_none() {
            without.push(provider.name);
            continue;
        }
        match models.settings_with(&models.any_info(&provider), &provider, key) {
            Ok(settings) => asked.push((provider, found.unwrap_or_else(|| "no key".into()), settings)),
            Err(failure) => checks.push(Check::problem(provider.name, failure)),
        }
    }
    if offline {
        checks.extend(
            asked
                .into_iter()
                .map(|(provider, found, _)| Check::new(provider.name, State::Ok, found)),
        );
    } else {
        let asking = asked
            .into_iter()
            .map(|(provider, found, settings)| answers(provider, found, settings));
        checks.extend(futures::future::join_all(asking).await);
    }
    if !without.is_empty() {
        checks.push(Check::new("no key", State::Absent, without.join(", ")));
    }
    checks
}

async fn answers(provider: Provider<'_>, found: String, settings: Settings) -> Check {
    let place = match settings.base_url.as_str() {
        "" => String::new(),
        url => format!(" at {url}"),
    };
    match probe(&settings, PATIENCE).await {
        Ok(answer) => {
            let models = answer
                .models
                .map(|count| format!(", {count} models"))
                .unwrap_or_default();
            let detail = format!("{found}; answers{place} in {}{models}", took(answer.took));
            Check::new(provider.name, State::Ok, detail)
        }
        Err(error) => {
            let mut check = Check::problem(provider.name, error.into());
            check.detail = format!("{found}; {}", check.detail);
            check
        }
    }
}

/// Servers on this machine.
async fn local(models: &Models<'_>) -> Vec<Check> {
    let providers = models.providers();
    let servers: Vec<Settings> = providers
        .iter()
        .filter(|provider| provider.local())
        .filter_map(|provider| {
            let key = models.key_at_hand(provider);
            models.settings_with(&models.any_info(provider), provider, key).ok()
        })
        .collect();
    let found = discover::discover(&servers, discover::PATIENCE).await;
    let described = |name: &str| models.provider(name).is_some_and(|provider| provider.entry.is_some());
    found
        .into_iter()
        .map(|found| match found.models {
            Ok(infos) => {
                let names: Vec<String> = infos.iter().take(5).map(|info| info.name()).collect();
                let more = if infos.len() > 5 { ", …" } else { "" };
                Check::new(
                    found.provider,
                    State::Ok,
                    format!("runs here: {}{more}", names.join(", ")),
                )
            }
            Err(error) if described(&found.provider) => Check::problem(found.provider, error.into()),
            Err(_) => Check::new(found.provider, State::Absent, "no server on this machine"),
        })
        .collect()
}

fn render(checks: &[Check], paint: Paint) -> String {
    let mut out = String::new();
    for check in checks {
        let mark = match check.state {
            State::Ok => paint.green("✓"),
            State::Absent => paint.dim("·"),
            State::Problem => paint.red("✗"),
        };
        let name = format!("{:<14}", check.name);
        out.push_str(&format!("{mark} {} {}\n", paint.bold(name), check.detail));
        if let Some(hint) = &check.hint {
            let hint = hint.lines().next().unwrap_or_default();
            out.push_str(&format!("  {:<14} {}\n", "", paint.yellow(format!("hint: {hint}"))));
        }
    }
    out
}
