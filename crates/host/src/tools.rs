//! The tools that a model is offered.

use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::models::ModelRegistry;
use crate::open_session::{active_profile, offered_tools};
use crate::project_context::open_workspace;
use crate::redaction::Redactor;
use crate::{confinement, images, paths, web};
use model::Info;
use policy::ModeSet;
use std::path::Path;
use std::sync::Arc;
use tool::NotificationSender;
use toolbox::{ModeName, Options};

/// The tools that a model is offered in a session, without a session.
pub async fn session_tools(
    config: &Config,
    env: &ProcessEnv,
    root: &Path,
    info: &Info,
    permissions: &policy::Permissions,
    modes: &ModeSet,
) -> Result<tool::Registry> {
    let tools = manual_tools(config, env, root, Some(info), permissions, modes).await?;
    Ok(match active_profile(config)? {
        Some(profile) => offered_tools(&tools, profile),
        None => tools,
    })
}

/// The tools for calls without a session.
pub async fn manual_tools(
    config: &Config,
    env: &ProcessEnv,
    root: &Path,
    info: Option<&Info>,
    permissions: &policy::Permissions,
    modes: &ModeSet,
) -> Result<tool::Registry> {
    let workspace = open_workspace(root, permissions)?;
    let name = info.map(Info::name);
    let models = ModelRegistry::new(config, env);
    let painter = match info.map(|info| (info, models.immediate_settings(info))) {
        Some((info, Ok(settings))) => images::image_model(&models, config, info, &settings).await?,
        Some((_, Err(_))) | None => None,
    };
    let options = Options {
        model: name.as_deref(),
        window: info.map(|info| info.limits.window),
        reasoning: info.is_some_and(|info| info.features.reasoning),
        enabled: config.tools.enabled.clone(),
        disabled: config.tools.disabled.clone(),
        commands: confinement::load(config, env, &workspace, permissions, NotificationSender::none()).0,
        image_model: painter,
        secrets: Arc::clone(Redactor::of_config(config, env).secrets()),
        web: web::load(config, env),
        code_index: Some(crate::code_search::code_index(workspace.clone(), config, env).await?),
        data: Some(paths::data_dir(env)?),
        skills: paths::skill_dirs(root, env),
        modes: modes.iter().map(ModeName::from).collect(),
        panels: Some(toolbox::OpenPanels::default()),
        caller: toolbox::ToolCaller::User,
        ..Options::default()
    };
    Ok(toolbox::build_registry(
        workspace,
        confinement::environment(config, env),
        options,
    ))
}
