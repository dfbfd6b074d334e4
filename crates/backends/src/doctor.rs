//! Checks the configuration, the project, the stored data and the providers.

use crate::config::{self, Config, ConfigFiles};
use crate::config_problems;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, RecoveryAction};
use crate::keys::SystemKeyring;
use crate::models::{ModelRegistry, ResolvedProvider, best_model};
use crate::{paths, project};
use ::sandbox::LayerStatus;
use host::confinement::confinement;
use host::text::mask;
use host::trust::{ProjectTrust, TrustList};
use providers::ProviderSettings;
use providers::discover::{self, DiscoveredServer, probe};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use store::SqliteStore;
use tui::format::{duration, plural};

/// How long a provider may take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The database in the data folder.
const FILE: &str = "hew.db";

/// A check with its result.
#[derive(Debug, Serialize)]
pub struct DoctorCheck {
    /// What was checked.
    pub name: String,
    /// The result.
    pub state: CheckResult,
    /// What was found.
    pub detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// No problem was found.
    Ok,
    /// Missing, but possibly not needed.
    Absent,
    /// A problem was found.
    Problem,
}

impl DoctorCheck {
    /// A check without a hint.
    pub fn new(name: impl Into<String>, state: CheckResult, detail: impl Into<String>) -> Self {
        DoctorCheck {
            name: name.into(),
            state,
            detail: detail.into(),
            hint: None,
        }
    }

    fn problem(name: impl Into<String>, failure: Failure) -> Self {
        DoctorCheck {
            name: name.into(),
            state: CheckResult::Problem,
            detail: failure.message,
            // A hint to run `hew doctor` is of no use here.
            hint: failure.hint.map(|hint| {
                let hint = hint.replace(" (`hew doctor`)", "");
                let hint = hint.replace("check the key with `hew doctor`; ", "check the key; ");
                hint.replace("; `hew doctor` shows what is missing", "")
            }),
        }
    }
}

/// Checks the configuration, the project, the stored data, and whether each provider answers.
pub async fn diagnose(directory: Option<&Path>, offline: bool, env: &ProcessEnv) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let root = project::root(directory, env);
    let config = configuration(root.as_deref().ok(), env, &mut checks);
    match root {
        Ok(root) => {
            checks.push(DoctorCheck::new(
                "project",
                CheckResult::Ok,
                paths::display_path(&root, env),
            ));
            checks.extend(sandbox(&config, &root, env));
            checks.push(trust(&root, env));
            checks.push(search_index(&root, env));
        }
        Err(failure) => checks.push(DoctorCheck::problem("project", failure)),
    }
    checks.extend(data(env).await);
    let keyring = SystemKeyring::new(env);
    checks.push(match keyring.is_available() {
        true => DoctorCheck::new("keyring", CheckResult::Ok, "there is one"),
        false => DoctorCheck::new(
            "keyring",
            CheckResult::Absent,
            "not available; `hew keys set PROVIDER --file` stores a key in a file",
        ),
    });
    let models = ModelRegistry::new(&config, env);
    let servers = match offline {
        true => Vec::new(),
        false => discover::discover(&models.local_servers(), discover::DISCOVERY_TIMEOUT).await,
    };
    checks.push(main_model(&models, &config, &servers).await);
    checks.extend(cloud(&models, offline).await);
    checks.extend(local(&models, servers));
    checks
}

