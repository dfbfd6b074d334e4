//! Loads the context of a project: its files, modes, saved prompts and slash commands.

use crate::config::{Config, LoadedConfig};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::{long_results, paths, permissions};
use context::{
    CommandCatalog, ContextSettings, DiskContext, ModeCatalog, ProjectTrust, RuleSources, RulesFileSelection,
    SavedPrompt,
};
use prompt::{CommandLookup, SlashCommand};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolbox::JobRegistryView;
use workspace::Workspace;

/// Opens all directories of a project, without the files that ignore files hide or that must not be read.
pub fn open_workspace(root: &Path, permissions: &policy::Permissions) -> Result<Workspace> {
    let opened = Workspace::open(root).and_then(|workspace| workspace.with(&permissions.project.more));
    let workspace = opened.map_err(|error| Failure::usage(error.to_string()))?;
    let private = &permissions.project.private;
    // Long results are read by path.
    let shared: Vec<PathBuf> = private
        .iter()
        .map(|folder| folder.join(long_results::DIR_NAME))
        .collect();
    let workspace = workspace.excluding(private, &shared);
    let (denies_reading, _) = permissions.denies_files();
    if permissions.ignore.is_empty() && !denies_reading {
        return Ok(workspace);
    }
    let rules = permissions.clone();
    Ok(workspace.hiding_paths(move |path| {
        rules.ignore.hides(path, &rules.project)
            || (denies_reading && rules.denies_reading(path))
            || (path.is_dir() && rules.ignore.hides_folder(path, &rules.project))
    }))
}

/// The project context of a session.
pub fn project_context(
    config: &Config,
    trust: ProjectTrust,
    workspace: &Workspace,
    jobs: JobRegistryView,
    env: &ProcessEnv,
) -> Arc<DiskContext> {
    let settings = ContextSettings {
        language: config.language.clone(),
        reminder: config.reminder.clone(),
        file_readers: toolbox::all_names_in(tool::ToolSet::FileReader),
    };
    let catalog = command_catalog(workspace, config.rules.into(), trust, env);
    Arc::new(DiskContext::new(
        workspace,
        catalog,
        settings,
        Box::new(move || jobs.running()),
    ))
}

/// The user's configuration directory.
pub fn user_config_folder(env: &ProcessEnv) -> Option<PathBuf> {
    let file = paths::user_config_file(env).ok()?;
    file.parent().map(Path::to_path_buf)
}

/// The built-in modes, the user's and the project's.
pub fn load_modes(root: &Path, trust: ProjectTrust, env: &ProcessEnv) -> ModeCatalog {
    context::load_modes(root, user_config_folder(env).as_deref(), trust)
}

/// All saved prompts by name.
pub fn prompts(root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<BTreeMap<String, SavedPrompt>> {
    Ok(context::saved_prompts(&open_catalog(root, loaded, env)?.sources))
}

/// All slash commands by name.
pub fn commands(root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<BTreeMap<String, SlashCommand>> {
    Ok(open_catalog(root, loaded, env)?.all())
}

/// Looks up a slash command by name.
pub fn resolve_command(name: &str, root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<CommandLookup> {
    Ok(open_catalog(root, loaded, env)?.resolve(name))
}

fn open_catalog(root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<CommandCatalog> {
    let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, root, env);
    let workspace = open_workspace(root, &permissions)?;
    Ok(command_catalog(
        &workspace,
        loaded.config.rules.into(),
        loaded.trust,
        env,
    ))
}

fn command_catalog(
    workspace: &Workspace,
    selection: RulesFileSelection,
    trust: ProjectTrust,
    env: &ProcessEnv,
) -> CommandCatalog {
    CommandCatalog {
        sources: RuleSources::new(workspace, user_config_folder(env))
            .with_home(paths::home_dir(env))
            .with_selection(selection),
        home: paths::home_dir(env),
        skills: paths::skill_dirs(workspace.root(), env),
        trust,
    }
}
