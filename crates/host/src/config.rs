//! The layered configuration: built-in values, user file, project file, environment variables, flags.
//!
//! Each source is a [`ConfigLayer`]. Layers are checked one by one, so that an error is reported with its file and
//! line, then merged and read as one [`Config`]. A key is declared once, at its field: type, description, default,
//! environment variable and whether an untrusted project may set it.

mod bounds;
mod byte_size;
mod check;
mod documentation;
mod duration;
mod edit;
mod env_vars;
mod key;
mod layer;
mod permissions;
mod predict;
mod providers;
mod sandbox;
mod schema;
mod servers;
mod telemetry;
mod tui;
mod untrusted;
mod web;

pub use bounds::is_full_name;
pub use byte_size::ByteSize;
pub use check::{check_key, value_for};
pub use documentation::markdown_table;
pub use duration::HumanDuration;
pub use edit::{KeyRemoval, list, remove, set};
pub use key::{ConfigKey, ProjectAccess};
pub(crate) use layer::read_text;
pub use layer::{ConfigLayer, ConfigOrigin, ConfigValue, insert, parse_key_path};
pub use permissions::{ApprovalConfig, HookConfig, PermissionsConfig, ProfileConfig};
pub use predict::PredictConfig;
pub use providers::{ModelConfig, ProviderConfig, WireName};
pub use sandbox::{SandboxConfig, TerminalConfig};
pub use schema::{
    AutonomyConfig, CheckpointsConfig, Config, DEFAULT_STEPS, DelegationConfig, EffortName, LimitsConfig,
    PermissionLevel, ToolProtocol, ToolsConfig, json_schema,
};
pub use servers::{
    AgentConfig, LspConfig, LspServerConfig, McpElicitationConfig, McpSamplingConfig, McpServerConfig, McpTransportKind,
};
pub use telemetry::{TelemetryConfig, TelemetryProtocol};
pub use tui::TuiConfig;
pub use untrusted::restricted_keys;
pub use web::{SearchServiceName, WebConfig};

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::project_programs::{ApprovedPrograms, ProgramDefinition};
use crate::trust::{ProjectTrust, TrustList};
use crate::{paths, project};
use std::path::{Path, PathBuf};

/// The effective configuration and its sources.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// All layers together.
    pub config: Config,
    /// The layers in ascending precedence.
    pub layers: Vec<ConfigLayer>,
    /// Ignored values, with the reasons.
    pub warnings: Vec<String>,
    /// Whether the user trusts the project.
    pub trust: ProjectTrust,
}

/// The configuration files, whether they exist or not.
#[derive(Debug, Clone)]
pub struct ConfigFiles {
    /// The user's file.
    pub user: PathBuf,
    /// The project's file, if there is one.
    pub project: Option<PathBuf>,
}

impl ConfigFiles {
    /// Finds the files for a project.
    pub fn find(root: Option<&Path>, env: &ProcessEnv) -> Result<Self> {
        Ok(ConfigFiles {
            user: paths::user_config_file(env)?,
            project: root.and_then(project::config_file),
        })
    }
}

/// Loads all layers for a project.
pub fn load(root: Option<&Path>, env: &ProcessEnv, flags: Vec<ConfigLayer>) -> Result<LoadedConfig> {
    let files = ConfigFiles::find(root, env)?;
    let mut layers = vec![ConfigLayer::built_in()];
    let mut warnings = Vec::new();
    let trust = match root {
        Some(root) => TrustList::load(env)?.get(&project::repository_root(root)),
        None => ProjectTrust::Unknown,
    };
    let own = ConfigLayer::read(&files.user, ConfigOrigin::User)?;
    if own.is_none() && env.get("HEW_CONFIG").is_some() {
        warnings.push(format!(
            "HEW_CONFIG names {}, which does not exist",
            files.user.display()
        ));
    }
    layers.extend(own);
    if let Some(file) = files.project.filter(|file| *file != files.user)
        && let Some(mut layer) = ConfigLayer::read(&file, ConfigOrigin::Project)?
    {
        layers.push(match trust {
            ProjectTrust::Trusted => {
                let approved = root.map(|root| ApprovedPrograms::load(root, env)).unwrap_or_default();
                let removed = approved.restrict(&mut layer);
                warnings.extend(removed.iter().map(ProgramDefinition::warning));
                untrusted::remove_user_keys(layer, &mut warnings)
            }
            ProjectTrust::Declined | ProjectTrust::Unknown => {
                untrusted::restrict(layer, &layer::merge(&layers), env, &mut warnings)
            }
        });
    }
    layers.extend(env_vars::layers(env)?);
    for flag in &flags {
        check::check_layer(flag)?;
    }
    layers.extend(flags);
    let config = check::read(&layer::merge(&layers))?;
    Ok(LoadedConfig {
        config,
        layers,
        warnings,
        trust,
    })
}

/// All errors in the configuration files.
pub fn file_errors(root: Option<&Path>, env: &ProcessEnv) -> Vec<Failure> {
    let Ok(files) = ConfigFiles::find(root, env) else {
        return Vec::new();
    };
    let all = [Some(files.user), files.project].into_iter().flatten();
    let texts = all.filter_map(|file| Some((layer::read_text(&file).ok()?, file)));
    texts.flat_map(|(text, file)| check::errors(&text, &file)).collect()
}

impl LoadedConfig {
    /// The effective values with their origins, sorted by key.
    pub fn values(&self) -> Vec<ConfigValue> {
        layer::effective_values(&self.layers)
    }

    /// Sets the model, as the session's own model does when it is resumed.
    pub fn set_model(&mut self, model: String) {
        let layer = ConfigLayer::single(ConfigOrigin::BuiltIn, &["model".into()], model.clone().into());
        self.layers.push(layer);
        self.config.model = Some(model);
    }
}