fn configuration(root: Option<&Path>, env: &ProcessEnv, checks: &mut Vec<DoctorCheck>) -> Config {
    let loaded = match config::load(root, env, Vec::new()) {
        Ok(loaded) => loaded,
        Err(failure) => {
            let mut all = config::file_errors(root, env);
            if !all.contains(&failure) {
                all.insert(0, failure);
            }
            checks.extend(
                all.into_iter()
                    .map(|failure| DoctorCheck::problem("configuration", failure)),
            );
            return Config::default();
        }
    };
    let mut problems = loaded.warnings.clone();
    if let Some(root) = root {
        problems.extend(config_problems(&loaded, root, env));
    }
    if let Ok(files) = ConfigFiles::find(root, env) {
        let all = [Some(files.user), files.project];
        let found: Vec<String> = all
            .iter()
            .flatten()
            .filter(|file| file.exists())
            .map(|file| paths::display_path(file, env))
            .collect();
        checks.push(match (found.is_empty(), problems.is_empty()) {
            (true, _) => DoctorCheck::new(
                "configuration",
                CheckResult::Absent,
                "no file; built-in values are used",
            ),
            (false, true) => DoctorCheck::new("configuration", CheckResult::Ok, found.join(", ")),
            (false, false) => DoctorCheck::new("configuration", CheckResult::Problem, format!("{}:", found.join(", "))),
        });
    }
    let problems = problems.into_iter();
    checks.extend(problems.map(|problem| DoctorCheck::new("configuration", CheckResult::Problem, problem)));
    loaded.config
}

/// The sandbox layers of this machine, by a test run.
fn sandbox(config: &Config, root: &Path, env: &ProcessEnv) -> Vec<DoctorCheck> {
    let name = "sandbox";
    let problem = |text: String| vec![DoctorCheck::new(name, CheckResult::Problem, text)];
    let workspace = match workspace::Workspace::open(root) {
        Ok(workspace) => workspace,
        Err(error) => return problem(error.to_string()),
    };
    let confinement = confinement(config, env, &workspace);
    let report = match confinement.report() {
        Ok(report) => report,
        Err(error) => return problem(error.to_string()),
    };
    let hint = || Some("see docs/sandbox.md".to_owned());
    let mut checks = vec![match (report.insufficient(), report.gaps().is_empty()) {
        (Some(why), _) => DoctorCheck {
            hint: Some("each command needs approval; see docs/sandbox.md".into()),
            ..DoctorCheck::new(name, CheckResult::Problem, format!("{report}; {why}"))
        },
        (None, true) => DoctorCheck::new(name, CheckResult::Ok, format!("{report}; {}", confinement.summary())),
        (None, false) => DoctorCheck {
            hint: hint(),
            ..DoctorCheck::new(
                name,
                CheckResult::Absent,
                format!("{report}; {}", report.gaps().join("; ")),
            )
        },
    }];
    let landlock = match report.landlock {
        Some(version) => Ok(format!(
            "version {version}: only the project and temporary files are writable"
        )),
        None => Err("not supported by this kernel".to_owned()),
    };
    let layer = |layer: &LayerStatus, effect: &str| match layer {
        LayerStatus::Active => Ok(effect.to_owned()),
        LayerStatus::Missing(why) => Err(why.clone()),
    };
    for (name, status) in [
        ("- landlock", landlock),
        ("- seccomp", layer(&report.seccomp, "system calls are filtered")),
        (
            "- mounts",
            layer(&report.mounts, "everything else is read-only, hidden files are masked"),
        ),
        (
            "- processes",
            layer(&report.processes, "commands see only their own processes"),
        ),
        ("- new names", layer(&report.names, "protected names cannot be created")),
    ] {
        checks.push(match status {
            Ok(text) => DoctorCheck::new(name, CheckResult::Ok, text),
            Err(why) => DoctorCheck::new(name, CheckResult::Absent, format!("not active: {why}")),
        });
    }
    checks
}

