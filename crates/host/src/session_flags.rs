//! What a front end sets for the sessions that it opens.

use crate::ModelOrigin;
use crate::config::{self, ConfigLayer, LoadedConfig};
use crate::environment::ProcessEnv;
use crate::failure::Result;
use std::path::{Path, PathBuf};

/// The flags of a front end for its sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFlags {
    /// The folder to work in instead of the current one.
    pub directory: Option<PathBuf>,
    /// The flags that set configuration keys; later ones override earlier ones.
    pub layers: Vec<ConfigLayer>,
    /// The only files that may be changed; any if empty.
    pub files: Vec<PathBuf>,
    /// How the model was chosen.
    pub model_origin: ModelOrigin,
}

impl SessionFlags {
    /// The configuration of a project with these flags.
    pub fn load_config(&self, root: &Path, env: &ProcessEnv) -> Result<LoadedConfig> {
        config::load(Some(root), env, self.layers.clone())
    }
}
