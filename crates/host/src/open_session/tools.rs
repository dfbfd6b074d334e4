//! The tools of a session.

use crate::config::Config;
use crate::edit_formats::EditFormats;
use crate::failure::{Failure, Result};
use crate::models::SessionModels;
use crate::open_session::servers::SessionServers;
use crate::open_session::{SessionRequest, StoredSession, blobs};
use crate::redaction::Redactor;
use crate::{code_search, language_servers, long_results, paths, web};
use ::acp::AcpAgents;
use policy::{Mode, ModeSet};
use std::sync::Arc;
use tool::{Registry, ToolSet};
use toolbox::{EditModel, JobRegistry, ModeName, Options};
use workspace::Workspace;
use workspace::checkpoint::{Checkpointer, journal_path};

/// What the tools of a session are made of.
pub(super) struct SessionTools<'a> {
    pub(super) request: &'a SessionRequest<'a>,
    pub(super) stored: &'a StoredSession,
    pub(super) models: &'a SessionModels,
    pub(super) model_name: &'a str,
    pub(super) servers: &'a SessionServers,
    pub(super) workspace: &'a Workspace,
    pub(super) mode: &'a Mode,
    pub(super) modes: &'a ModeSet,
    pub(super) edit_formats: Option<&'a EditFormats>,
    pub(super) redactor: &'a Redactor,
    pub(super) panels: toolbox::OpenPanels,
    pub(super) reads: toolbox::ReadTracker,
}

impl<'a> SessionTools<'a> {
    /// The tools that the session's profile offers.
    pub(super) async fn registry(&self, jobs: JobRegistry) -> Result<Registry> {
        let config = &self.request.project.loaded.config;
        let options = self.options(jobs).await?;
        let tools = toolbox::build_registry(self.workspace.clone(), self.servers.environment.clone(), options);
        Ok(match active_profile(config)? {
            Some(profile) => offered_tools(&tools, profile),
            None => tools,
        })
    }

    async fn options(&self, jobs: JobRegistry) -> Result<Options<'a>> {
        let (project, env) = (&self.request.project, self.request.env);
        let config = &project.loaded.config;
        let info = self.models.main.info();
        let servers = self.servers;
        Ok(Options {
            caller: toolbox::ToolCaller::Model,
            model: Some(self.model_name),
            edit_format: config
                .tools
                .edit_format
                .as_deref()
                .and_then(edit::EditFormat::from_name),
            edit_model: self.edit_model(),
            reads: self.reads.clone(),
            known_versions: context::known_versions(&self.stored.items),
            read_files: context::seen_files(&self.stored.items, &toolbox::all_names_in(ToolSet::FileReader)),
            window: Some(info.limits.window),
            reasoning: info.features.reasoning,
            is_small_model: info.is_small(),
            spill: Some(long_results::session_dir(env, self.stored.id)?),
            checkpoints: self.checkpoints(),
            enabled: self.enabled(),
            disabled: config.tools.disabled.clone(),
            code_server: servers
                .language
                .clone()
                .map(|servers| language_servers::code_server(servers, self.workspace)),
            code_index: Some(code_search::code_index(self.workspace.clone(), config, env).await?),
            data: Some(paths::data_dir(env)?),
            skills: paths::skill_dirs(&project.root, env),
            external: Vec::new(),
            dynamic: Some(Arc::new(servers.mcp.clone()) as Arc<dyn tool::DynamicTools>),
            commands: servers.commands.clone(),
            jobs,
            image_model: self.models.image.clone(),
            secrets: Arc::clone(self.redactor.secrets()),
            web: web::load(config, env),
            modes: self.modes.iter().map(ModeName::from).collect(),
            agents: servers.agents.as_ref().map(AcpAgents::names).unwrap_or_default(),
            panels: Some(self.panels.clone()),
        })
    }

    fn edit_model(&self) -> Option<EditModel> {
        Some(EditModel {
            model: self.models.edit.clone()?,
            format_stats: self.edit_formats?.learned.clone(),
        })
    }

    fn checkpoints(&self) -> Option<Checkpointer> {
        if !self.request.project.loaded.config.checkpoints.commands {
            return None;
        }
        let blobs = blobs(self.request);
        let journal = journal_path(&blobs, &self.stored.id.to_string());
        let checkpoints = Checkpointer::new(self.workspace.root(), blobs)
            .with_hidden_paths(self.workspace)
            .with_journal(&journal)
            .with_folders(self.workspace.more());
        Some(checkpoints)
    }

    /// The configured tools, and those that a session in this mode cannot do without.
    fn enabled(&self) -> Vec<String> {
        let needed = self.mode.is_orchestrator().then(|| "new_task".to_owned());
        let configured = self.request.project.loaded.config.tools.enabled.iter().cloned();
        configured.chain(needed).collect()
    }
}

