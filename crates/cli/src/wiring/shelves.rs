//! What a project and the person keep by name: saved prompts and slash commands, for whoever lists them.

use super::library::{self, Saved};
use super::rules::Ground;
use super::slash::Shelf;
use crate::config::Loaded;
use crate::environment::Environment;
use crate::failure::Result;
use crate::places;
use crate::trust::Trust;
use agent::Called;
use prompt::Slash;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// The folder of the person's own configuration.
pub(crate) fn own_folder(env: &Environment) -> Option<PathBuf> {
    let file = places::user_config(env).ok()?;
    file.parent().map(Path::to_path_buf)
}

/// Where commands are looked for.
pub(super) fn shelf(workspace: &Workspace, trust: Trust, env: &Environment) -> Shelf {
    Shelf {
        ground: Ground::new(workspace, own_folder(env)),
        home: places::home(env),
        skills: places::skills(workspace.root(), env),
        trust,
    }
}

/// All saved prompts by name.
pub(crate) fn prompts(root: &Path, loaded: &Loaded, env: &Environment) -> Result<BTreeMap<String, Saved>> {
    Ok(library::all(&open(root, loaded, env)?.ground))
}

/// All slash commands by name.
pub(crate) fn commands(root: &Path, loaded: &Loaded, env: &Environment) -> Result<BTreeMap<String, Slash>> {
    Ok(open(root, loaded, env)?.all())
}

/// What a word after a slash calls.
pub(crate) fn called(name: &str, root: &Path, loaded: &Loaded, env: &Environment) -> Result<Called> {
    Ok(open(root, loaded, env)?.called(name))
}

fn open(root: &Path, loaded: &Loaded, env: &Environment) -> Result<Shelf> {
    let (permissions, _) = super::permissions::permissions(&loaded.layers, loaded.trust, root, env);
    let workspace = super::open_workspace(root, &permissions)?;
    Ok(shelf(&workspace, loaded.trust, env))
}