/// The state of the code search index. The check builds nothing.
fn search_index(root: &Path, env: &ProcessEnv) -> DoctorCheck {
    let name = "search index";
    let workspace = host::project_context::open_workspace(root, &policy::Permissions::default());
    let index = match workspace.and_then(|workspace| host::code_search::index_state(workspace, env)) {
        Ok(index) => index,
        Err(failure) => return DoctorCheck::problem(name, failure),
    };
    let status = index.status();
    let location = paths::display_path(&status.path, env);
    match (status.unsaved, status.files) {
        (Some(reason), _) => DoctorCheck {
            hint: Some("`hew index clear` deletes it".into()),
            ..DoctorCheck::new(
                name,
                CheckResult::Problem,
                format!("{location} cannot be read: {reason}"),
            )
        },
        (None, 0) => DoctorCheck::new(
            name,
            CheckResult::Absent,
            "none yet; `hew search` or `hew index build` creates it",
        ),
        (None, files) => {
            let damage = if status.is_damaged {
                "; its end is damaged and will be replaced"
            } else {
                ""
            };
            let size = status.bytes.div_ceil(1024);
            let lines = status.lines;
            let progress = status.progress.map(|progress| format!("; {}", progress.describe()));
            let progress = progress.unwrap_or_default();
            DoctorCheck::new(
                name,
                CheckResult::Ok,
                format!("{files} files, {lines} lines, {size} KB in {location}{damage}{progress}"),
            )
        }
    }
}

/// Whether the project is trusted.
fn trust(root: &Path, env: &ProcessEnv) -> DoctorCheck {
    match TrustList::load(env).map(|list| list.get(&project::repository_root(root))) {
        Ok(ProjectTrust::Trusted) => DoctorCheck::new(
            "trust",
            CheckResult::Ok,
            "the project is trusted: all its settings apply",
        ),
        Ok(ProjectTrust::Declined | ProjectTrust::Unknown) => DoctorCheck::new(
            "trust",
            CheckResult::Absent,
            "the project is not trusted: its settings can only restrict permissions; `hew trust` trusts it",
        ),
        Err(failure) => DoctorCheck::problem("trust", failure),
    }
}

async fn data(env: &ProcessEnv) -> Vec<DoctorCheck> {
    let folder = match paths::data_dir(env) {
        Ok(folder) => folder,
        Err(failure) => return vec![DoctorCheck::problem("data folder", failure)],
    };
    if !folder.join(FILE).exists() {
        return vec![no_database(&folder, env)];
    }
    let store = match SqliteStore::open(&folder) {
        Ok(store) => store,
        Err(error) => return vec![damaged_database(error, &folder)],
    };
    if let Some(stiff) = [folder.as_path(), store.path()]
        .into_iter()
        .find(|path| !may_write(path))
    {
        let failure = Failure::failed(format!("{} cannot be written", paths::display_path(stiff, env)));
        return vec![DoctorCheck::problem(
            "sessions",
            failure.hint("HEW_DATA_DIR names another folder"),
        )];
    }
    let size = std::fs::metadata(store.path()).map_or(0, |meta| meta.len());
    let integrity = match store.integrity().await {
        Ok(()) => DoctorCheck::new(
            "sessions",
            CheckResult::Ok,
            format!(
                "{}: no errors, {} KB",
                paths::display_path(store.path(), env),
                size.div_ceil(1024)
            ),
        ),
        Err(error) => damaged_database(error, &folder),
    };
    vec![integrity]
}