/// The tools that a profile offers. Those of MCP servers were already selected by server.
pub(crate) fn offered_tools(tools: &Registry, mut profile: policy::ToolProfile) -> Registry {
    // A tool may have another name for this model, such as the edit tool.
    let own_name = |name: String| tools.get(&name).map_or(name, |tool| tool.spec().name.clone());
    let named = std::mem::take(&mut profile.tools);
    profile.tools = named.into_iter().map(|(name, is_on)| (own_name(name), is_on)).collect();
    let enabled: Vec<String> = profile
        .tools
        .iter()
        .filter(|(_, is_on)| **is_on)
        .map(|(name, _)| name.clone())
        .collect();
    let mut offered = tools.filtered(move |tool| tool.source().is_some() || profile.offers(&tool.spec().name));
    // A model that cannot call deferred tools by search needs them listed.
    let has_forwarder = |tools: &Registry| tools.iter().any(|tool| tool.is_forwarder());
    if has_forwarder(tools) && !has_forwarder(&offered) {
        enabled.iter().for_each(|name| offered.undefer(name));
    }
    offered
}

/// The active profile.
pub(crate) fn active_profile(config: &Config) -> Result<Option<policy::ToolProfile>> {
    let Some(name) = config.profile.as_deref() else {
        return Ok(None);
    };
    match (config.profiles.get(name), name) {
        (Some(profile), _) => Ok(Some(profile.to_policy(name))),
        (None, "write") => Ok(Some(policy::ToolProfile::write())),
        (None, "ask") => Ok(Some(policy::ToolProfile::ask(&toolbox::names_in(ToolSet::AskProfile)))),
        (None, "minimal") => Ok(Some(policy::ToolProfile::minimal())),
        (None, _) => {
            let own = config.profiles.keys().map(String::as_str);
            let names: Vec<&str> = ["write", "ask", "minimal"].into_iter().chain(own).collect();
            Err(Failure::usage(format!("there is no profile `{name}`"))
                .hint(format!("the profiles are {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn a_profile_offers_its_tools_under_any_of_their_names() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(temp.path()).unwrap();
        let options = Options {
            model: Some("openai/gpt-5"),
            ..Options::default()
        };
        let all = toolbox::build_registry(workspace, sandbox::ProcessEnvironment::default(), options);
        assert!(all.specs().iter().any(|spec| spec.name == "apply_patch"));
        let listed = |names: &[(&str, bool)], other: policy::DefaultSwitch| -> BTreeSet<String> {
            let named = names.iter().map(|(name, is_on)| ((*name).to_owned(), *is_on));
            let profile = policy::ToolProfile {
                tools: named.collect::<BTreeMap<_, _>>(),
                other_tools: other,
                ..policy::ToolProfile::default()
            };
            let offered = offered_tools(&all, profile);
            offered.specs().iter().map(|spec| spec.name.clone()).collect()
        };
        let off = policy::DefaultSwitch::Off;
        let expected = ["apply_patch", "definition", "read_file"].map(str::to_owned);
        let names = [("edit_file", true), ("Read", true), ("definition", true)];
        assert_eq!(listed(&names, off), expected.into(), "a deferred tool cannot be found");
        let with_search = [("definition", true), ("find_tools", true), ("call_tool", true)];
        assert_eq!(
            listed(&with_search, off),
            ["call_tool", "find_tools"].map(str::to_owned).into()
        );
        let without = listed(&[("Bash", false)], policy::DefaultSwitch::On);
        assert!(
            !without.contains("terminal") && without.contains("apply_patch"),
            "{without:?}"
        );
    }
}
