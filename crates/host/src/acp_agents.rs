//! External agents from the configuration.

use crate::config::Config;
use crate::confinement;
use crate::environment::ProcessEnv;
use crate::paths;
use ::acp::{AcpAgents, AgentDefinition, AgentEnvironment, FileAccess};
use agent::{ExternalAgents, ModelUnavailable};
use model::Model;
use policy::AccessLevel;
use sandbox::Confinement;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workspace::Workspace;

/// How long an agent may send nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Loads the configured agents. Returns `None` if there are none, and problems with their entries.
pub fn load(
    config: &Config,
    env: &ProcessEnv,
    root: &Path,
    workspace: &Workspace,
    confinement: Option<Confinement>,
) -> (Option<AcpAgents>, Vec<String>) {
    let home = paths::home_dir(env);
    let environment = |name: &str| env.get(name).map(str::to_owned);
    let variables = mcp::ConfigVariables {
        workspace: root,
        home: home.as_deref(),
        environment: &environment,
    };
    let (mut definitions, mut problems) = (Vec::new(), Vec::new());
    for (name, entry) in config.agents.iter().filter(|(_, entry)| !entry.disabled) {
        let expand = |text: &String| mcp::expand_variables(text, &variables);
        let args: Result<Vec<String>, mcp::DefinitionError> = entry.args.iter().map(expand).collect();
        let env = entry.env.iter().map(|(name, text)| Ok((name.clone(), expand(text)?)));
        let env: Result<_, mcp::DefinitionError> = env.collect();
        match (entry.command.is_empty(), args, env) {
            (false, Ok(args), Ok(env)) => definitions.push(AgentDefinition {
                name: name.clone(),
                command: entry.command.clone(),
                args,
                env,
                files: match entry.files {
                    Some(false) => FileAccess::Direct,
                    Some(true) | None => FileAccess::ThroughClient,
                },
                timeout: entry.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0),
            }),
            (true, ..) => problems.push(format!("`agents.{name}` has no command")),
            (_, Err(why), _) | (_, _, Err(why)) => problems.push(format!("`agents.{name}`: {why}")),
        }
    }
    if definitions.is_empty() {
        return (None, problems);
    }
    let place = AgentEnvironment {
        root: root.to_owned(),
        environment: confinement::environment(config, env),
        workspace: workspace.clone(),
        confinement,
    };
    (Some(AcpAgents::new(definitions, place)), problems)
}

/// Implements the interface of sessions.
pub(crate) struct AgentDirectory(pub(super) AcpAgents);

impl ExternalAgents for AgentDirectory {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn open(
        &self,
        name: &str,
        host: Arc<dyn tool::ToolHost>,
        level: AccessLevel,
    ) -> Result<Arc<dyn Model>, ModelUnavailable> {
        let opened = self.0.open(name, host, level);
        opened.map_err(|error| ModelUnavailable(error.to_string()))
    }
}
