//! The configuration: built-in < user < project < environment < flags, as TOML.
//!
//! Each source is a [`Layer`]: a table and where it comes from. Layers are checked one by one, so that a mistake is
//! reported where it was made, then laid over each other and read as one [`Config`].

mod agents;
mod bounds;
mod check;
mod edit;
mod layer;
mod lsp;
mod mcp;
mod permissions;
mod restrain;
mod sandbox;
mod schema;
mod size;
mod span;
mod tui;
mod variables;
mod web;

pub(crate) use bounds::is_full_name;
pub(crate) use check::{known_key, value_for};
pub(crate) use edit::{Unset, list, remove, set};
pub(crate) use layer::{Layer, Leaf, Origin, key_path, put};
pub(crate) use lsp::LspServer;
pub(crate) use mcp::{McpEntry, McpSampling, McpType};
pub(crate) use permissions::{Approval, Hook, HookEvent, Permissions, Profile};
pub(crate) use sandbox::{Sandbox, Terminal};
pub(crate) use schema::{
    Autonomy, Checkpoints, Config, Delegation, Effort, Limits, ModelEntry, Permission, ProviderEntry, ToolProtocol,
    WireName, json_schema,
};
pub(crate) use size::Size;
pub(crate) use span::Span;
#[cfg(test)]
pub(crate) use variables::VARIABLES;
pub(crate) use web::SearchName;

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::trust::{Trust, TrustList};
use crate::{places, project};
use std::path::{Path, PathBuf};

/// The configuration in force, and how it came about.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// All layers together.
    pub(crate) config: Config,
    /// The layers, the weakest first.
    pub(crate) layers: Vec<Layer>,
    /// What was found but does not count, and why.
    pub(crate) warnings: Vec<String>,
    /// Whether the person trusts the project.
    pub(crate) trust: Trust,
}

/// The configuration files that a run looks at, whether they exist or not.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    /// The user's.
    pub(crate) user: PathBuf,
    /// The project's, where there is one.
    pub(crate) project: Option<PathBuf>,
}

impl Files {
    /// The files for a project.
    pub(crate) fn of(root: Option<&Path>, env: &Environment) -> Result<Self> {
        Ok(Files {
            user: places::user_config(env)?,
            project: root.and_then(project::config_file),
        })
    }
}

/// Reads all layers for a project.
pub(crate) fn load(root: Option<&Path>, env: &Environment, flags: Vec<Layer>) -> Result<Loaded> {
    let files = Files::of(root, env)?;
    let mut layers = vec![Layer::built_in()];
    let mut warnings = Vec::new();
    let trust = match root {
        Some(root) => TrustList::load(env)?.of(&project::top(root)),
        None => Trust::Unknown,
    };
    let own = Layer::read(&files.user, Origin::User)?;
    if own.is_none() && env.get("HEW_CONFIG").is_some() {
        warnings.push(format!("HEW_CONFIG names {}, which is not there", files.user.display()));
    }
    layers.extend(own);
    if let Some(file) = files.project.filter(|file| *file != files.user)
        && let Some(layer) = Layer::read(&file, Origin::Project)?
    {
        layers.push(match trust {
            Trust::Trusted => layer,
            Trust::Declined | Trust::Unknown => restrain::restrain(layer, &layer::merge(&layers), env, &mut warnings),
        });
    }
    layers.extend(variables::layers(env)?);
    for flag in &flags {
        check::fits(flag)?;
    }
    layers.extend(flags);
    let config = check::read(&layer::merge(&layers))?;
    Ok(Loaded {
        config,
        layers,
        warnings,
        trust,
    })
}

/// Everything that is wrong in the files that a run looks at, where they cannot be read as they are.
pub(crate) fn mistakes(root: Option<&Path>, env: &Environment) -> Vec<Failure> {
    let Ok(files) = Files::of(root, env) else {
        return Vec::new();
    };
    let all = [Some(files.user), files.project].into_iter().flatten();
    let texts = all.filter_map(|file| Some((std::fs::read_to_string(&file).ok()?, file)));
    texts.flat_map(|(text, file)| check::mistakes(&text, &file)).collect()
}

impl Loaded {
    /// Every value in force with where it comes from, by key.
    pub(crate) fn leaves(&self) -> Vec<Leaf> {
        layer::leaves(&self.layers)
    }
}
