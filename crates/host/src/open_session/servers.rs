//! The programs that a session runs, and their confinement.

use crate::failure::Result;
use crate::mcp_servers::McpContext;
use crate::open_session::{SessionProject, SessionRequest, active_profile};
use crate::{acp_agents, confinement, hooks, language_servers, mcp_servers, permissions};
use ::acp::AcpAgents;
use lsp::LanguageServers;
use mcp::McpServers;
use model::Model;
use policy::Permissions;
use sandbox::{Confinement, ProcessEnvironment};
use session::Hooks;
use std::sync::Arc;
use tool::NotificationSender;
use toolbox::CommandOptions;
use workspace::Workspace;

/// The servers and external agents of a session, and how commands run.
pub(super) struct SessionServers {
    pub(super) commands: CommandOptions,
    /// The variables of commands.
    pub(super) environment: ProcessEnvironment,
    /// The confinement of servers and hooks.
    pub(super) confinement: Option<Confinement>,
    /// `None` if they are disabled or the project is not trusted.
    pub(super) language: Option<LanguageServers>,
    pub(super) mcp: McpServers,
    pub(super) agents: Option<AcpAgents>,
}

impl SessionServers {
    /// Starts the MCP servers; the others start when they are used. Returns problems as well.
    pub(super) async fn start(
        request: &SessionRequest<'_>,
        workspace: &Workspace,
        permissions: &Permissions,
        model: &Arc<dyn Model>,
        notices: NotificationSender,
    ) -> Result<(Self, Vec<String>)> {
        let (project, env) = (&request.project, request.env);
        let (config, root) = (&project.loaded.config, &project.root);
        let (mut commands, mut problems) = confinement::load(config, env, workspace, permissions, notices.clone());
        commands.terminals = request.client.terminals.clone();
        let confinement = confinement::of_servers(config, &commands);
        let environment = confinement::command_environment(config, env, root);
        let language = language_servers::servers(
            config,
            project.loaded.trust,
            workspace,
            environment.clone(),
            confinement.clone(),
        );
        let context = mcp_context(request, confinement.as_ref());
        let profile = active_profile(config)?;
        let (mcp, mcp_problems) = mcp_servers::servers(context, notices, Some(Arc::clone(model)), profile)?;
        problems.extend(mcp_servers::start(&mcp, mcp_servers::FIRST_START_TIMEOUT).await);
        let (agents, agent_problems) = acp_agents::load(config, env, root, workspace, commands.confinement.clone());
        problems.extend(mcp_problems.into_iter().chain(agent_problems));
        let servers = SessionServers {
            commands,
            environment,
            confinement,
            language,
            mcp,
            agents,
        };
        Ok((servers, problems))
    }

    /// The hooks of the project.
    pub(super) fn hooks(&self, request: &SessionRequest<'_>) -> Arc<dyn Hooks> {
        let loaded = &request.project.loaded;
        hooks::hooks(
            permissions::hooks(&loaded.layers),
            &request.project.root,
            confinement::environment(&loaded.config, request.env),
            self.confinement.clone(),
        )
    }
}

/// The project and the configuration of the MCP servers.
pub(super) fn mcp_context<'a>(request: &'a SessionRequest<'_>, confinement: Option<&'a Confinement>) -> McpContext<'a> {
    let SessionProject { root, loaded, .. } = &request.project;
    McpContext {
        config: &loaded.config,
        layers: &loaded.layers,
        root,
        trust: loaded.trust,
        env: request.env,
        extra: &request.client.mcp,
        confinement,
    }
}