/// No data exists yet; the check must not create any.
fn no_database(folder: &Path, env: &ProcessEnv) -> DoctorCheck {
    let location = paths::display_path(folder, env);
    let there = folder.ancestors().find(|path| path.exists());
    match there.is_some_and(|path| path.is_dir() && may_write(path)) {
        true => DoctorCheck::new(
            "sessions",
            CheckResult::Absent,
            format!("none yet; they will be stored in {location}"),
        ),
        false => DoctorCheck {
            hint: Some("HEW_DATA_DIR names another folder".into()),
            ..DoctorCheck::new(
                "sessions",
                CheckResult::Problem,
                format!("none yet, and {location} cannot be written"),
            )
        },
    }
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Problems of the session database, without the hint to run `hew doctor`.
fn damaged_database(error: session::Error, folder: &Path) -> DoctorCheck {
    let is_damaged = matches!(error, session::Error::Damaged { .. });
    let mut check = DoctorCheck::problem("sessions", error.into());
    if is_damaged {
        let file = folder.join(FILE);
        check.hint = Some(format!(
            "move it to start with an empty database: mv {0} {0}.damaged; `sqlite3 {0}.damaged .recover` prints what can be saved",
            file.display()
        ));
    }
    check
}

async fn main_model(models: &ModelRegistry<'_>, config: &Config, servers: &[DiscoveredServer]) -> DoctorCheck {
    let name = match &config.model {
        Some(name) => Ok(name.clone()),
        None => models.default_name().await,
    };
    let failure = match name.and_then(|name| models.find(&name)) {
        Ok(info) => return DoctorCheck::new("model", CheckResult::Ok, info.name()),
        Err(failure) => failure,
    };
    let detected = best_model(servers).filter(|_| config.local_models && failure.recovery == RecoveryAction::Setup);
    match detected {
        Some(model) => DoctorCheck {
            hint: Some(format!("make it permanent: hew config set model {}", model.info.name())),
            ..DoctorCheck::new(
                "model",
                CheckResult::Ok,
                format!("{}, which runs on this machine; none is configured", model.info.name()),
            )
        },
        None => DoctorCheck::problem("model", failure),
    }
}

/// Providers on the internet: those with a key or an entry in the configuration.
async fn cloud(models: &ModelRegistry<'_>, offline: bool) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let mut asked = Vec::new();
    let mut without = Vec::new();
    for provider in models.providers().into_iter().filter(|provider| !provider.is_local()) {
        let key = match models.key(&provider).await {
            Ok(key) => key,
            Err(failure) => {
                checks.push(DoctorCheck::problem(provider.name, failure));
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
        match models.settings_with(&models.representative(&provider), &provider, key) {
            Ok(settings) => asked.push((provider, found.unwrap_or_else(|| "no key".into()), settings)),
            Err(failure) => checks.push(DoctorCheck::problem(provider.name, failure)),
        }
    }
    if offline {
        checks.extend(
            asked
                .into_iter()
                .map(|(provider, found, _)| DoctorCheck::new(provider.name, CheckResult::Ok, found)),
        );
    } else {
        let asking = asked
            .into_iter()
            .map(|(provider, found, settings)| answers(provider, found, settings));
        checks.extend(futures::future::join_all(asking).await);
    }
    if !without.is_empty() {
        checks.push(DoctorCheck::new("no key", CheckResult::Absent, without.join(", ")));
    }
    checks
}

async fn answers(provider: ResolvedProvider<'_>, found: String, settings: ProviderSettings) -> DoctorCheck {
    let location = match settings.base_url.as_str() {
        "" => String::new(),
        url => format!(" at {url}"),
    };
    match probe(&settings, PROBE_TIMEOUT).await {
        Ok(answer) => {
            let models = answer
                .models
                .map(|count| format!(", {}", plural(count as u64, "model")))
                .unwrap_or_default();
            let detail = format!("{found}; answers{location} in {}{models}", duration(answer.took));
            DoctorCheck::new(provider.name, CheckResult::Ok, detail)
        }
        Err(error) => {
            let mut check = DoctorCheck::problem(provider.name, error.into());
            check.detail = format!("{found}; {}", check.detail);
            check
        }
    }
}

/// Servers on this machine.
fn local(models: &ModelRegistry<'_>, servers: Vec<DiscoveredServer>) -> Vec<DoctorCheck> {
    let described = |name: &str| models.provider(name).is_some_and(|provider| provider.entry.is_some());
    servers
        .into_iter()
        .map(|found| match found.models {
            Ok(all) => {
                let names: Vec<String> = all.iter().take(5).map(|model| model.info.name()).collect();
                let more = if all.len() > 5 { ", …" } else { "" };
                DoctorCheck::new(
                    found.provider,
                    CheckResult::Ok,
                    format!("runs here: {}{more}", names.join(", ")),
                )
            }
            Err(error) if described(&found.provider) => DoctorCheck::problem(found.provider, error.into()),
            Err(_) => DoctorCheck::new(found.provider, CheckResult::Absent, "no server on this machine"),
        })
        .collect()
}
