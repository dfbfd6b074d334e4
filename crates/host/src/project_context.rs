//! Loads the context of a project: its files, modes, saved prompts and slash commands.

use crate::config::{Config, ConfigOrigin, LoadedConfig};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::open_session::{ModelOrigin, SessionProject, SessionRef, SessionRequest};
use crate::{long_results, paths, permissions};
use agent::Approvals;
use context::{
    CommandCatalog, ContextSettings, DiskContext, ModeCatalog, ProjectTrust, RuleSources, RulesFileSelection,
    SavedPrompt,
};
use policy::{Mode, ModeSet};
use prompt::{CommandLookup, SlashCommand};
use session::Item;
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

/// The rules files that a new session reads; paths inside the project are relative.
pub fn rules_files(root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<Vec<PathBuf>> {
    let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, root, env);
    let workspace = open_workspace(root, &permissions)?;
    let jobs = JobRegistryView::default();
    let context = project_context(&loaded.config, loaded.trust, &workspace, jobs, env);
    Ok(context.initial_rules().into_iter().map(|rules| rules.path).collect())
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

/// The initial mode and all modes.
pub(crate) struct InitialMode {
    pub(crate) mode: Mode,
    pub(crate) modes: ModeSet,
    /// If the last mode of the session no longer exists.
    pub(crate) warning: Option<String>,
}

/// The initial mode: the requested one, else the last one of the session, else the configured one.
pub(crate) fn choose_mode(
    request: &SessionRequest<'_>,
    catalog: &ModeCatalog,
    items: &[Arc<Item>],
) -> Result<InitialMode> {
    let SessionProject { session, loaded, .. } = &request.project;
    let mut modes = catalog.modes.clone();
    if request.model_origin == ModelOrigin::Requested {
        let without_models: Vec<Mode> = modes.iter().cloned().map(|mode| Mode { model: None, ..mode }).collect();
        modes.add(without_models);
    }
    let requested = loaded.layers.iter().any(|layer| {
        matches!(layer.origin, ConfigOrigin::Flag(_) | ConfigOrigin::Variable(_)) && layer.table.contains_key("mode")
    });
    let configured = loaded
        .layers
        .iter()
        .any(|layer| layer.origin != ConfigOrigin::BuiltIn && layer.table.contains_key("mode"));
    // If approvals cannot be requested, the agent works until the request is done.
    let default = match !configured && request.approvals == Approvals::Deny {
        true => "agent",
        false => loaded.config.mode.as_str(),
    };
    let last = items.iter().rev().find_map(|item| item.mode());
    let last = match session {
        SessionRef::Existing(_) if !requested => Some(last.unwrap_or(("code", &[]))),
        SessionRef::Existing(_) | SessionRef::New => None,
    };
    let (name, files) = match (last, request.files.is_empty()) {
        (Some((name, files)), true) => (name, files),
        (Some((name, _)), false) => (name, request.files),
        (None, false) if !requested => ("edit", request.files),
        (None, _) => (default, request.files),
    };
    let catalog = ModeCatalog {
        modes: modes.clone(),
        ..catalog.clone()
    };
    if last.is_some() && name != "edit" && modes.get(name).is_none() {
        let default = modes.get(default).map_or("code", |mode| mode.name.as_str());
        let warning =
            format!("the mode `{name}` of this session no longer exists; it continues in the mode `{default}`");
        return Ok(InitialMode {
            mode: catalog.choose(default, files)?,
            modes,
            warning: Some(warning),
        });
    }
    Ok(InitialMode {
        mode: catalog.choose(name, files)?,
        modes,
        warning: None,
    })
}
